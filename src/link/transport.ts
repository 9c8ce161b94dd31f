/** The interface through which a gateway reaches its control plane. Types only. */
import type { ShareUpdate } from './control-share.ts'
import type { FleetReply } from './fleet-question.ts'
import type { Hello, Report } from './report.ts'
import type { StreamEvent } from './update-events.ts'

/** First event of a stream. */
export interface HelloEvent {
  readonly gateway_id: string
  /** The stream is never silent for longer while the control plane lives. */
  readonly heartbeat_ms: number
  /** Number of the last report that was taken; the gateway counts on from there. */
  readonly sequence: number
}

export interface SnapshotStream {
  /**
   * `hello`, then updates as `eventsOf` writes them, questions and possibly heartbeats; ends when the control plane ends the stream, throws
   * when the connection breaks.
   */
  readonly events: AsyncIterable<StreamEvent>
  /** When anything last arrived, heartbeats included (performance.now()). */
  readonly heardAtMs: number
  close(): void
}

/** A method that fails rejects with an Error whose message holds no secret. */
export interface ControlPlaneTransport {
  /** Registers the instance and opens its stream. @param from version that it serves; null: none */
  connect(hello: Hello, from: string | null): Promise<SnapshotStream>
  /** The update from a version to the newest; null: there is none. */
  poll(from: string | null): Promise<ShareUpdate | null>
  /** @returns false when the control plane does not know the instance, which has to connect again */
  report(gatewayId: string, report: Report): Promise<boolean>
  /** To a question of the stream. */
  reply(gatewayId: string, reply: FleetReply): Promise<void>
}

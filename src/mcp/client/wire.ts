/** The interface of a transport for the messages of a connection, and the requests that it carries. Types only. */
import type { MaybePending } from '../../base/and-then.ts'
import type { RequestId, RequestOptions, RpcOutcome } from '../protocol.ts'
import type { ServerMessage } from './messages.ts'

export interface WireRequest
  extends Omit<
    RequestOptions,
    'timeoutMs' | 'onProgress' | 'onLog' | 'logLevel' | 'onServerRequest' | 'capabilities'
  > {
  readonly id: RequestId
  /** The JSON-RPC message. */
  readonly text: string
  /** Flat; those of the request and of its era. */
  readonly headers: readonly string[]
  /** In the clock of `performance.now`. */
  readonly deadlineMs: number
}

/** Receives everything that is not the response to a request of ours. @param requestId the request on whose stream it arrived */
export type OnMessage = (message: Exclude<ServerMessage, { kind: 'response' }>, requestId?: RequestId) => void

export interface Wire {
  /** True once its session has ended: another connection has to be made. */
  readonly lost: boolean
  /** Never rejects. */
  request(request: WireRequest): MaybePending<RpcOutcome>
  /** Sends a notification or a response. Never rejects. */
  send(text: string, headers: readonly string[]): Promise<void>
  /** Receives messages that belong to no request; resolves when it can receive no more, 'unsupported' when the server offers none. */
  listen(): Promise<'ended' | 'unsupported'>
  /**
   * Ends the stream of `listen`, and the session, at the server too.
   * @param keepSession it is used by other threads or instances, or after a restart
   */
  close(keepSession?: boolean): Promise<void>
}

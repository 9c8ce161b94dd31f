/** Drains a data plane: stops new connections, ends event streams and waits for the calls in flight. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallStreams } from '../../../data-plane/http/call-streams.ts'
import type { McpEndpoint } from '../../../data-plane/http/mcp/endpoint.ts'
import type { DataPlaneParts } from './parts.ts'
import type { OpenPipeline } from './pipeline.ts'

const POLL_MS = 20

export interface DrainedParts
  extends Pick<OpenPipeline, 'admission'>,
    Pick<DataPlaneParts, 'context' | 'server'> {
  readonly mcp: McpEndpoint
  readonly callStreams: CallStreams
}

export class Drain {
  #announced = false

  get announced(): boolean {
    return this.#announced
  }

  /** Readiness off; calls are still accepted and served, until load balancers have noticed. */
  announce(): void {
    this.#announced = true
  }

  /** Resolves when no call is in flight, or at `untilMs` (Unix ms). */
  async run({ context, server, admission, mcp, callStreams }: DrainedParts, untilMs: number): Promise<void> {
    this.#announced = true
    context.log.info({ in_flight: admission.inFlight(), streams: mcp.openStreams }, 'draining')
    server.listener.stopAccepting()
    mcp.close()
    callStreams.close()
    await untilIdle(admission.inFlight, untilMs)
  }
}

/** Resolves when nothing is in flight, or at `untilMs` (Unix ms). */
export async function untilIdle(inFlight: () => number, untilMs: number): Promise<void> {
  while (inFlight() > 0 && Date.now() < untilMs) await sleep(POLL_MS)
}

/**
 * `/admin/calls` (docs/reference/http.md, Recorded calls): list, single call and stream, and the window in responses.
 * `admin-call.ts` runs the pipeline first.
 */
import type { CallWindow } from '../../../link/call-summary.ts'
import { roundMs } from '../../calls/call-ring.ts'
import { cursorOf, type ProcessCalls } from '../../calls/process-calls.ts'
import type { FoundCall } from '../../calls/recorded-calls.ts'
import type { Phase } from '../../pipeline/stage.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { callQuery, Parameters, positionsOf, tenantSeenBy } from '../call-parameters.ts'
import type { CallStreams } from '../call-streams.ts'
import type { GatewayParts } from '../gateway.ts'
import type { RestTools } from '../rest.ts'
import { type Respond, serveAdmin } from './admin-call.ts'

export interface CallsParts {
  readonly calls: ProcessCalls
  readonly streams: CallStreams
  /** Phase of a stage. */
  readonly phaseOf: (stage: string) => Phase | undefined
}

export class CallsAdmin {
  readonly #gateway: GatewayParts
  readonly #parts: CallsParts
  readonly #rest: RestTools

  constructor(gateway: GatewayParts, parts: CallsParts, rest: RestTools) {
    this.#gateway = gateway
    this.#parts = parts
    this.#rest = rest
  }

  /** GET /admin/calls */
  list(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, async caller => {
      const parameters = new Parameters(call.request.query)
      const positions = positionsOf(parameters.cursor(), 'cursor')
      const query = callQuery(parameters, caller)
      const page = await this.#parts.calls.before(query, positions, parameters.limit())
      call.respond(200, {
        calls: page.rows,
        next_cursor: page.more ? cursorOf(page.positions) : null,
        window: shownWindow(page.window),
      })
    })
  }

  /** GET /admin/calls/stream */
  stream(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, async (caller, exchange) => {
      const parameters = new Parameters(call.request.query)
      const query = callQuery(parameters, caller)
      // a browser sends the header with the requests by which it continues a stream, and cannot set it on the first one
      const last =
        positionsOf(call.request.header('last-event-id'), 'Last-Event-ID') ??
        positionsOf(parameters.cursor(), 'cursor')
      // a stream without a body would keep its slot, as nothing ends it
      if (call.request.method === 'HEAD')
        return call.respond(200, undefined, ['content-type', 'text/event-stream'])
      if (this.#parts.streams.open(call, exchange, query, last)) return
      const message = 'Too many streams of recorded calls are open. Close a stream, or retry later.'
      const body = { error: 'too_many_connections', message, request_id: call.requestId }
      call.respond(429, body, ['retry-after', '60'])
    })
  }

  /** GET /admin/calls/{id} */
  one(call: Call, snapshot: Snapshot, id: string): void {
    this.#serve(call, snapshot, async caller => {
      const found = await this.#parts.calls.find(id)
      const within = tenantSeenBy(caller)
      if (found !== undefined && (within === undefined || found.row.tenant === within))
        return call.respond(200, this.#showCall(found))
      const message =
        'No call with this id is recorded. Later calls may have overwritten the record, or the thread that served the call may have restarted.'
      call.respond(404, { error: 'not_found', message, request_id: call.requestId })
    })
  }

  #showCall({ row, principal, refusal, detail }: FoundCall): object {
    const { timings, startedAt = 0, decision } = detail ?? {}
    const stages = timings?.map(({ stage, startedAt: at, ms }) => ({
      stage,
      phase: this.#parts.phaseOf(stage) ?? null,
      start_ms: roundMs(at - startedAt),
      ms: roundMs(ms),
    }))
    const phases = new Map<string, number>()
    for (const { phase, ms } of stages ?? [])
      if (phase !== null) phases.set(phase, (phases.get(phase) ?? 0) + ms)
    return {
      call: row,
      stages: stages ?? null,
      phases: stages === undefined ? null : [...phases].map(([phase, ms]) => ({ phase, ms: roundMs(ms) })),
      arguments: detail?.arguments === undefined ? null : JSON.parse(detail.arguments),
      arguments_state: detail?.argumentsState ?? 'not_recorded',
      caller: principal ?? null,
      client_address: detail?.clientAddress ?? null,
      refusal: refusal ?? null,
      decision:
        decision === undefined
          ? null
          : {
              allow: decision.allow,
              revision: decision.revision,
              decision_id: detail?.decisionId ?? row.decision_id,
              obligations: decision.obligations ?? null,
            },
    }
  }

  #serve(call: Call, snapshot: Snapshot, respond: Respond): void {
    void serveAdmin(this.#gateway, this.#rest, call, snapshot, 'calls', respond)
  }
}

export function shownWindow({ calls, capacity, sinceMs }: CallWindow): object {
  return { calls, capacity, since: sinceMs === null ? null : new Date(sinceMs).toISOString() }
}

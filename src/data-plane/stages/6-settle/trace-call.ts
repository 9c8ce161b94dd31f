/** Makes the spans of a call: one for the call and one per stage. It exports nothing. */

import type { CallTraces } from '../../../shared/telemetry/traces.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { outcomeOf, statusOf } from './record-metrics.ts'

/** W3C Trace Context §3.2.2.5: the lowest bit says that the trace is recorded. */
export function isRecorded({ traceFlags }: Exchange): boolean {
  return (Number.parseInt(traceFlags, 16) & 1) === 1
}

export function traceCall(traces: CallTraces): Stage {
  return {
    id: 'trace-call',
    phase: 'settle',
    run(exchange) {
      const { timings, operation, principal, startedAt } = exchange
      if (timings === undefined || !isRecorded(exchange)) return undefined
      const { timeOrigin } = performance
      const outcome = outcomeOf(exchange)
      traces.call({
        name:
          exchange.tool === undefined ? operation.action : `${operation.action} ${exchange.tool.tool.name}`,
        traceId: exchange.traceId,
        parentSpanId: exchange.parentSpanId,
        startedAtMs: timeOrigin + startedAt,
        endedAtMs: timeOrigin + startedAt + exchange.durationMs,
        attributes: {
          'toolgate.action': operation.action,
          'toolgate.access': exchange.access,
          'toolgate.outcome': outcome,
          'toolgate.request_id': exchange.requestId,
          'http.response.status_code': statusOf(exchange),
          ...(exchange.tenant === undefined ? undefined : { 'toolgate.tenant': exchange.tenant }),
          ...(principal === undefined ? undefined : { 'toolgate.consumer': principal.consumer }),
        },
        failed: outcome !== 'success',
        steps: timings.map(({ stage, startedAt: at, ms }) => ({
          name: stage,
          startedAtMs: timeOrigin + at,
          endedAtMs: timeOrigin + at + ms,
          spanId: stage === 'invoke-tool' || stage === 'invoke-proxy' ? exchange.backendSpanId : '',
        })),
      })
      return undefined
    },
  }
}

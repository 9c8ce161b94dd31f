/** Writes one line per exchange. No token, key, secret or argument value may appear in it. */
import type { Exchange } from '../pipeline/exchange.ts'
import type { Stage } from '../pipeline/stage.ts'
import { outcomeOf, statusOf } from './record-metrics.ts'

/** One line; `telemetry/` writes it. */
export interface AccessRecord {
  readonly request_id: string
  readonly trace_id: string
  readonly access: Exchange['access']
  readonly action: string
  readonly tool?: string
  readonly tenant?: string
  readonly consumer?: string
  readonly outcome: string
  readonly status: number
  readonly duration_ms: number
  readonly backend_ms?: number
  readonly snapshot: string
}

export interface AccessLog {
  write(record: AccessRecord): void
}

export function logAccess(log: AccessLog): Stage {
  return {
    id: 'log-access',
    phase: 'settle',
    run(exchange) {
      const { operation, tenant, principal } = exchange
      log.write({
        request_id: exchange.requestId,
        trace_id: exchange.traceId,
        access: exchange.access,
        action: operation.action,
        ...(exchange.tool === undefined ? undefined : { tool: exchange.tool.tool.name }),
        ...(tenant === undefined ? undefined : { tenant }),
        ...(principal === undefined ? undefined : { consumer: principal.consumer }),
        outcome: outcomeOf(exchange),
        status: statusOf(exchange),
        duration_ms: round(performance.now() - exchange.startedAt),
        ...(exchange.backendMs < 0 ? undefined : { backend_ms: round(exchange.backendMs) }),
        snapshot: exchange.snapshot.version.slice(0, 12),
      })
      return undefined
    },
  }
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

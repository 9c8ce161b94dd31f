/** Writes one line per exchange. No token, key, secret or argument value may appear in it. */
import type { Exchange, StageTiming } from '../pipeline/exchange.ts'
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
  /** Stage → milliseconds, of calls whose stages were timed. */
  readonly stages?: { readonly [stage: string]: number }
  readonly snapshot: string
}

export interface AccessLog {
  write(record: AccessRecord): void
}

/** @param sampled share of the calls that succeed, 0 to 1; refused and failed ones are always logged */
export function logAccess(log: AccessLog, sampled = 1): Stage {
  return {
    id: 'log-access',
    phase: 'settle',
    run(exchange) {
      const { operation, tenant, principal } = exchange
      const outcome = outcomeOf(exchange)
      if (outcome === 'success' && sampled < 1 && Math.random() >= sampled) return undefined
      log.write({
        request_id: exchange.requestId,
        trace_id: exchange.traceId,
        access: exchange.access,
        action: operation.action,
        ...(exchange.tool === undefined ? undefined : { tool: exchange.tool.tool.name }),
        ...(tenant === undefined ? undefined : { tenant }),
        ...(principal === undefined ? undefined : { consumer: principal.consumer }),
        outcome,
        status: statusOf(exchange),
        duration_ms: round(exchange.durationMs),
        ...(exchange.backendMs < 0 ? undefined : { backend_ms: round(exchange.backendMs) }),
        snapshot: exchange.snapshot.version.slice(0, 12),
        ...(exchange.timings === undefined ? undefined : { stages: stagesOf(exchange.timings) }),
      })
      return undefined
    },
  }
}

function stagesOf(timings: readonly StageTiming[]): { readonly [stage: string]: number } {
  return Object.fromEntries(timings.map(({ stage, ms }) => [stage, round(ms)]))
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** Makes access records of exchanges for the access log, and leaves out a share of the successful ones where so configured. */
import { maskText } from '../../../policy/log/mask.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Peer, StageTiming } from '../../pipeline/exchange-parts.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { outcomeOf, statusOf } from './record-metrics.ts'

/** One line; the logger of the process writes it. No token, key, secret or argument value may appear in it. */
export interface AccessRecord {
  readonly request_id: string
  readonly trace_id: string
  readonly access: Exchange['access']
  readonly action: string
  readonly tool: string | undefined
  readonly tenant: string | undefined
  readonly consumer: string | undefined
  /** Address of the client, through trusted proxies or directly. */
  readonly client: string
  /** Under which the decision is kept in the decision log. */
  readonly decision_id: string | undefined
  /**
   * Name in a call for which no tool was resolved: it does not exist, is not offered, or the call was refused before, but after its body was
   * read. Masked if it looks like a secret.
   */
  readonly requested_tool: string | undefined
  readonly outcome: string
  readonly status: number
  readonly duration_ms: number
  readonly backend_ms: number | undefined
  /** Why the backend gave no response: its origin and an error code. */
  readonly backend_fault: string | undefined
  /** Stage → milliseconds, of calls whose stages were timed. */
  readonly stages: { readonly [stage: string]: number } | undefined
  readonly snapshot: string
}

export interface AccessLog {
  /** false: the level is disabled, and no record is built. */
  readonly wanted: boolean
  write(record: AccessRecord): void
}

/**
 * @param clientAddress of the client that sent a request
 * @param sampled share of the calls that succeed, 0 to 1; refused and failed ones are always logged
 */
export function logAccess(log: AccessLog, clientAddress: (peer: Peer) => string, sampled = 1): Stage {
  return {
    id: 'log-access',
    phase: 'settle',
    run(exchange) {
      if (!log.wanted) return undefined
      const { operation, tenant, principal } = exchange
      const outcome = outcomeOf(exchange)
      if (outcome === 'success' && sampled < 1 && Math.random() >= sampled) return undefined
      log.write({
        request_id: exchange.requestId,
        trace_id: exchange.traceId,
        access: exchange.access,
        action: operation.action,
        tool: exchange.tool?.tool.name,
        tenant,
        consumer: principal?.consumer,
        client: clientAddress(exchange.peer),
        decision_id: exchange.decisionId,
        requested_tool: requestedTool(exchange),
        outcome,
        status: statusOf(exchange),
        duration_ms: round(exchange.durationMs),
        backend_ms: exchange.backendMs < 0 ? undefined : round(exchange.backendMs),
        backend_fault: exchange.backendFault,
        snapshot: exchange.snapshot.version.slice(0, 12),
        stages: exchange.timings === undefined ? undefined : stagesOf(exchange.timings),
      })
      return undefined
    },
  }
}

const MAX_NAME = 128

function requestedTool({ operation, tool }: Exchange): string | undefined {
  if (!isCall(operation) || tool !== undefined || operation.tool === '') return undefined
  return maskText(operation.tool.slice(0, MAX_NAME))
}

function stagesOf(timings: readonly StageTiming[]): { readonly [stage: string]: number } {
  return Object.fromEntries(timings.map(({ stage, ms }) => [stage, round(ms)]))
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** Reports ended exchanges to the metrics, and gives other stages their outcome, status and trace flag. */

import { REFUSALS } from '../../../model/refusal.ts'
import type { TracedValue } from '../../../telemetry/histogram.ts'
import type { TargetCall } from '../../../telemetry/target-counts.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Stage } from '../../pipeline/stage.ts'

/** Where the counts go; `telemetry` implements it. */
export interface CallMetrics {
  /**
   * @param consumer '' for callers that were not authenticated.
   * @param status the status a REST caller receives.
   * @param outcome `success`, or the reason of the refusal or failure.
   * @param traced when the trace of the call is recorded: an example for the durations.
   */
  call(
    consumer: string,
    status: number,
    outcome: string,
    action: string,
    seconds: number,
    backendSeconds: number,
    traced?: TracedValue,
  ): void
  /** For an exchange whose stages were timed. @param stage id of a stage: a closed set */
  stage(stage: string, seconds: number): void
  /** By tool, tenant and backend. */
  target(call: TargetCall): void
  /** A call that ended before its work. */
  countRefusal(reason: string, consumer: string): void
  /** @param calendar a daily or monthly quota, not a rolling window */
  quotaRefused(calendar: boolean): void
}

/** How an exchange ended, in one word. */
export function outcomeOf(exchange: Exchange): string {
  const { final } = exchange
  if (final === undefined) return 'success'
  return final.kind === 'refusal' ? final.reason : (final.failure ?? 'success')
}

/** The status that a REST caller receives, also for calls over JSON-RPC. A proxied response keeps that of its backend. */
export function statusOf({ access, final }: Exchange): number {
  if (final === undefined) return 200
  if (final.kind === 'refusal') return final.row.status
  if (access === 'proxy' && final.backendStatus !== undefined) return final.backendStatus
  return final.failure === undefined ? 200 : REFUSALS[final.failure].status
}

/** W3C Trace Context §3.2.2.5: the lowest bit says that the trace is recorded. */
export function isRecorded({ traceFlags }: Exchange): boolean {
  // nearly all calls have these; a comparison costs less than parsing
  return traceFlags === '01' || (Number.parseInt(traceFlags, 16) & 1) === 1
}

export function recordMetrics(metrics: CallMetrics): Stage {
  return {
    id: 'record-metrics',
    phase: 'settle',
    run(exchange) {
      const { operation, tool, tenant, final } = exchange
      const consumer = exchange.principal?.consumer ?? ''
      const outcome = outcomeOf(exchange)
      const seconds = exchange.durationMs / 1000
      const backendSeconds = exchange.backendMs / 1000
      const traced = isRecorded(exchange) ? exchange : undefined
      metrics.call(consumer, statusOf(exchange), outcome, operation.action, seconds, backendSeconds, traced)
      const upstream = operation.action === 'proxy' ? operation.api.upstreamUrl : undefined
      if (tool !== undefined || upstream !== undefined)
        metrics.target({ tool: tool?.tool, tenant, upstream, outcome, seconds, backendSeconds, traced })
      if (final?.kind === 'refusal') metrics.countRefusal(outcome, consumer)
      if (exchange.timings !== undefined)
        for (const { stage, ms } of exchange.timings) metrics.stage(stage, ms / 1000)
      if (final?.kind === 'refusal' && final.reason === 'quota_exceeded')
        metrics.quotaRefused(final.retryAfterSecsInBody === null)
      return undefined
    },
  }
}

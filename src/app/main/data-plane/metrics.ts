/** Connects metrics of one data plane to the parts that hold their values. */
import type { FairShares } from '../../../base/fair-shares.ts'
import type { AttemptLimit } from '../../../data-plane/http/attempt-limit.ts'
import type { McpEndpoint } from '../../../data-plane/http/mcp/endpoint.ts'
import type { ApiCache } from '../../../data-plane/proxy/api-cache/api-cache.ts'
import type { SessionStatistics, SessionStore } from '../../../data-plane/sessions/session-store.ts'
import type { SnapshotHolder } from '../../../data-plane/snapshot/holder.ts'
import type { AppContext } from '../app-context.ts'
import type { PlanePolicy } from '../policy-served.ts'
import type { OpenPipeline } from './pipeline.ts'

export interface MeasuredParts extends Pick<OpenPipeline, 'results' | 'admission'> {
  /** From 1. */
  readonly worker: number
  readonly snapshot: SnapshotHolder
  readonly policy: PlanePolicy
  readonly mcp: McpEndpoint
  readonly responses: ApiCache
  readonly attempts: AttemptLimit
  readonly heldBytes: FairShares
}

export function registerMetrics(
  { metrics }: AppContext,
  { worker, snapshot, results, responses, policy, mcp, admission, attempts, heldBytes }: MeasuredParts,
): void {
  metrics.workerInfo(() => ({
    worker: String(worker),
    snapshot: snapshot.current?.version.slice(0, 12) ?? '',
    policy_revision: policy.current().revision,
  }))
  metrics.read('platform_tools', () => snapshot.current?.toolCount ?? 0)
  metrics.read('platform_result_cache_hits_total', () => results.counts.hits)
  metrics.read('platform_result_cache_misses_total', () => results.counts.misses)
  metrics.read('platform_results_remembered', () => results.size)
  metrics.read('platform_response_cache_hits_total', () => responses.counts.hits)
  metrics.read('platform_response_cache_misses_total', () => responses.counts.misses)
  metrics.read('platform_response_cache_confirmed_total', () => responses.counts.revalidated)
  metrics.read('platform_response_cache_bytes', () => responses.bytes)
  metrics.read('platform_decisions_remembered', () => policy.current().cached)
  metrics.read('platform_attempts_refused_total', () => attempts.refused)
  metrics.read('platform_streams', () => mcp.openStreams)
  metrics.read('platform_calls_in_flight', () => admission.inFlight())
  metrics.read('platform_held_bytes', () => heldBytes.held)
  metrics.read('platform_held_bytes_refused_total', () => heldBytes.counts.refused)
}

/** Aggregated by maximum: every thread reads the same sessions, those of the process or of all that share a Redis. */
export function showSessions({ metrics, clock }: AppContext, sessions: SessionStore): void {
  let asked: Promise<SessionStatistics | undefined> | undefined
  // both gauges of a scrape share one query
  const statistics = (): Promise<SessionStatistics | undefined> => {
    asked ??= Promise.resolve(sessions.statistics(clock.now())).finally(() => {
      asked = undefined
    })
    return asked
  }
  metrics.read('platform_sessions', async () => (await statistics())?.active_sessions)
  metrics.read('platform_sessions_zombie', async () => (await statistics())?.zombie_sessions)
}

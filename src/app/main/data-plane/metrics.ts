/** Registers the gauges and counters of one data plane. It counts nothing itself. */
import type { McpEndpoint } from '../../../data-plane/http/mcp/endpoint.ts'
import type { AppContext } from '../app-context.ts'
import type { PlanePolicy } from '../policy-served.ts'
import type { OpenPipeline } from './pipeline.ts'
import type { ServedSnapshot } from './served-snapshot.ts'

export interface MeasuredParts extends Pick<OpenPipeline, 'results' | 'admission'> {
  readonly snapshot: ServedSnapshot
  readonly policy: PlanePolicy
  readonly mcp: McpEndpoint
}

export function registerMetrics(
  { metrics }: AppContext,
  { snapshot, results, policy, mcp, admission }: MeasuredParts,
): void {
  metrics.gauge(
    'platform_tools',
    'Tools in the snapshot that is served.',
    () => snapshot.current?.toolCount ?? 0,
    'max',
  )
  metrics.counter(
    'platform_result_cache_hits_total',
    'Calls answered with a result that was remembered, or shared with a call under way.',
    () => results.counts.hits,
  )
  metrics.counter(
    'platform_result_cache_misses_total',
    'Calls whose result could have been remembered and was not.',
    () => results.counts.misses,
  )
  metrics.gauge('platform_results_remembered', 'Tool results in the cache.', () => results.size)
  metrics.gauge(
    'platform_decisions_remembered',
    'Policy decisions in the cache.',
    () => policy.current().cached,
  )
  metrics.gauge('platform_streams', 'Event streams that are open.', () => mcp.openStreams)
  metrics.gauge('platform_calls_in_flight', 'Calls in the pipeline.', () => admission.inFlight())
}

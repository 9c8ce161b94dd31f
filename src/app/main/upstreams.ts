/** Opens the clients for upstreams with their health checks, and registers their metrics. */
import { RuledUpstreams } from '../../net/egress/ruled-upstreams.ts'
import type { UpstreamRules } from '../../net/egress/upstream-rules.ts'
import { Upstreams } from '../../net/egress/upstreams.ts'
import type { AppContext } from './app-context.ts'
import { shareHealth } from './shared-health.ts'

export interface OpenUpstreams {
  readonly upstreams: Upstreams
  readonly ruled: RuledUpstreams
  /** Takes up the rules of a snapshot. */
  readonly load: (rules: readonly UpstreamRules[]) => void
}

/** @param thread from 1 */
export function openUpstreams(context: AppContext, thread: number): OpenUpstreams {
  const { upstreamEgress: egress, metrics } = context
  let retries = 0
  let refused = 0
  let spent = 0
  const observer = {
    onRetry: () => retries++,
    onRefused: () => refused++,
    onBudgetSpent: () => spent++,
  }
  const upstreams = new Upstreams({ egress, ...observer })
  const ruled = new RuledUpstreams(egress, observer)
  metrics.read('platform_upstream_circuits_open', () => upstreams.openCircuits + ruled.openCircuits)
  metrics.read('platform_upstream_refused_total', () => refused)
  metrics.read('platform_upstream_retries_total', () => retries)
  metrics.read('platform_upstream_retries_refused_total', () => spent)
  metrics.read('platform_mirrored_requests_total', () => ruled.mirrored.sent)
  metrics.read('platform_mirrored_requests_failed_total', () => ruled.mirrored.failed)
  metrics.read('platform_mirrored_requests_dropped_total', () => ruled.mirrored.dropped)
  const check = shareHealth(context, ruled, thread)
  return {
    upstreams,
    ruled,
    load(rules) {
      ruled.load(rules)
      check(rules)
    },
  }
}

/** Opens the clients for upstreams with their health checks, and registers their metrics. */

import { BroadcastChannel } from 'node:worker_threads'
import { HealthChecks } from '../../net/egress/health-checks.ts'
import { RuledUpstreams } from '../../net/egress/ruled-upstreams.ts'
import type { UpstreamRules } from '../../net/egress/upstream-rules.ts'
import { Upstreams } from '../../net/egress/upstreams.ts'
import type { AppContext } from './app-context.ts'

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

/** A thread that has just started receives the state within this time. */
const REPEAT_MS = 2000

/** @param thread from 1 @returns takes up the rules of a snapshot */
function shareHealth(
  { upstreamEgress: egress, metrics, closers, settings }: AppContext,
  ruled: RuledUpstreams,
  thread: number,
): (rules: readonly UpstreamRules[]) => void {
  metrics.read('platform_upstream_addresses_unhealthy', () => ruled.unhealthy)
  const channel = new BroadcastChannel(`toolgate-upstream-health ${process.pid} ${settings.dataDir}`)
  channel.unref()
  closers.add('health of upstreams', () => channel.close())
  if (thread !== 1) {
    channel.onmessage = event => ruled.markUnhealthy(new Set((event as { data: string[] }).data))
    return () => {}
  }
  const publish = (unhealthy: ReadonlySet<string>): void => {
    ruled.markUnhealthy(unhealthy)
    channel.postMessage([...unhealthy])
  }
  const checks = new HealthChecks({ egress, onChange: publish })
  const timer = setInterval(() => {
    if (checks.size > 0) publish(checks.unhealthy)
  }, REPEAT_MS).unref()
  closers.add('health checks of upstreams', () => {
    clearInterval(timer)
    checks.close()
  })
  metrics.read('platform_upstream_health_checks_total', () => checks.counts.succeeded + checks.counts.failed)
  metrics.read('platform_upstream_health_checks_failed_total', () => checks.counts.failed)
  return rules => checks.load(rules)
}

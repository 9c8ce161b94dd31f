/** The health of upstream addresses in all threads of a gateway: the first thread checks, the others receive the outcome. */
import { BroadcastChannel } from 'node:worker_threads'
import { HealthChecks } from '../../net/egress/health-checks.ts'
import type { RuledUpstreams } from '../../net/egress/ruled-upstreams.ts'
import type { UpstreamRules } from '../../net/egress/upstream-rules.ts'
import type { AppContext } from './app-context.ts'

/** A thread that has just started receives the state within this time. */
const REPEAT_MS = 2000

/** @param thread from 1 @returns takes up the rules of a snapshot */
export function shareHealth(
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

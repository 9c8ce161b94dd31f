/** Opens the client for upstreams of proxied APIs and registers its metrics. It sends nothing itself. */
import { RuledUpstreams } from '../../shared/egress/ruled-upstreams.ts'
import { Upstreams } from '../../shared/egress/upstreams.ts'
import type { AppContext } from './app-context.ts'

export interface OpenUpstreams {
  readonly upstreams: Upstreams
  readonly ruled: RuledUpstreams
}

export function openUpstreams({ egress, metrics }: AppContext): OpenUpstreams {
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
  return { upstreams, ruled }
}

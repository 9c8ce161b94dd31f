/** Opens the client for upstreams of proxied APIs and registers its metrics. It sends nothing itself. */
import { Upstreams } from '../../shared/egress/upstreams.ts'
import type { AppContext } from './app-context.ts'

export function openUpstreams({ egress, metrics }: AppContext): Upstreams {
  let retries = 0
  let refused = 0
  const upstreams = new Upstreams({
    egress,
    onRetry: () => retries++,
    onRefused: () => refused++,
  })
  metrics.read('platform_upstream_circuits_open', () => upstreams.openCircuits)
  metrics.read('platform_upstream_refused_total', () => refused)
  metrics.read('platform_upstream_retries_total', () => retries)
  return upstreams
}

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
  metrics.gauge(
    'platform_upstream_circuits_open',
    'Upstreams that are not tried because they failed several times in a row.',
    () => upstreams.openCircuits,
  )
  metrics.counter(
    'platform_upstream_refused_total',
    'Proxied calls refused because the upstream is not tried.',
    () => refused,
  )
  metrics.counter(
    'platform_upstream_retries_total',
    'Proxied calls tried a second time because the first never reached the upstream.',
    () => retries,
  )
  return upstreams
}

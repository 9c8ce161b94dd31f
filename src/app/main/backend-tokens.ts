/** Opens the access tokens for backends of one thread and registers their metrics. It requests none. */
import { CONNECTIONS_ROOT } from '../../console/connections.ts'
import { BackendTokens } from '../../shared/egress/oauth/backend-tokens.ts'
import type { UserTokens } from '../../shared/egress/oauth/user-tokens.ts'
import type { AppContext } from './app-context.ts'

export function openBackendTokens(
  { egress, clock, metrics }: AppContext,
  users: UserTokens,
  gatewayUrl: string,
): BackendTokens {
  const pageUrl = `${gatewayUrl}${CONNECTIONS_ROOT}/list`
  const tokens = new BackendTokens({ egress, now: clock.now, users: { tokens: users, pageUrl } })
  metrics.read('platform_backend_tokens', () => tokens.size)
  metrics.read('platform_backend_token_requests_total', () => tokens.counts.requests)
  metrics.read('platform_backend_token_failures_total', () => tokens.counts.failures)
  return tokens
}

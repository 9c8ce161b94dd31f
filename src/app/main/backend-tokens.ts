/** Opens the access tokens for backends of one thread and registers their metrics. It requests none. */
import { BackendTokens } from '../../shared/egress/oauth/backend-tokens.ts'
import type { AppContext } from './app-context.ts'

export function openBackendTokens({ egress, clock, metrics }: AppContext): BackendTokens {
  const tokens = new BackendTokens({ egress, now: clock.now })
  metrics.read('platform_backend_tokens', () => tokens.size)
  metrics.read('platform_backend_token_requests_total', () => tokens.counts.requests)
  metrics.read('platform_backend_token_failures_total', () => tokens.counts.failures)
  return tokens
}

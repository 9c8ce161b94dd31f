/** Opens the access tokens for backends of one thread and registers their metrics. */

import { shownAddress } from '../../base/shown-address.ts'
import { CONNECTIONS_ROOT } from '../../console/connections.ts'
import type { TokenVerifier } from '../../identity/verifier.ts'
import { BackendTokens } from '../../net/egress/oauth/backend-tokens.ts'
import { exchangeEndpoints, type MayExchangeAt } from '../../net/egress/oauth/exchange-endpoints.ts'
import type { UserTokens } from '../../net/egress/oauth/user-tokens.ts'
import type { AppContext } from './app-context.ts'

/** Addresses that are refused and logged, once each; further ones are refused without. */
const MAX_REPORTED = 1_000

export function openBackendTokens(
  context: AppContext,
  users: UserTokens,
  pagesUrl: string | undefined,
  issuer: TokenVerifier,
): BackendTokens {
  const { egress, clock, metrics } = context
  const mayExchangeAt = reportRefused(context, issuer)
  const pageUrl = pagesUrl && `${pagesUrl}${CONNECTIONS_ROOT}/list`
  const tokens = new BackendTokens({
    egress,
    mayExchangeAt,
    now: clock.now,
    users: { tokens: users, pageUrl },
  })
  metrics.read('platform_backend_tokens', () => tokens.size)
  metrics.read('platform_backend_token_requests_total', () => tokens.counts.requests)
  metrics.read('platform_backend_token_failures_total', () => tokens.counts.failures)
  return tokens
}

function reportRefused({ settings, log }: AppContext, issuer: TokenVerifier): MayExchangeAt {
  const judge = exchangeEndpoints(settings.auth.tokenExchangeUrls, issuer)
  const reported = new Set<string>()
  return tokenUrl => {
    const permission = judge(tokenUrl)
    if (permission === 'refused' && reported.size < MAX_REPORTED && !reported.has(tokenUrl)) {
      reported.add(tokenUrl)
      log.warn(
        { token_url: shownAddress(tokenUrl) },
        'a tool exchanges tokens of callers at an address that is not permitted, so its calls fail. If you trust the address with these tokens, add it to TOKEN_EXCHANGE_URLS',
      )
    }
    return permission
  }
}

/** Verifies the credentials of callers, and sets the principal and tenant of an exchange or refuses it. */

import { type MaybePromise, passOn } from '../../../base/and-then.ts'
import { bearerToken } from '../../../identity/bearer.ts'
import type { ApiKeyVerifier, TokenVerifier } from '../../../identity/verifier.ts'
import { ANONYMOUS, PLATFORM_ADMIN, type Principal } from '../../../model/principal.ts'
import { type Refusal, refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Credentials } from '../../pipeline/exchange-parts.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function authenticate(tokens: TokenVerifier, apiKeys: ApiKeyVerifier | undefined): Stage {
  function accept(exchange: Exchange, verified: Principal | Refusal): Outcome {
    if (verified.kind === 'refusal') return verified
    const asked = exchange.credentials.tenant
    if (asked !== '' && asked !== verified.tenant && !verified.roles.includes(PLATFORM_ADMIN))
      return refuse('tenant_mismatch')
    exchange.principal = verified
    exchange.tenant = asked === '' ? verified.tenant : asked
    return undefined
  }

  const verify = verifyCredentials(tokens, apiKeys)
  return {
    id: 'authenticate',
    phase: 'identify',
    run(exchange) {
      const { credentials, operation, receivedAtMs } = exchange
      const { authorization, apiKey, verified } = credentials
      if (verified !== undefined) return passOn(accept, exchange, verified)
      const isPublic = operation.action === 'proxy' && !operation.api.authRequired
      if (isPublic && authorization === '' && apiKey === '') return accept(exchange, ANONYMOUS)
      return passOn(accept, exchange, verify(credentials, receivedAtMs))
    },
  }
}

/** The check of a token or, without one, of an API key; it refuses when both are absent. */
export function verifyCredentials(
  tokens: TokenVerifier,
  apiKeys: ApiKeyVerifier | undefined,
): (credentials: Credentials, nowMs: number) => MaybePromise<Principal | Refusal> {
  return ({ authorization, apiKey }, nowMs) => {
    if (authorization !== '') {
      const token = bearerToken(authorization)
      return token === undefined ? refuse('token_malformed') : tokens.verify(token, nowMs)
    }
    if (apiKey === '') return refuse('token_missing')
    return apiKeys === undefined ? refuse('api_key_invalid') : apiKeys.verify(apiKey, nowMs)
  }
}

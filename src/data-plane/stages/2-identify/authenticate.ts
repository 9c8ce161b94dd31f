/** Verifies the credential and sets the principal and tenant of the call. It makes no access decision. */

import { PLATFORM_ADMIN, type Principal, principal } from '../../../model/principal.ts'
import { andThen, type MaybePromise } from '../../../shared/call/and-then.ts'
import { type Refusal, refuse } from '../../../shared/call/refusal.ts'
import { bearerToken } from '../../../shared/identity/bearer.ts'
import type { ApiKeyVerifier, TokenVerifier } from '../../../shared/identity/verifier.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'

/** The caller of an API that requires no authentication. */
const ANONYMOUS = principal({
  kind: 'anonymous',
  subject: 'anonymous',
  consumer: 'anonymous',
  tenant: undefined,
  roles: [],
  scopes: [],
  subscriptionId: undefined,
  expiresAtMs: Number.POSITIVE_INFINITY,
})

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

  return {
    id: 'authenticate',
    phase: 'identify',
    run(exchange) {
      const { authorization, apiKey } = exchange.credentials
      let verified: MaybePromise<Principal | Refusal>
      if (authorization !== '') {
        const token = bearerToken(authorization)
        if (token === undefined) return refuse('token_malformed')
        verified = tokens.verify(token, exchange.receivedAtMs)
      } else if (apiKey !== '' && apiKeys !== undefined) {
        verified = apiKeys.verify(apiKey, exchange.receivedAtMs)
      } else if (
        apiKey === '' &&
        exchange.operation.action === 'proxy' &&
        !exchange.operation.api.authRequired
      ) {
        verified = ANONYMOUS
      } else {
        return refuse(apiKey === '' ? 'token_missing' : 'api_key_invalid')
      }
      return andThen(verified, value => accept(exchange, value))
    },
  }
}

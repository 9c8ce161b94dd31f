/**
 * Runs a call and its follow-up requests with tokens for the backend, can retry with another token, and can ask the user to connect an
 * account.
 */

import type { MaybePending } from '../../../base/and-then.ts'
import type { Cancellation } from '../../../base/cancellation.ts'
import { bearerToken } from '../../../identity/bearer.ts'
import { refuse } from '../../../model/refusal.ts'
import { isPerCaller } from '../../../model/tool.ts'
import type { BackendTokens, TokenCaller } from '../../../net/egress/oauth/backend-tokens.ts'
import type { TokenFault } from '../../../net/egress/oauth/token-endpoint.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import { ownerOf, userKeyOf } from '../../sessions/owner.ts'
import { failedCall } from './backend-failure.ts'
import { callTimeoutMs } from './begin-task.ts'
import { askToConnect } from './server-questions.ts'

/** What one attempt with a token came to. */
export interface Attempt {
  readonly outcome: Outcome
  /** The backend did not accept the token (401) of the first request, so that it executed nothing. */
  readonly isRefused: boolean
}

/** A token, and how long the rest of the call may take: longer once it has begun as a task. */
export interface CallToken {
  readonly token: string
  readonly timeoutMs: number
  /** Owner of whom the token is; '' when it belongs to the gateway. */
  readonly owner: string
  /** Another token, after the backend refused this one; undefined: there is none in time. */
  renew(cancellation: Cancellation): Promise<CallToken | undefined>
}

export async function callWithToken(
  tokens: BackendTokens,
  exchange: Exchange,
  cancellation: Cancellation,
  attempt: (call: CallToken) => Promise<Attempt>,
): Promise<Outcome> {
  const { authentication } = exchange.tool!.tool
  const caller = callerOf(exchange)
  const owner = isPerCaller(authentication) ? ownerOf(exchange.principal!) : ''
  const startedAtMs = performance.now()
  const untilMs = (): number => startedAtMs + callTimeoutMs(exchange)
  const callToken = (token: string): CallToken => ({
    token,
    owner,
    get timeoutMs() {
      return Math.max(1, Math.ceil(untilMs() - performance.now()))
    },
    async renew(cancelling) {
      tokens.discard(authentication, token, caller)
      const next = await waited(tokens.token(authentication, caller), untilMs(), cancelling)
      return typeof next === 'object' && 'value' in next ? callToken(next.value) : undefined
    },
  })
  for (let isLast = false; ; isLast = true) {
    const token = await waited(tokens.token(authentication, caller), untilMs(), cancellation)
    if (token === 'cancelled') return refuse('cancelled')
    if (typeof token !== 'object') return failedCall(LATE, { failure: 'authorization_unavailable' }, true)
    if ('kind' in token) {
      const asked = isLast ? undefined : await askToConnect(exchange, token)
      if (asked === 'pending') return refuse('confirmation_pending')
      if (asked === undefined || asked === 'declined') return unauthorized(token)
      continue
    }
    const { outcome, isRefused } = await attempt(callToken(token.value))
    if (!isRefused) return outcome
    tokens.discard(authentication, token.value, caller)
    if (isLast || cancellation.cancelled) return outcome
  }
}

/**
 * Sends the requests that follow the first response of a call, such as those for the state of its work: each once more when its token is
 * refused, which executes nothing, and the next ones with the token that replaced it.
 */
export function followUps<Received>(
  first: CallToken | undefined,
  isRefused: (received: Received) => boolean,
): (
  cancellation: Cancellation,
  send: (call: CallToken | undefined) => MaybePending<Received>,
) => Promise<Received> {
  let call = first
  return async (cancellation, send) => {
    const received = await send(call)
    if (call === undefined || !isRefused(received)) return received
    const next = await call.renew(cancellation)
    if (next === undefined) return received
    call = next
    return send(next)
  }
}

const LATE = 'The authorization server of the backend did not respond in time. The backend was not called.'

function unauthorized({ reason, message, connectUrl }: TokenFault): Outcome {
  return failedCall(`${message} The backend was not called.`, {
    failure: `authorization_${reason}`,
    ...(connectUrl === undefined ? {} : { connect_url: connectUrl }),
  })
}

/** The token of the caller, for the token endpoint only. A credential that is not an access token is never exchanged. */
function callerOf({ credentials, principal, tool }: Exchange): TokenCaller {
  const { kind, expiresAtMs } = principal!
  const { namespace, toolSet } = tool!.tool
  const subjectToken = kind === 'token' ? bearerToken(credentials.authorization) : undefined
  const place = kind === 'token' ? { user: userKeyOf(principal!), namespace, toolSet } : undefined
  return { subjectToken: subjectToken ?? '', expiresAtMs, place }
}

/** Several calls may wait for one token: each waits for as long as it may itself. */
function waited(
  token: ReturnType<BackendTokens['token']>,
  untilMs: number,
  cancellation: Cancellation,
): Promise<{ readonly value: string } | TokenFault | 'late' | 'cancelled'> {
  return new Promise(resolve => {
    let stop: (() => void) | undefined
    const timer = setTimeout(() => settle('late'), Math.max(1, untilMs - performance.now()))
    stop = cancellation.onCancel(() => settle('cancelled'))
    function settle(value: { readonly value: string } | TokenFault | 'late' | 'cancelled'): void {
      clearTimeout(timer)
      stop?.()
      resolve(value)
    }
    void Promise.resolve(token).then(made => settle(typeof made === 'string' ? { value: made } : made))
  })
}

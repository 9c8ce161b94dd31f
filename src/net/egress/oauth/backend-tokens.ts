/** Access tokens for backends, from token endpoints, a cache or connected accounts, and keys of credentials. */

import { createHash } from 'node:crypto'
import { BoundedMap } from '../../../base/async/bounded-map.ts'
import { oncePer } from '../../../base/once-per.ts'
import { type BackendAuthentication, isPerCaller } from '../../../model/tool.ts'
import type { Egress } from '../egress.ts'
import { exchangeUrl, type MayExchangeAt } from './exchange-endpoints.ts'
import {
  fault,
  type IssuedToken,
  identityOf,
  renewalOf,
  requestToken,
  type TokenFault,
} from './token-endpoint.ts'
import type { ConnectionPlace, UserTokens } from './user-tokens.ts'

/** The caller, where each one has its own token. */
export interface TokenCaller {
  /** The access token of the caller, verified; '' when the caller showed none. It is sent to the token endpoint only. */
  readonly subjectToken: string
  /** Unix ms. */
  readonly expiresAtMs: number
  /** Absent: the call belongs to no user. */
  readonly place?: ConnectionPlace | undefined
}

interface BackendTokensOptions {
  readonly egress: Egress
  /** Absent: no token of a caller is sent anywhere. */
  readonly mayExchangeAt?: MayExchangeAt
  /** Users of users, and the page where they connect, if one is served; absent: no caller has any. */
  readonly users?: { readonly tokens: UserTokens; readonly pageUrl: string | undefined }
  /** Unix ms. */
  readonly now: () => number
  /** The one used longest ago is evicted for another. */
  readonly maxTokens?: number
}

interface Entry {
  readonly outcome: string | TokenFault
  /** Unix ms. */
  readonly untilMs: number
}

const MAX_TOKENS = 10_000
/** An authorization server that fails is not asked again for each call. */
const FAULT_MS = 1_000
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const NO_CALLER: TokenCaller = { subjectToken: '', expiresAtMs: Number.POSITIVE_INFINITY }

export class BackendTokens {
  /** For this thread, since its start. */
  readonly counts = { requests: 0, failures: 0 }
  readonly #options: BackendTokensOptions
  /** The one used last is last. */
  readonly #entries = new Map<string, Entry>()
  /** Tokens of users that a backend did not accept, until the next call. */
  readonly #refused = new BoundedMap<string, string>(MAX_TOKENS)
  readonly #pending = new Map<string, Promise<string | TokenFault>>()

  constructor(options: BackendTokensOptions) {
    this.#options = options
  }

  /** Tokens and faults that are cached. */
  get size(): number {
    return this.#entries.size
  }

  /** The cached token, or a new one. Calls that need the same one wait for one request. Never rejects. */
  token(
    authentication: BackendAuthentication,
    caller: TokenCaller = NO_CALLER,
  ): string | TokenFault | Promise<string | TokenFault> {
    if (authentication.type === 'authorization_code') return this.#requestToken(authentication, caller)
    if (authentication.type === 'token_exchange' && caller.subjectToken === '') return NO_SUBJECT
    const key = keyOf(authentication, caller)
    const known = this.#entries.get(key)
    if (known !== undefined) {
      this.#entries.delete(key)
      if (known.untilMs > this.#options.now()) {
        this.#entries.set(key, known)
        return known.outcome
      }
    }
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = this.#fetch(key, authentication, caller)
      this.#pending.set(key, pending)
    }
    return pending
  }

  /** After the backend refused the token: the next call requests another one, unless that has happened already. */
  discard(authentication: BackendAuthentication, token: string, caller: TokenCaller = NO_CALLER): void {
    const key = keyOf(authentication, caller)
    if (authentication.type !== 'authorization_code') {
      if (this.#entries.get(key)?.outcome === token) this.#entries.delete(key)
      return
    }
    this.#refused.set(key, token)
  }

  /** Not cached: a user who disconnects does so for all threads and instances at once. */
  async #requestToken(
    authentication: BackendAuthentication,
    caller: TokenCaller,
  ): Promise<string | TokenFault> {
    const { users } = this.#options
    const { place } = caller
    if (users === undefined || place === undefined) return NO_USER
    const key = keyOf(authentication, caller)
    const refused = this.#refused.get(key)
    this.#refused.delete(key)
    const outcome = await users.tokens.token(authentication, place, refused)
    if (typeof outcome === 'string') return outcome
    this.counts.failures++
    if (outcome.reason !== 'not_connected') return outcome
    const id = encodeURIComponent(`${place.namespace}/${place.toolSet}`)
    const connectUrl = users.pageUrl && `${users.pageUrl}?tool_set=${id}`
    const advice =
      connectUrl === undefined
        ? 'The gateway serves no page for it; the operator can set PAGES_URL.'
        : `Ask the user to open ${connectUrl} and connect an account, then call the tool again.`
    const message = `The tool set ${place.toolSet} acts on behalf of a user, but this user has not connected an account. ${advice}`
    return { ...fault('not_connected', message), connectUrl }
  }

  async #fetch(
    key: string,
    authentication: BackendAuthentication,
    caller: TokenCaller,
  ): Promise<string | TokenFault> {
    const { now } = this.#options
    const issued = await this.#request(authentication, caller)
    this.#pending.delete(key)
    const isToken = issued.kind === 'token'
    if (!isToken) this.counts.failures++
    const outcome = isToken ? issued.value : issued
    const untilMs = isToken ? Math.min(renewalOf(issued, now()), caller.expiresAtMs) : now() + FAULT_MS
    if (this.#entries.size >= (this.#options.maxTokens ?? MAX_TOKENS))
      this.#entries.delete(this.#entries.keys().next().value!)
    this.#entries.set(key, { outcome, untilMs })
    return outcome
  }

  async #request(
    authentication: BackendAuthentication,
    caller: TokenCaller,
  ): Promise<IssuedToken | TokenFault> {
    const { egress, mayExchangeAt } = this.#options
    let { client, secret } = identityOf(authentication)
    if (authentication.type === 'token_exchange') {
      const permission = mayExchangeAt?.(client.tokenUrl) ?? 'refused'
      if (permission !== 'permitted') return NOT_EXCHANGED[permission]
      // exactly what was compared
      client = { ...client, tokenUrl: exchangeUrl(client.tokenUrl)! }
    }
    this.counts.requests++
    return requestToken(egress, { client, secret }, formOf(authentication, caller))
  }
}

/** By what is known about the token endpoint. */
const NOT_EXCHANGED = {
  refused: fault(
    'refused',
    'The token endpoint of this tool is neither that of the identity provider nor listed in TOKEN_EXCHANGE_URLS, so the token of the caller was not sent to it. The operator of the gateway can list it.',
  ),
  unknown: fault(
    'unavailable',
    'The gateway has not read the discovery document of its identity provider yet, so the token of the caller was not sent to a token endpoint. Try again later.',
  ),
}

const NO_SUBJECT = fault(
  'no_subject',
  'This backend needs the access token of a user or client, but the call has none. An API key cannot be exchanged for a token.',
)

const NO_USER = fault(
  'no_subject',
  'The tool set calls its backend on behalf of a user, but the call was made with an API key, which belongs to no user. Use the access token of a user.',
)

function formOf({ type, oauth }: BackendAuthentication, { subjectToken }: TokenCaller) {
  const { scope, audience, resource } = oauth!
  const asked = { scope, audience, resource }
  if (type !== 'token_exchange') return { grant_type: 'client_credentials', ...asked }
  return {
    grant_type: EXCHANGE,
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
    ...asked,
  }
}

/** Tools of one ToolSet have equal credentials in different objects. A digest, because the key outlives the call. */
export const credentialKeyOf = oncePer((authentication: BackendAuthentication): string =>
  digest(JSON.stringify(authentication)),
)

function keyOf(authentication: BackendAuthentication, { subjectToken, place }: TokenCaller): string {
  const own = credentialKeyOf(authentication)
  if (authentication.type === 'authorization_code') return `${own} ${JSON.stringify(place)}`
  return isPerCaller(authentication) ? `${own} ${digest(subjectToken)}` : own
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Verifies bearer tokens with the keys of a provider and a cache in memory. `key-source.ts` loads the keys. */
import { canonicalResource } from '../base/canonical-resource.ts'
import type { Principal } from '../model/principal.ts'
import { type Refusal, refuse } from '../model/refusal.ts'
import { verifies } from './algorithms.ts'
import { type ClaimRules, principalOf } from './claims.ts'
import { CredentialMemory } from './credential-cache.ts'
import { KeySource, type KeySourceOptions } from './key-source.ts'
import { type TokenParts, takeApart } from './token-parts.ts'
import type { TokenVerifier } from './verifier.ts'

/** Without keys they are fetched again after 250 ms, doubled up to 1 s. */
const KEYS_RETRY_SECS = 5

export interface TokenVerifierOptions
  extends Pick<
    KeySourceOptions,
    'jwksUri' | 'fetchJson' | 'refreshMs' | 'cooldownMs' | 'firstRetryMs' | 'onFault' | 'log'
  > {
  /** `iss` of every token, exactly. */
  readonly issuer: string
  /** `ALLOWED_AUDIENCES`; empty switches the check off (debugging only). */
  readonly audiences: readonly string[]
  /** The gateway's own resource addresses, accepted as audiences besides (RFC 8707). */
  readonly resourceUris: readonly string[]
  /** Further resource addresses have one more segment. */
  readonly resourceBase?: string
  /** Leeway for `exp`, `nbf` and `iat`; `CLOCK_SKEW_MS`. */
  readonly clockSkewMs?: number
  /** See `Principal.rights`. */
  readonly rights?: 'intersection' | undefined
  /** Verified tokens cached; 8,192. */
  readonly cachedTokens?: number
}

/** A request is accepted for so long after `exp`: clocks differ. */
export const CLOCK_SKEW_MS = 30_000

/** docs/reference/http.md, Tokens: 5 minutes at most, so that a role taken away counts soon. */
const CACHED_MS = 300_000

export interface StartedTokenVerifier extends TokenVerifier {
  /** Begins to load the keys in the background and goes on trying. Idempotent. */
  start(): void
}

export function createTokenVerifier(options: TokenVerifierOptions): StartedTokenVerifier {
  const { issuer, audiences, resourceUris, resourceBase } = options
  const memory = new CredentialMemory({ capacity: options.cachedTokens ?? 8192, tailChars: 6 })
  const source = new KeySource({ ...options, onKeyRemoved: () => memory.clear() })
  const rules: ClaimRules = {
    issuer,
    audiences:
      audiences.length === 0 ? undefined : new Set([...audiences, ...resourceUris].map(canonicalResource)),
    audienceBase: resourceBase === undefined ? undefined : `${canonicalResource(resourceBase)}/`,
    clockSkewMs: options.clockSkewMs ?? CLOCK_SKEW_MS,
    rights: options.rights,
  }

  /** undefined when none of the keys at hand can have signed it. */
  function judge(token: string, parts: TokenParts, nowMs: number): Principal | Refusal | undefined {
    const candidates = source.keys?.candidates(parts.kid, parts.algorithm) ?? []
    if (candidates.length === 0) return undefined
    if (!candidates.some(({ key }) => verifies(parts.algorithm, key, parts.signed, parts.signature)))
      return refuse('token_signature')
    const verified = principalOf(parts.payload, rules, nowMs)
    if (verified.kind !== 'refusal')
      memory.set(token, verified, Math.min(verified.expiresAtMs, nowMs + CACHED_MS), nowMs)
    return verified
  }

  function keyNotFound(): Refusal {
    // a 401 would have clients discard a token that may be valid
    return source.keys === undefined || source.unreachable
      ? refuse('keys_unavailable', { retryAfterSecs: KEYS_RETRY_SECS })
      : refuse('token_unknown_key')
  }

  async function askAndCheck(token: string, parts: TokenParts, nowMs: number): Promise<Principal | Refusal> {
    await source.ask()
    return judge(token, parts, nowMs) ?? keyNotFound()
  }

  return {
    verify(token, nowMs) {
      const known = memory.get(token, nowMs)
      if (known !== undefined) return known
      const parts = takeApart(token)
      if ('kind' in parts) return parts
      const judged = judge(token, parts, nowMs)
      if (judged !== undefined && !isBadSignature(judged)) return judged
      // a provider may replace a key under the same `kid`
      return source.mayAsk ? askAndCheck(token, parts, nowMs) : (judged ?? keyNotFound())
    },
    get ready() {
      return source.keys !== undefined
    },
    get tokenEndpoint() {
      return source.tokenEndpoint
    },
    start: () => source.start(),
    clearCache: () => memory.clear(),
    close: () => source.close(),
  }
}

function isBadSignature(judged: Principal | Refusal): boolean {
  return judged.kind === 'refusal' && judged.reason === 'token_signature'
}

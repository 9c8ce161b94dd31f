/** Verifies API keys with an injected lookup and a cache in memory. */
import { type Principal, principal } from '../model/principal.ts'
import { type Refusal, refuse } from '../model/refusal.ts'
import { digestOf, prefixOf, SECRET_CHARS, sameText } from './api-key-format.ts'
import { CredentialMemory } from './credential-cache.ts'
import type { ApiKeyVerifier } from './verifier.ts'

/** What the deployment knows about a key, found by its public prefix (`tgk_` and 8 characters). */
export interface ApiKeyRecord {
  readonly id: string
  /** SHA-256 of the whole key, hex. */
  readonly hash: string
  /** `rotating` is the time in which the key before the last rotation works too; that one has a separate record. */
  readonly status: 'active' | 'rotating' | 'expired' | 'revoked'
  /** Unix ms; undefined = does not expire. */
  readonly expiresAtMs: number | undefined
  /** Application of the subscription; quotas count for it. */
  readonly application: string
  /** Name of the application's tenant, where it is not the one whose API the key opens. */
  readonly subscriber?: string | undefined
  readonly tenant: string | undefined
  readonly subscriptionId: string | undefined
  /** The only APIs that the key opens. */
  readonly apiIds: readonly string[]
  readonly roles: readonly string[]
  /** Without the prefix `platform:`. */
  readonly scopes: readonly string[]
}

export interface ApiKeyVerifierOptions {
  /** A rejection or a throw counts as not found: access fails closed. */
  readonly lookup: (prefix: string) => ApiKeyRecord | undefined | Promise<ApiKeyRecord | undefined>
  /** 10,000 (docs/reference/http.md, Tokens). */
  readonly capacity?: number
  /** 300,000. A revoked key may live that long in this memory unless `clearCache` is called with the change. */
  readonly cacheMs?: number
}

const INVALID = refuse('api_key_invalid')

export function createApiKeyVerifier(options: ApiKeyVerifierOptions): ApiKeyVerifier {
  const { lookup, capacity = 10_000, cacheMs = 300_000 } = options
  const memory = new CredentialMemory({ capacity, tailChars: SECRET_CHARS })
  /** One principal per record: a lookup in the current configuration returns the same record each time. */
  const principals = new WeakMap<ApiKeyRecord, Principal>()
  /** Counts calls of `clearCache`, so that a lookup in flight does not restore a cleared entry. */
  let generation = 0

  function judge(key: string, found: ApiKeyRecord | undefined, nowMs: number, asked: number) {
    if (found === undefined || !sameText(digestOf(key), found.hash)) return INVALID
    if (found.status === 'revoked' || found.status === 'expired') return INVALID
    const expiresAtMs = found.expiresAtMs ?? Number.MAX_SAFE_INTEGER
    if (expiresAtMs <= nowMs) return INVALID
    let verified = principals.get(found)
    if (verified === undefined) {
      verified = principalFor(found, prefixOf(key)!, expiresAtMs)
      principals.set(found, verified)
    }
    if (asked === generation) memory.set(key, verified, Math.min(expiresAtMs, nowMs + cacheMs), nowMs)
    return verified
  }

  return {
    verify(key, nowMs) {
      const known = memory.get(key, nowMs)
      if (known !== undefined) return known
      const prefix = prefixOf(key)
      if (prefix === undefined) return INVALID
      const asked = generation
      try {
        const found = lookup(prefix)
        if (!(found instanceof Promise)) return judge(key, found, nowMs, asked)
        return found.then(
          (record): Principal | Refusal => judge(key, record, nowMs, asked),
          () => INVALID,
        )
      } catch {
        return INVALID
      }
    },
    clearCache() {
      generation++
      return memory.clear()
    },
  }
}

function principalFor(found: ApiKeyRecord, keyPrefix: string, expiresAtMs: number): Principal {
  return principal({
    kind: 'api_key',
    subject: found.id,
    consumer: found.application,
    tenant: found.tenant,
    roles: found.roles,
    scopes: found.scopes,
    subscriptionId: found.subscriptionId,
    apiIds: found.apiIds,
    ...(found.subscriber === undefined ? undefined : { subscriber: found.subscriber }),
    keyPrefix,
    expiresAtMs,
  })
}

/** Verifies API keys over an injected lookup and remembers the good ones for a while. It stores no key beyond this process. */
import { timingSafeEqual } from 'node:crypto'
import { type Principal, principal } from '../model/principal.ts'
import { type Refusal, refuse } from '../pipeline/refusal.ts'
import { digestOf, PREFIX_CHARS, prefixOf } from './api-key-format.ts'
import type { ApiKeyVerifier } from './verifier.ts'

/** What the deployment knows about a key, found by its public prefix (`tgk_` and 8 characters). */
export interface ApiKeyRecord {
  readonly id: string
  /** SHA-256 of the whole key, hex. */
  readonly hash: string
  /** `rotating` is the time in which the key before the last rotation works too; that one is a record of its own. */
  readonly status: 'active' | 'rotating' | 'expired' | 'revoked'
  /** Unix ms; undefined = does not expire. */
  readonly expiresAtMs: number | undefined
  /** Application of the subscription; quotas count for it. */
  readonly application: string
  readonly tenant: string | undefined
  readonly subscriptionId: string | undefined
  readonly roles: readonly string[]
  /** Without the prefix `platform:`. */
  readonly scopes: readonly string[]
}

export interface ApiKeyVerifierOptions {
  /** A rejection or a throw counts as not found: access fails closed. */
  readonly lookup: (prefix: string) => ApiKeyRecord | undefined | Promise<ApiKeyRecord | undefined>
  /** 10,000 (specification, "Other constants"). */
  readonly capacity?: number
  /** 300,000. A revoked key may live that long in this memory unless `forget` is called with the change. */
  readonly rememberMs?: number
}

interface Remembered {
  readonly key: string
  readonly principal: Principal
  readonly untilMs: number
}

const INVALID = refuse('api_key_invalid')

export function createApiKeyVerifier(options: ApiKeyVerifierOptions): ApiKeyVerifier {
  const { lookup, capacity = 10_000, rememberMs = 300_000 } = options
  const memory = new Map<string, Remembered>()
  /** Counts `forget`, so that a lookup under way cannot bring back what was forgotten meanwhile. */
  let generation = 0

  function remember(prefix: string, entry: Remembered): void {
    memory.delete(prefix)
    // Maps keep the order of insertion: the first is the one that would be forgotten first.
    if (memory.size >= capacity) memory.delete(memory.keys().next().value!)
    memory.set(prefix, entry)
  }

  function judge(key: string, prefix: string, found: ApiKeyRecord | undefined, nowMs: number, asked: number) {
    const digest = digestOf(key)
    if (found === undefined || !sameDigest(digest, found.hash)) return INVALID
    if (found.status === 'revoked' || found.status === 'expired') return INVALID
    const expiresAtMs = found.expiresAtMs ?? Number.MAX_SAFE_INTEGER
    if (expiresAtMs <= nowMs) return INVALID
    const verified = principalFor(found, expiresAtMs)
    const untilMs = Math.min(expiresAtMs, nowMs + rememberMs)
    if (asked === generation) remember(prefix, { key, principal: verified, untilMs })
    return verified
  }

  return {
    verify(key, nowMs) {
      const known = memory.get(key.slice(0, PREFIX_CHARS))
      if (known !== undefined && nowMs < known.untilMs && sameKey(key, known.key)) return known.principal
      const prefix = prefixOf(key)
      if (prefix === undefined) return INVALID
      const asked = generation
      try {
        const found = lookup(prefix)
        if (!(found instanceof Promise)) return judge(key, prefix, found, nowMs, asked)
        return found.then(
          (record): Principal | Refusal => judge(key, prefix, record, nowMs, asked),
          () => INVALID,
        )
      } catch {
        return INVALID
      }
    },
    forget() {
      const before = memory.size
      generation++
      memory.clear()
      return before
    },
  }
}

function principalFor(found: ApiKeyRecord, expiresAtMs: number): Principal {
  return principal({
    kind: 'api_key',
    subject: found.id,
    consumer: found.application,
    tenant: found.tenant,
    roles: found.roles,
    scopes: found.scopes,
    subscriptionId: found.subscriptionId,
    expiresAtMs,
  })
}

function sameDigest(digest: Buffer, hex: string): boolean {
  const stored = Buffer.from(hex, 'hex')
  return stored.byteLength === digest.byteLength && timingSafeEqual(stored, digest)
}

/** Looks at every character whatever the outcome, so that time tells nothing about the secret. */
function sameKey(shown: string, known: string): boolean {
  if (shown.length !== known.length) return false
  let difference = 0
  for (let at = 0; at < known.length; at++) difference |= shown.charCodeAt(at) ^ known.charCodeAt(at)
  return difference === 0
}

/** Imports the signing keys that a provider publishes, and finds and compares them. */

import { KeyObject } from 'node:crypto'
import { importJWK, type JWK } from 'jose'
import { isObject } from '../base/json/is-object.ts'
import { type Algorithm, algorithmsOf } from './algorithms.ts'

export interface SigningKey {
  /** undefined when the provider gives none. */
  readonly kid: string | undefined
  readonly algorithms: readonly Algorithm[]
  readonly key: KeyObject
  /** Identifies a key across fetches: its `kid` and the public key itself. */
  readonly fingerprint: string
}

/** More keys than any provider publishes; the rest of a longer list is not read. */
export const MAX_KEYS = 64
/** RFC 7518 §3.3: a key of 2048 bits or larger MUST be used. */
const MIN_RSA_BITS = 2048

export class KeySet {
  readonly keys: readonly SigningKey[]

  constructor(keys: readonly SigningKey[]) {
    this.keys = keys
  }

  /** The keys that may have signed; a token without `kid` is matched only when a single key fits its algorithm. */
  candidates(kid: string | undefined, algorithm: Algorithm): readonly SigningKey[] {
    const fitting = this.keys.filter(key => key.algorithms.includes(algorithm))
    if (kid === undefined) return fitting.length === 1 ? fitting : []
    return fitting.filter(key => key.kid === kid)
  }

  /** Whether every key of this set is in the other one too. */
  isWithin(other: KeySet): boolean {
    const theirs = new Set(other.keys.map(key => key.fingerprint))
    return this.keys.every(key => theirs.has(key.fingerprint))
  }
}

/**
 * Imports a JWK set (RFC 7517 §5). Keys for encryption are left out; so are private and symmetric keys, weak and unreadable ones,
 * each reported to `onSkipped`. One bad key does not spoil the others.
 * @returns undefined when the document is not a key set or holds no usable key.
 */
export async function importKeySet(
  document: unknown,
  onSkipped: (kid: string | undefined, reason: string) => void,
): Promise<KeySet | undefined> {
  const listed = (document as { keys?: unknown } | null)?.keys
  if (!Array.isArray(listed)) return undefined
  if (listed.length > MAX_KEYS)
    onSkipped(undefined, `the key set contains ${listed.length} keys; only ${MAX_KEYS} are read`)
  const keys: SigningKey[] = []
  for (const jwk of listed.slice(0, MAX_KEYS)) {
    // Keys for encryption are usual in a set and no fault.
    if ((jwk as JWK | null)?.use === 'enc') continue
    const imported = await importKey(jwk)
    if (typeof imported === 'string') onSkipped(kidOf(jwk), imported)
    else keys.push(imported)
  }
  return keys.length === 0 ? undefined : new KeySet(keys)
}

async function importKey(jwk: unknown): Promise<SigningKey | string> {
  if (!isObject(jwk)) return 'the key is not a JSON object'
  const { use, key_ops: operations, d } = jwk as JWK
  if (use !== undefined && use !== 'sig') return 'the parameter "use" of the key is not "sig"'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return 'the parameter "key_ops" of the key does not contain "verify"'
  if (d !== undefined) return 'the key is private and must never be published'
  const algorithms = algorithmsOf(jwk as JWK)
  if (algorithms.length === 0) return 'the type or algorithm of the key is not accepted'
  try {
    const imported = await importJWK({ ...(jwk as JWK), ext: true }, algorithms[0]!)
    if (imported instanceof Uint8Array) return 'the key is symmetric'
    const key = KeyObject.from(imported)
    const bits = key.asymmetricKeyDetails?.modulusLength
    if (bits !== undefined && bits < MIN_RSA_BITS)
      return `the modulus of the key has ${bits} bits, fewer than ${MIN_RSA_BITS}`
    const fingerprint = `${kidOf(jwk) ?? ''} ${key.export({ type: 'spki', format: 'der' }).toString('base64')}`
    return { kid: kidOf(jwk), algorithms, key, fingerprint }
  } catch {
    return 'the key cannot be read'
  }
}

function kidOf(jwk: unknown): string | undefined {
  const kid = (jwk as { kid?: unknown } | null)?.kid
  return typeof kid === 'string' ? kid : undefined
}

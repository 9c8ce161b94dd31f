/** Verified tokens, found again without hashing a kilobyte. Bounded; it verifies nothing and never trusts its own key. */
import type { Principal } from '../model/principal.ts'

/** Entries that share one bucket; their fingerprints lie in one cache line. */
const WAYS = 16
/** The end of a token is its signature, which is as good as random; the whole is compared before an entry counts. */
const TAIL_CHARS = 10

/** A set-associative table. A full bucket gives up the entry that would be forgotten first. */
export class TokenMemory {
  readonly #buckets: number
  readonly #fingerprints: Int32Array
  readonly #untilMs: Float64Array
  readonly #tokens: (string | undefined)[]
  readonly #principals: (Principal | undefined)[]
  #size = 0

  /** @param capacity tokens, rounded up to a power of two, at least 16. */
  constructor(capacity: number) {
    this.#buckets = 2 ** Math.max(0, Math.ceil(Math.log2(capacity / WAYS)))
    const slots = this.#buckets * WAYS
    this.#fingerprints = new Int32Array(slots)
    this.#untilMs = new Float64Array(slots)
    this.#tokens = new Array<string | undefined>(slots).fill(undefined)
    this.#principals = new Array<Principal | undefined>(slots).fill(undefined)
  }

  get size(): number {
    return this.#size
  }

  /** The principal of a token that was remembered and has not yet to be forgotten. */
  get(token: string, nowMs: number): Principal | undefined {
    const fingerprint = fingerprintOf(token)
    const first = (fingerprint & (this.#buckets - 1)) * WAYS
    for (let slot = first; slot < first + WAYS; slot++) {
      if (this.#fingerprints[slot] !== fingerprint || this.#tokens[slot] !== token) continue
      if (nowMs < this.#untilMs[slot]!) return this.#principals[slot]
      this.#drop(slot)
      return undefined
    }
    return undefined
  }

  /** @param untilMs Unix ms from which the token is not known any more. */
  set(token: string, remembered: Principal, untilMs: number, nowMs: number): void {
    if (untilMs <= nowMs) return
    const fingerprint = fingerprintOf(token)
    const slot = this.#slotFor(token, fingerprint)
    if (this.#tokens[slot] === undefined) this.#size++
    this.#fingerprints[slot] = fingerprint
    // A copy: the string at hand may be a slice that would keep all headers of its request alive.
    this.#tokens[slot] = Buffer.from(token, 'latin1').toString('latin1')
    this.#principals[slot] = remembered
    this.#untilMs[slot] = untilMs
  }

  /** Forgets everything; returns how many there were. */
  clear(): number {
    const before = this.#size
    this.#tokens.fill(undefined)
    this.#principals.fill(undefined)
    this.#fingerprints.fill(0)
    this.#untilMs.fill(0)
    this.#size = 0
    return before
  }

  #slotFor(token: string, fingerprint: number): number {
    const first = (fingerprint & (this.#buckets - 1)) * WAYS
    let chosen = first
    for (let slot = first; slot < first + WAYS; slot++) {
      if (this.#tokens[slot] === token) return slot
      // Empty slots hold 0 and so come first.
      if (this.#untilMs[slot]! < this.#untilMs[chosen]!) chosen = slot
    }
    return chosen
  }

  #drop(slot: number): void {
    this.#tokens[slot] = undefined
    this.#principals[slot] = undefined
    this.#fingerprints[slot] = 0
    this.#untilMs[slot] = 0
    this.#size--
  }
}

/** FNV-1a over the tail. Collisions cost a comparison, never a wrong answer. */
function fingerprintOf(token: string): number {
  let hash = 0x811c9dc5
  for (let at = Math.max(0, token.length - TAIL_CHARS); at < token.length; at++)
    hash = Math.imul(hash ^ token.charCodeAt(at), 0x01000193)
  // The low bits choose the bucket; fold the well-mixed high ones in.
  return hash ^ (hash >>> 15)
}

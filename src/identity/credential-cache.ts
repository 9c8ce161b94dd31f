/** A bounded cache of verified credentials and their principals. */
import { randomInt } from 'node:crypto'
import type { Principal } from '../model/principal.ts'

/** Entries that share one bucket; their fingerprints lie in one cache line. */
const WAYS = 16

export interface CredentialMemoryOptions {
  /** Entries at most, rounded up to a multiple of 16. */
  readonly capacity: number
  /**
   * How many characters at the end make the fingerprint: a few of a signature, which is as good as random; all of a secret.
   * Then only a text whose whole secret has the fingerprint gets as far as a comparison whose time could reveal where
   * two texts differ; and every cache chooses a random multiplier, so that an attacker cannot construct such texts.
   */
  readonly tailChars: number
}

interface Entry {
  readonly text: string
  readonly principal: Principal
  /** Unix ms at which the entry expires. */
  readonly untilMs: number
}

/**
 * A set-associative table. A full bucket evicts the entry that expires first.
 * Measured against `lru-cache` 11.5: that takes 1.2 to 1.4 times as long for an API key, and 3.5 to 4 times as long for a token of
 * 1,000 characters, because it hashes every character, and the string is new with each request. The target for a cached token
 * (`bench/targets.json`) would be missed.
 */
export class CredentialMemory {
  readonly #scale: number
  readonly #tailChars: number
  /** Odd. */
  readonly #multiplier = randomInt(2 ** 31) | 1
  readonly #fingerprints: Int32Array
  readonly #entries: (Entry | undefined)[]
  #size = 0

  constructor({ capacity, tailChars }: CredentialMemoryOptions) {
    const buckets = Math.max(1, Math.ceil(capacity / WAYS))
    this.#scale = buckets / 2 ** 32
    this.#tailChars = tailChars
    this.#fingerprints = new Int32Array(buckets * WAYS)
    this.#entries = new Array<Entry | undefined>(buckets * WAYS).fill(undefined)
  }

  get size(): number {
    return this.#size
  }

  /** The principal of a cached text that has not expired. */
  get(text: string, nowMs: number): Principal | undefined {
    if (text.length < this.#tailChars) return undefined
    const fingerprint = this.#fingerprintOf(text)
    const fingerprints = this.#fingerprints
    const first = this.#bucketOf(fingerprint)
    for (let slot = first; slot < first + WAYS; slot++) {
      if (fingerprints[slot] !== fingerprint) continue
      const entry = this.#entries[slot]
      if (entry === undefined || entry.text !== text) continue
      if (nowMs < entry.untilMs) return entry.principal
      this.#drop(slot)
      return undefined
    }
    return undefined
  }

  /** Caches a text until the given Unix ms. One that has expired, or is too short to be a credential, is ignored. */
  set(text: string, principal: Principal, untilMs: number, nowMs: number): void {
    if (untilMs <= nowMs || text.length < this.#tailChars) return
    const fingerprint = this.#fingerprintOf(text)
    const slot = this.#slotFor(text, this.#bucketOf(fingerprint))
    if (this.#entries[slot] === undefined) this.#size++
    this.#fingerprints[slot] = fingerprint
    this.#entries[slot] = { text: copyOf(text), principal, untilMs }
  }

  /** Evicts all entries; returns their number. */
  clear(): number {
    const before = this.#size
    this.#entries.fill(undefined)
    this.#fingerprints.fill(0)
    this.#size = 0
    return before
  }

  /** Collisions cost a comparison, never a wrong result. */
  #fingerprintOf(text: string): number {
    const multiplier = this.#multiplier
    const { length } = text
    let hash = length
    for (let at = length - this.#tailChars; at < length; at++)
      hash = (Math.imul(hash, multiplier) + text.charCodeAt(at)) | 0
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
    return hash ^ (hash >>> 13)
  }

  #bucketOf(fingerprint: number): number {
    return Math.floor((fingerprint >>> 0) * this.#scale) * WAYS
  }

  #slotFor(text: string, first: number): number {
    let chosen = first
    let chosenUntilMs = Number.POSITIVE_INFINITY
    for (let slot = first; slot < first + WAYS; slot++) {
      const entry = this.#entries[slot]
      if (entry?.text === text) return slot
      const untilMs = entry?.untilMs ?? 0
      if (untilMs < chosenUntilMs) {
        chosen = slot
        chosenUntilMs = untilMs
      }
    }
    return chosen
  }

  #drop(slot: number): void {
    this.#entries[slot] = undefined
    this.#fingerprints[slot] = 0
    this.#size--
  }
}

const SCRATCH = Buffer.alloc(16 * 1024)

/** The string at hand may be a slice that would keep all headers of its request alive. */
function copyOf(text: string): string {
  if (text.length > SCRATCH.length) return Buffer.from(text, 'latin1').toString('latin1')
  return SCRATCH.toString('latin1', 0, SCRATCH.write(text, 'latin1'))
}

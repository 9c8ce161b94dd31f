/** A thread's view of the quota table: keys, calls of the kernel, locks, and the clock and header of the region. */
import { createHash } from 'node:crypto'
import type { QuotaHealth, QuotaKey } from '../quota.ts'
import {
  BUSY,
  HASHED,
  HEAD_CONSUMERS,
  HEAD_RESERVING,
  HEAD_TOOLS,
  MAX_KEY_BYTES,
  OUT_STUCK,
  SCRATCH_HASH,
  SCRATCH_KEY,
  TABLE_EVICTED,
  TABLE_TURNED_AWAY,
  TABLE_USED,
} from './abi.ts'
import type { QuotaKernel, QuotaRegion } from './kernel.ts'
import {
  HEAD_EPOCH,
  HEAD_REVISION,
  HEAD_SKEW,
  HEAD_UNIX_OFFSET,
  hrtimeMs,
  type RegionPlan,
} from './region.ts'

/** A key with its 128-bit hash, valid in the region with the same seed. Words are signed: V8 stores small signed integers without boxing. */
export class HashedKey implements QuotaKey {
  readonly name: string
  /** Address of the slot used by the last call of this key, 0 = none. The kernel verifies that it still holds the key. */
  at = 0
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number

  constructor(name: string, words: ArrayLike<number>) {
    this.name = name
    this.a = words[0]! | 0
    this.b = words[1]! | 0
    this.c = words[2]! | 0
    this.d = words[3]! | 0
  }
}

export type TableHealth = Omit<QuotaHealth, 'store' | 'waited'>

/** Half of the area: the tool may need the other. */
const MAX_BYTES = MAX_KEY_BYTES / 2

/** Some 0.3 s together: longer than the system usually suspends a running thread, short enough not to block this one. */
const LOCK_SLEEP_MS = 0.1
const LOCK_TRIES = 2_000

const encoder = new TextEncoder()

/** Attaches this thread. @throws RangeError when its number has no scratch area. */
export class QuotaTable {
  readonly kernel: QuotaKernel
  readonly plan: RegionPlan
  /** Results of the last call, by `OUT_…` or `READ_…` / 4. */
  readonly out: Uint32Array
  /** Header of the region, by `HEAD_…` / 4. */
  readonly head: Uint32Array
  readonly #keyBytes: Uint8Array
  readonly #hash: Uint32Array
  readonly #words: Int32Array
  readonly #headMs: Float64Array
  /** From the `performance.now()` of this thread to the milliseconds common to all threads. */
  readonly #offsetMs: number

  constructor(region: QuotaRegion) {
    const { kernel, memory, base, thread, plan } = region
    const scratch = kernel.quotaAttach(base, thread) >>> 0
    if (scratch === 0)
      throw new RangeError(`thread ${thread} has no area in the quota table; number them from 0 to 63`)
    this.kernel = kernel
    this.plan = plan
    this.out = new Uint32Array(memory.buffer, scratch, 32)
    this.head = new Uint32Array(memory.buffer, base, 64)
    this.#keyBytes = new Uint8Array(memory.buffer, scratch + SCRATCH_KEY, MAX_KEY_BYTES)
    this.#hash = new Uint32Array(memory.buffer, scratch + SCRATCH_HASH, 8)
    this.#words = new Int32Array(memory.buffer)
    this.#headMs = new Float64Array(memory.buffer, base, 32)
    this.#offsetMs = calibrate() - this.#headMs[HEAD_EPOCH / 8]!
  }

  /** Milliseconds since `PAST_MS` before the region was created, the same in every thread. */
  nowMs(): number {
    return performance.now() + this.#offsetMs + this.#headMs[HEAD_SKEW / 8]!
  }

  /** Repeats a call while it returns `busy` because a lock is taken, for a limited time. */
  patiently(call: () => number, busy: number): number {
    let status = call()
    for (let tries = 0; status === busy && this.wait(tries); tries++) status = call()
    return status
  }

  /** Releases the locks and the calls in flight of another thread of the region, which has ended. */
  detach(thread: number): void {
    this.kernel.quotaDetach(thread)
  }

  /** Number of the consumer's slot, below 0 when there is none. */
  find(key: string | QuotaKey): number {
    return this.patiently(() => this.kernel.quotaFind(this.writeKey(key)), BUSY)
  }

  /** By how much the clock of all threads has been moved. */
  get skewMs(): number {
    return this.#headMs[HEAD_SKEW / 8]!
  }

  /** From `nowMs()` to Unix ms by the clock of a shared store; 0 = not known. */
  get unixOffsetMs(): number {
    return this.#headMs[HEAD_UNIX_OFFSET / 8]!
  }

  set unixOffsetMs(ms: number) {
    this.#headMs[HEAD_UNIX_OFFSET / 8] = ms
  }

  /** Moves the clock of all threads forward; for tests of windows only. */
  advance(ms: number): void {
    this.#headMs[HEAD_SKEW / 8]! += ms
  }

  /** Number of resets by all threads, as counted by `revise`. */
  get revision(): number {
    return Atomics.load(this.head, HEAD_REVISION / 4)
  }

  revise(): void {
    Atomics.add(this.head, HEAD_REVISION / 4, 1)
  }

  key(name: string): HashedKey {
    this.kernel.quotaHash(this.#writeBytes(name, 0))
    return new HashedKey(name, this.#hash)
  }

  /** Writes a consumer's key for the next call and returns the length to pass. A very long key is replaced by its digest. */
  writeKey(key: string | QuotaKey): number {
    return typeof key === 'string' ? this.#writeBytes(key, 0) : this.#writeHash(key, 0)
  }

  /** As `writeKey`, for `quotaTake`: with the last slot of the key, so that the kernel need not search for it. */
  placeKey(key: string | QuotaKey): number {
    const length = this.writeKey(key)
    return length === HASHED && (key as HashedKey).at > 0 ? -(key as HashedKey).at : length
  }

  /** The parts of the scratch area after the results: hash words and key bytes, for calls with other arguments there. */
  get hashWords(): Uint32Array {
    return this.#hash
  }

  get keyBytes(): Uint8Array {
    return this.#keyBytes
  }

  /** Writes a tool after the key just written and returns the length to pass. */
  writeTool(tool: string | QuotaKey, keyLength: number): number {
    return typeof tool === 'string'
      ? this.#writeBytes(tool, Math.max(keyLength, 0))
      : this.#writeHash(tool, 4)
  }

  /**
   * Called when a lock was taken: sleeps until its holder may have released it. Holders need less than a microsecond, so
   * this happens when the operating system has suspended one.
   * @param tries number of repetitions so far
   * @returns false after the maximum time: the holder's thread has ended
   */
  wait(tries: number): boolean {
    const word = this.out[OUT_STUCK / 4]! / 4
    const holder = Atomics.load(this.#words, word)
    if (holder !== 0) Atomics.wait(this.#words, word, holder, LOCK_SLEEP_MS)
    return tries < LOCK_TRIES
  }

  /** Sets which grants need a reserved unit: `RESERVING_…` flags. */
  reserve(flags: number): void {
    this.head[HEAD_RESERVING / 4] = flags
  }

  health(): TableHealth {
    const word = (table: number, field: number) => Atomics.load(this.head, (table + field) / 4)
    return {
      used: word(HEAD_CONSUMERS, TABLE_USED),
      capacity: this.plan.consumers,
      evicted: word(HEAD_CONSUMERS, TABLE_EVICTED) + word(HEAD_TOOLS, TABLE_EVICTED),
      turnedAway: word(HEAD_CONSUMERS, TABLE_TURNED_AWAY) + word(HEAD_TOOLS, TABLE_TURNED_AWAY),
    }
  }

  #writeBytes(text: string, at: number): number {
    const area = at === 0 ? this.#keyBytes : this.#keyBytes.subarray(at)
    const { read, written } = encoder.encodeInto(text, area)
    if (read === text.length && written <= MAX_BYTES) return written
    return encoder.encodeInto(`sha256:${createHash('sha256').update(text).digest('hex')}`, area).written
  }

  #writeHash(key: QuotaKey, at: number): number {
    if (!(key instanceof HashedKey))
      throw new TypeError('the quota key was prepared by another store; prepare it with key() of this store')
    this.#hash[at] = key.a
    this.#hash[at + 1] = key.b
    this.#hash[at + 2] = key.c
    this.#hash[at + 3] = key.d
    return HASHED
  }
}

/** The maximum of several readings: a pause between reading the two clocks can only reduce the difference. */
function calibrate(): number {
  let offsetMs = Number.NEGATIVE_INFINITY
  for (let i = 0; i < 8; i++) {
    const ms = hrtimeMs()
    offsetMs = Math.max(offsetMs, ms - performance.now())
  }
  return offsetMs
}

/** Sets the rates of token buckets in the shared memory and fills buckets. It takes no tokens: the kernel does (assembly/bucket.ts). */
import { BUCKET_CAPACITY, BUCKET_FULL_AT, BUCKET_INTERVAL, BUCKET_SIZE } from './abi.ts'
import type { BucketRate } from './kernel.ts'
import type { Layout } from './layout.ts'

const NS_PER_MS = 1_000_000
/** Times are nanoseconds since 1970 in an i64: a bucket that takes longer than this to fill could overflow it. */
const MAX_FILL_NS = 2n ** 60n
const MAX_TOKENS = 2 ** 31 - 1

export class Buckets {
  readonly #words: BigInt64Array
  /** Number of slots. */
  readonly count: number

  constructor(memory: WebAssembly.Memory, layout: Layout) {
    this.#words = new BigInt64Array(
      memory.buffer,
      layout.bucketBase,
      (layout.bucketCount * BUCKET_SIZE) / BigInt64Array.BYTES_PER_ELEMENT,
    )
    this.count = layout.bucketCount
  }

  setRate(slot: number, rate: BucketRate): void {
    const word = this.#word(slot)
    for (const [name, value] of Object.entries({ ...rate }))
      if (!Number.isInteger(value) || value < 1 || value > MAX_TOKENS)
        throw new RangeError(`bucket rate: ${name} is ${value}; give an integer from 1 to ${MAX_TOKENS}`)
    // Rounded up: the actual rate never exceeds the configured one, and falls short by less than a nanosecond per token.
    const tokens = BigInt(rate.tokens)
    const interval = (BigInt(rate.periodMs) * BigInt(NS_PER_MS) + tokens - 1n) / tokens
    const capacity = interval * BigInt(rate.burst)
    if (capacity > MAX_FILL_NS)
      throw new RangeError(
        `bucket rate: ${rate.burst} tokens at ${rate.tokens} per ${rate.periodMs} ms need more than 36 years to fill; lower burst or periodMs`,
      )
    // Nothing is admitted between the stores (assembly/bucket.ts reads them in the other order).
    Atomics.store(this.#words, word + BUCKET_CAPACITY / 8, 0n)
    Atomics.store(this.#words, word + BUCKET_INTERVAL / 8, interval)
    Atomics.store(this.#words, word + BUCKET_CAPACITY / 8, capacity)
  }

  fill(slot: number): void {
    Atomics.store(this.#words, this.#word(slot) + BUCKET_FULL_AT / 8, 0n)
  }

  #word(slot: number): number {
    if (!Number.isInteger(slot) || slot < 0 || slot >= this.count)
      throw new RangeError(
        `bucket slot ${slot} does not exist; the kernel has ${this.count} slots (layout option "buckets")`,
      )
    return (slot * BUCKET_SIZE) / 8
  }
}

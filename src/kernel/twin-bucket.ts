/** Taking tokens in plain JavaScript, by the rules of assembly/bucket.ts and on the same memory, so both may run side by side. */
import { BUCKET_CAPACITY, BUCKET_FULL_AT, BUCKET_INTERVAL } from './abi.ts'
import type { Buckets } from './buckets.ts'

const NS_PER_MS = 1_000_000n
const NEVER = -(2 ** 31)
const MOST_MS = 2n ** 31n - 1n

/** @returns as `Kernel.takeTokens`. */
export function takeTokens(buckets: Buckets, slot: number, tokens: number, nowMs: number): number {
  const bucket = buckets.words(slot)
  if (bucket === undefined) return NEVER
  const { words, at } = bucket
  const capacity = Atomics.load(words, at + BUCKET_CAPACITY / 8)
  const interval = Atomics.load(words, at + BUCKET_INTERVAL / 8)
  const cost = interval * BigInt(tokens)
  if (interval === 0n || cost > capacity) return NEVER
  const now = BigInt(Math.trunc(nowMs)) * NS_PER_MS
  while (true) {
    const fullAt = Atomics.load(words, at + BUCKET_FULL_AT / 8)
    const spent = (fullAt > now ? fullAt - now : 0n) + cost
    if (spent > capacity) {
      const waitMs = (spent - capacity + NS_PER_MS - 1n) / NS_PER_MS
      return -Number(waitMs < MOST_MS ? waitMs : MOST_MS)
    }
    const next = now + spent
    if (Atomics.compareExchange(words, at + BUCKET_FULL_AT / 8, fullAt, next) !== fullAt) continue
    const left = (capacity - spent) / interval
    return Number(left < MOST_MS ? left : MOST_MS)
  }
}

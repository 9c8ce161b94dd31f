/** Taking tokens in plain JavaScript, by the rules of assembly/bucket.ts and on the same memory, so both may run side by side. */
import { BUCKET_CAPACITY, BUCKET_FULL_AT, BUCKET_INTERVAL } from './abi.ts'
import type { Buckets } from './buckets.ts'

const NS_PER_MS = 1_000_000n
const MOST = 2n ** 31n - 1n
const NEVER = -Number(MOST)

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
    const next = (fullAt > now ? fullAt : now) + cost
    const short = next - now - capacity
    if (short > 0n) return -clamped((short + NS_PER_MS - 1n) / NS_PER_MS)
    if (Atomics.compareExchange(words, at + BUCKET_FULL_AT / 8, fullAt, next) === fullAt) return 0
  }
}

/** @returns as `Kernel.tokensLeft`. */
export function tokensLeft(buckets: Buckets, slot: number, nowMs: number): number {
  const bucket = buckets.words(slot)
  if (bucket === undefined) return 0
  const { words, at } = bucket
  const interval = Atomics.load(words, at + BUCKET_INTERVAL / 8)
  if (interval === 0n) return 0
  const now = BigInt(Math.trunc(nowMs)) * NS_PER_MS
  const fullAt = Atomics.load(words, at + BUCKET_FULL_AT / 8)
  const held = Atomics.load(words, at + BUCKET_CAPACITY / 8) - (fullAt > now ? fullAt - now : 0n)
  return held > 0n ? clamped(held / interval) : 0
}

function clamped(value: bigint): number {
  return Number(value < MOST ? value : MOST)
}

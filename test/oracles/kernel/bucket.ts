/** Taking and counting tokens in plain JavaScript, by the rules of assembly/bucket.ts and on the same memory, so both may run side by side. */
import {
  BUCKET_CAPACITY,
  BUCKET_FULL_AT,
  BUCKET_INTERVAL,
  BUCKET_SIZE,
} from '../../../src/data-plane/kernel/abi.ts'

const NS_PER_MS = 1_000_000n
const MAX = 2n ** 31n - 1n
const NEVER = -Number(MAX)

/** @returns as `Kernel.takeTokens`. */
export function takeTokens(words: BigInt64Array, slot: number, tokens: number, nowMs: number): number {
  const at = placeOf(words, slot)
  if (at === undefined) return NEVER
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
export function tokensLeft(words: BigInt64Array, slot: number, nowMs: number): number {
  const at = placeOf(words, slot)
  if (at === undefined) return 0
  const interval = Atomics.load(words, at + BUCKET_INTERVAL / 8)
  if (interval === 0n) return 0
  const now = BigInt(Math.trunc(nowMs)) * NS_PER_MS
  const fullAt = Atomics.load(words, at + BUCKET_FULL_AT / 8)
  const held = Atomics.load(words, at + BUCKET_CAPACITY / 8) - (fullAt > now ? fullAt - now : 0n)
  return held > 0n ? clamped(held / interval) : 0
}

/** Index of a slot's first word; undefined when the slot does not exist. */
function placeOf(words: BigInt64Array, slot: number): number | undefined {
  const at = (slot * BUCKET_SIZE) / 8
  return at >= 0 && at < words.length ? at : undefined
}

function clamped(value: bigint): number {
  return Number(value < MAX ? value : MAX)
}

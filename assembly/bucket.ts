/**
 * Token buckets by slot number, exact however many threads take from one. It reads no clock: time is an argument.
 *
 * The generic cell rate algorithm (ITU-T I.371 annex A, "virtual scheduling") is a token bucket in one number: when
 * the bucket would be full again. One number is one compare-and-swap. It is kept in nanoseconds and does not depend on
 * the rate, so a new rate neither refills a bucket nor empties it.
 */
import { BUCKET_CAPACITY, BUCKET_FULL_AT, BUCKET_INTERVAL, BUCKET_SIZE } from './abi'
import { bucketCount, buckets } from './memory'

const NS_PER_MS: i64 = 1_000_000
/** Never: a slot that does not exist, or more tokens than the bucket holds. */
const NEVER: i32 = i32.MIN_VALUE

/**
 * Takes `tokens` from a slot, all or none.
 * @param nowMs Unix milliseconds; fractions are dropped. Going backwards never gives a token twice.
 * @returns whole tokens left; or, below zero, minus the milliseconds (rounded up) until they can be had.
 */
export function takeTokens(slot: u32, tokens: u32, nowMs: f64): i32 {
  if (slot >= bucketCount) return NEVER
  const bucket = buckets + slot * BUCKET_SIZE
  const now = <i64>nowMs * NS_PER_MS
  // In this order: the host writes them the other way round, so a new capacity never meets an old interval.
  const capacity = atomic.load<i64>(bucket, BUCKET_CAPACITY)
  const interval = atomic.load<i64>(bucket, BUCKET_INTERVAL)
  const cost = interval * tokens
  if (cost > capacity || interval == 0) return NEVER
  let fullAt = atomic.load<i64>(bucket, BUCKET_FULL_AT)
  while (true) {
    const spent = max(fullAt, now) + cost - now
    if (spent > capacity) return refusal(spent - capacity)
    const seen = atomic.cmpxchg<i64>(bucket, fullAt, now + spent, BUCKET_FULL_AT)
    if (seen == fullAt) return <i32>((capacity - spent) / interval)
    fullAt = seen
  }
}

/** Minus the milliseconds, rounded up, that `ns` nanoseconds take; saturated. */
function refusal(ns: i64): i32 {
  return -(<i32>min<i64>((ns + NS_PER_MS - 1) / NS_PER_MS, i32.MAX_VALUE))
}

/**
 * Token buckets by slot number: takes tokens and counts those that are left. It reads no clock: time is an argument.
 *
 * The generic cell rate algorithm (ITU-T I.371 annex A, "virtual scheduling") is a token bucket in one number: when
 * the bucket would be full again. One number is one compare-and-swap. It is kept in nanoseconds.
 */
import { BUCKET_CAPACITY, BUCKET_FULL_AT, BUCKET_INTERVAL, BUCKET_SIZE } from './abi'
import { bucketCount, buckets } from './memory'

const NS_PER_MS: i64 = 1_000_000
/** Never: a slot that does not exist or is not configured, or more tokens than the bucket can hold. */
export const NEVER: i64 = i64.MAX_VALUE

/** Takes the tokens, all or none. @returns 0; or the nanoseconds until the bucket holds them; or NEVER. */
export function spend(slot: u32, tokens: u32, nowMs: f64): i64 {
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
    const next = max(fullAt, now) + cost
    const short = next - now - capacity
    if (short > 0) return short
    const seen = atomic.cmpxchg<i64>(bucket, fullAt, next, BUCKET_FULL_AT)
    if (seen == fullAt) return 0
    fullAt = seen
  }
}

/** Milliseconds, rounded up, until the missing tokens have been refilled. */
export function waitMs(short: i64): i32 {
  return short == NEVER ? i32.MAX_VALUE : <i32>min<i64>((short + NS_PER_MS - 1) / NS_PER_MS, i32.MAX_VALUE)
}

/**
 * Takes `tokens` from a slot, all or none.
 * @param nowMs Unix milliseconds; fractions are dropped. Going backwards never gives a token twice.
 * @returns 0; or, below zero, minus the milliseconds until they are available (minus 2³¹−1: never).
 */
export function takeTokens(slot: u32, tokens: u32, nowMs: f64): i32 {
  const short = spend(slot, tokens, nowMs)
  return short == 0 ? 0 : -waitMs(short)
}

/** Whole tokens that a slot holds; 0 for one that does not exist. It takes none. */
export function tokensLeft(slot: u32, nowMs: f64): i32 {
  if (slot >= bucketCount) return 0
  const bucket = buckets + slot * BUCKET_SIZE
  const now = <i64>nowMs * NS_PER_MS
  const capacity = atomic.load<i64>(bucket, BUCKET_CAPACITY)
  const interval = atomic.load<i64>(bucket, BUCKET_INTERVAL)
  if (interval == 0) return 0
  const spent = max(atomic.load<i64>(bucket, BUCKET_FULL_AT) - now, 0)
  return <i32>min<i64>(max<i64>(capacity - spent, 0) / interval, i32.MAX_VALUE)
}

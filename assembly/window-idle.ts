/** Decides whether a slot may be evicted. */
import {
  BUCKET_TOKEN,
  CONSUMER_STRIDE,
  IN_FLIGHT_MASK,
  TABLE_STRIDE,
} from './window-abi'
import { Bucket, Consumer, countOfDay, countOfMonth, inFlightOf } from './window-slot'
import { clockMs } from './window-ring'

/** Longer than the longest rolling window with its sub-window. */
const QUIET_MS: i64 = 61_000

/**
 * True when no count still matters: no call in flight, rolling windows empty, calendar counts of an active limit zero or
 * of another period, the tool's bucket full, no reservation pending.
 */
export function idle(table: usize, slot: usize, nowMs: i64, day: u32, month: u32): bool {
  const consumer = changetype<Consumer>(slot)
  const bucket = changetype<Bucket>(slot)
  if (consumer.reserved != consumer.tokens) return false
  if (load<u32>(table, TABLE_STRIDE) != CONSUMER_STRIDE)
    return (
      bucket.level +
        min<i64>(max<i64>(nowMs - bucket.clock, 0), i32.MAX_VALUE) *
          bucket.rate >=
      <i64>bucket.burst * BUCKET_TOKEN
    )
  if ((atomic.load<u32>(inFlightOf(slot)) & IN_FLIGHT_MASK) != 0) return false
  if (nowMs - clockMs(consumer.clock) < QUIET_MS) return false
  return (
    (consumer.dayLimit == 0 || countOfDay(consumer, day) == 0) &&
    (consumer.monthLimit == 0 || countOfMonth(consumer, month) == 0)
  )
}

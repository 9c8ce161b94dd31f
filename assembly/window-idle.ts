/** Decides whether a slot may be evicted. */
import {
  BUCKET_TOKEN,
  CONSUMER_STRIDE,
  IN_FLIGHT_MASK,
  TABLE_STRIDE,
} from './window-abi'
import { Bucket, Consumer, inFlightOf } from './window-slot'
import { monthOfDay } from './window-calendar'
import { clockMs } from './window-ring'

/** Longer than the longest rolling window with its sub-window. */
const QUIET_MS: i64 = 61_000

function ofDay(consumer: Consumer, day: u32): u32 {
  if (<u32>consumer.day == day) return consumer.dayCount
  return <u32>consumer.otherDay == day ? consumer.otherDayCount : 0
}

function ofMonth(consumer: Consumer, month: u32): u32 {
  if (monthOfDay(consumer.day) == month) return consumer.monthCount
  return monthOfDay(consumer.otherDay) == month ? consumer.otherMonthCount : 0
}

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
    (consumer.dayLimit == 0 || ofDay(consumer, day) == 0) && (consumer.monthLimit == 0 || ofMonth(consumer, month) == 0)
  )
}

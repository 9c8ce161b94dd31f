/** Says whether a slot may be given to somebody else. It changes nothing; the slot is locked by whoever asks. */
import {
  BUCKET_BURST,
  BUCKET_LEVEL,
  BUCKET_RATE,
  BUCKET_TOKEN,
  CONSUMER_STRIDE,
  IN_FLIGHT_MASK,
  SLOT_CLOCK,
  SLOT_DAY,
  SLOT_DAY_COUNT,
  SLOT_DAY_LIMIT,
  SLOT_IN_FLIGHT,
  SLOT_MONTH,
  SLOT_MONTH_COUNT,
  SLOT_MONTH_LIMIT,
  SLOT_RESERVED,
  SLOT_TOKENS,
  TABLE_STRIDE,
} from './window-abi'
import { clockMs } from './window-ring'

/** Longer than the longest rolling window with its sub-window. */
const QUIET_MS: i64 = 61_000

/**
 * Nobody whose counter still matters: no call in flight, rolling windows empty, calendar counts of a limit that is
 * in force zero or of a period that is over, the tool's bucket full again, no reservation under way.
 */
export function idle(table: usize, slot: usize, nowMs: i64, day: u32, month: u32): bool {
  if (load<u32>(slot, SLOT_RESERVED) != load<u32>(slot, SLOT_TOKENS)) return false
  if (load<u32>(table, TABLE_STRIDE) != CONSUMER_STRIDE)
    return (
      load<i64>(slot, BUCKET_LEVEL) +
        min<i64>(max<i64>(nowMs - load<i64>(slot, SLOT_CLOCK), 0), i32.MAX_VALUE) *
          load<u32>(slot, BUCKET_RATE) >=
      <i64>load<u32>(slot, BUCKET_BURST) * BUCKET_TOKEN
    )
  if ((atomic.load<u32>(slot + SLOT_IN_FLIGHT) & IN_FLIGHT_MASK) != 0) return false
  if (nowMs - clockMs(load<i64>(slot, SLOT_CLOCK)) < QUIET_MS) return false
  if (
    load<u32>(slot, SLOT_DAY_LIMIT) != 0 &&
    load<u32>(slot, SLOT_DAY_COUNT) != 0 &&
    <u32>load<u16>(slot, SLOT_DAY) >= day
  )
    return false
  return (
    load<u32>(slot, SLOT_MONTH_LIMIT) == 0 ||
    load<u32>(slot, SLOT_MONTH_COUNT) == 0 ||
    <u32>load<u16>(slot, SLOT_MONTH) < month
  )
}

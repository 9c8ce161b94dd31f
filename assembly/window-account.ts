/** Looks up, reads and resets the counts of a consumer; what an administrator asks, never a call under way. */
import {
  BUSY,
  HEAD_CONSUMERS,
  IN_FLIGHT_MASK,
  OUT_STUCK,
  READ_DAY,
  READ_DAY_COUNT,
  READ_DAY_LIMIT,
  READ_IN_FLIGHT,
  READ_MINUTE,
  READ_MINUTE_QUANTUM,
  READ_MONTH,
  READ_MONTH_COUNT,
  READ_MONTH_LIMIT,
  READ_RESERVED,
  READ_SECOND,
  READ_SECOND_QUANTUM,
  READ_SHARE,
  READ_TOKENS,
  RING_QUANTUM,
  SCRATCH_HASH,
  SCRATCH_KEY,
  SLOT_DAY,
  SLOT_DAY_BEFORE,
  SLOT_DAY_COUNT,
  SLOT_DAY_LIMIT,
  SLOT_IN_FLIGHT,
  SLOT_KEY,
  SLOT_LOCK,
  SLOT_MINUTE,
  SLOT_MONTH,
  SLOT_MONTH_BEFORE,
  SLOT_MONTH_COUNT,
  SLOT_MONTH_LIMIT,
  SLOT_RESERVED,
  SLOT_SECOND,
  SLOT_TOKENS,
  TABLE_STRIDE,
  TABLE_USED,
} from './window-abi'
import { day, month, setCalendar } from './window-calendar'
import { settle } from './window-decide'
import { keyHigh, keyLow, useKey } from './window-key'
import { held } from './window-ring'
import { base, find, holds, lock, scratch, slotAt, stuck, unlock } from './window-table'

/** Tells the host which lock it has to wait for. */
export function busy(): i32 {
  store<u32>(scratch, <u32>stuck, OUT_STUCK)
  return BUSY
}

/** Number of the slot of the key, -1 when it is not known. */
export function quotaFind(keyLength: i32): i32 {
  useKey(base, scratch, keyLength, SCRATCH_KEY, SCRATCH_HASH)
  const table = base + HEAD_CONSUMERS
  const slot = find(table, keyLow, keyHigh)
  return slot == 0 ? -1 : <i32>((slot - slotAt(table, 0)) / load<u32>(table, TABLE_STRIDE))
}

/** Locks a slot by number and brings it to now; 0 when it is nobody's, 1 when its lock is not free. */
export function open(number: u32, monoMs: f64, unixMs: f64): usize {
  const table = base + HEAD_CONSUMERS
  if (number >= load<u32>(table, TABLE_USED)) return 0
  const slot = slotAt(table, number)
  if (!lock(slot + SLOT_LOCK)) return 1
  if (holds(slot, 0, 0)) {
    unlock(slot + SLOT_LOCK)
    return 0
  }
  setCalendar(<i64>unixMs)
  settle(slot, <i64>monoMs)
  return slot
}

/** Copies what a slot counts to READ_…, and its key to SCRATCH_HASH. */
export function describe(slot: usize): void {
  store<u64>(scratch, load<u64>(slot, SLOT_KEY), SCRATCH_HASH)
  store<u64>(scratch, load<u64>(slot, SLOT_KEY + 8), SCRATCH_HASH + 8)
  store<u32>(scratch, load<u16>(slot, SLOT_DAY), READ_DAY)
  store<u32>(scratch, load<u16>(slot, SLOT_MONTH), READ_MONTH)
  store<u32>(scratch, load<u32>(slot, SLOT_DAY_COUNT), READ_DAY_COUNT)
  store<u32>(scratch, load<u32>(slot, SLOT_MONTH_COUNT), READ_MONTH_COUNT)
  store<u32>(scratch, load<u32>(slot, SLOT_DAY_LIMIT), READ_DAY_LIMIT)
  store<u32>(scratch, load<u32>(slot, SLOT_MONTH_LIMIT), READ_MONTH_LIMIT)
  const flight = atomic.load<u32>(slot + SLOT_IN_FLIGHT)
  store<u32>(scratch, flight & IN_FLIGHT_MASK, READ_IN_FLIGHT)
  store<u32>(scratch, flight >>> 16, READ_SHARE)
  store<u32>(scratch, load<u32>(slot, SLOT_RESERVED), READ_RESERVED)
  store<u32>(scratch, load<u32>(slot, SLOT_TOKENS), READ_TOKENS)
  store<u32>(scratch, held(slot + SLOT_SECOND), READ_SECOND)
  store<u32>(scratch, held(slot + SLOT_MINUTE), READ_MINUTE)
  store<u32>(scratch, load<u32>(slot + SLOT_SECOND, RING_QUANTUM), READ_SECOND_QUANTUM)
  store<u32>(scratch, load<u32>(slot + SLOT_MINUTE, RING_QUANTUM), READ_MINUTE_QUANTUM)
}

/** Copies the counts of a slot, by number, to READ_…; 0 when it is nobody's. */
export function quotaRead(number: u32, monoMs: f64, unixMs: f64): i32 {
  const slot = open(number, monoMs, unixMs)
  if (slot <= 1) return slot == 0 ? 0 : busy()
  describe(slot)
  unlock(slot + SLOT_LOCK)
  return 1
}

/**
 * Sets the calendar counts of the key to zero, and its periods to those of `unixMs`, should a wrong clock have put them
 * into the future; 0 when the key is not known.
 */
export function quotaReset(keyLength: i32, unixMs: f64): i32 {
  useKey(base, scratch, keyLength, SCRATCH_KEY, SCRATCH_HASH)
  const slot = find(base + HEAD_CONSUMERS, keyLow, keyHigh)
  if (slot == 0) return 0
  if (!lock(slot + SLOT_LOCK)) return busy()
  const known = holds(slot, keyLow, keyHigh)
  if (known) {
    setCalendar(<i64>unixMs)
    store<u16>(slot, <u16>day, SLOT_DAY)
    store<u16>(slot, <u16>month, SLOT_MONTH)
    store<u32>(slot, 0, SLOT_DAY_COUNT)
    store<u32>(slot, 0, SLOT_MONTH_COUNT)
    store<u32>(slot, 0, SLOT_DAY_BEFORE)
    store<u32>(slot, 0, SLOT_MONTH_BEFORE)
  }
  unlock(slot + SLOT_LOCK)
  return known
}

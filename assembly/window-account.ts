/** Finds, locks, reads and resets slots of the quota table, and reports locks that are not free. It decides no call: window-decide.ts does. */
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
  SCRATCH_HASH,
  SCRATCH_KEY,
  TABLE_STRIDE,
  TABLE_USED,
  UNKNOWN,
} from './window-abi'
import { Consumer, Slot, inFlightOf, lockOf, minuteOf, secondOf } from './window-slot'
import { day, monthOfDay, setCalendar } from './window-calendar'
import { settle } from './window-decide'
import { keyHigh, keyLow, useKey } from './window-key'
import { held } from './window-ring'
import { base, holds, lock, scratch, search, slotAt, stuck, unlock } from './window-table'

/** BUSY, with the address of the lock for which the host has to wait. */
export function busy(): i32 {
  store<u32>(scratch, <u32>stuck, OUT_STUCK)
  return BUSY
}

/** Number of the slot of the key; BUSY, UNKNOWN. */
export function quotaFind(keyLength: i32): i32 {
  useKey(base, scratch, keyLength, SCRATCH_KEY, SCRATCH_HASH)
  const table = base + HEAD_CONSUMERS
  const slot = search(table, keyLow, keyHigh)
  if (slot <= 1) return slot == 0 ? UNKNOWN : busy()
  return <i32>((slot - slotAt(table, 0)) / load<u32>(table, TABLE_STRIDE))
}

/** Locks a slot by number and brings it to now; 0 when it is free, 1 when its lock is taken. */
export function open(number: u32, monoMs: f64, unixMs: f64): usize {
  const table = base + HEAD_CONSUMERS
  if (number >= load<u32>(table, TABLE_USED)) return 0
  const slot = slotAt(table, number)
  if (!lock(lockOf(slot))) return 1
  if (holds(slot, 0, 0)) {
    unlock(lockOf(slot))
    return 0
  }
  setCalendar(<i64>unixMs)
  settle(slot, <i64>monoMs)
  return slot
}

/** Copies the counts of a slot to READ_…, and its key to SCRATCH_HASH. Of a tool bucket only READ_RESERVED and READ_TOKENS are valid. */
export function describe(slot: usize): void {
  const shared = changetype<Slot>(slot)
  const consumer = changetype<Consumer>(slot)
  store<u64>(scratch, shared.keyLow, SCRATCH_HASH)
  store<u64>(scratch, shared.keyHigh, SCRATCH_HASH + 8)
  store<u32>(scratch, consumer.day, READ_DAY)
  store<u32>(scratch, monthOfDay(consumer.day), READ_MONTH)
  store<u32>(scratch, consumer.dayCount, READ_DAY_COUNT)
  store<u32>(scratch, consumer.monthCount, READ_MONTH_COUNT)
  store<u32>(scratch, consumer.dayLimit, READ_DAY_LIMIT)
  store<u32>(scratch, consumer.monthLimit, READ_MONTH_LIMIT)
  const flight = atomic.load<u32>(inFlightOf(slot))
  store<u32>(scratch, flight & IN_FLIGHT_MASK, READ_IN_FLIGHT)
  store<u32>(scratch, flight >>> 16, READ_SHARE)
  store<u32>(scratch, consumer.reserved, READ_RESERVED)
  store<u32>(scratch, consumer.tokens, READ_TOKENS)
  store<u32>(scratch, held(secondOf(slot)), READ_SECOND)
  store<u32>(scratch, held(minuteOf(slot)), READ_MINUTE)
  store<u32>(scratch, secondOf(slot).quantum, READ_SECOND_QUANTUM)
  store<u32>(scratch, minuteOf(slot).quantum, READ_MINUTE_QUANTUM)
}

/** Copies the counts of a slot, by number, to READ_…; 0 when it is free. */
export function quotaRead(number: u32, monoMs: f64, unixMs: f64): i32 {
  const slot = open(number, monoMs, unixMs)
  if (slot <= 1) return slot == 0 ? 0 : busy()
  describe(slot)
  unlock(lockOf(slot))
  return 1
}

/** Sets the calendar counts of the key to zero, on the day of `unixMs`; 0 when the key has no slot. */
export function quotaReset(keyLength: i32, unixMs: f64): i32 {
  useKey(base, scratch, keyLength, SCRATCH_KEY, SCRATCH_HASH)
  const slot = search(base + HEAD_CONSUMERS, keyLow, keyHigh)
  if (slot <= 1) return slot == 0 ? 0 : busy()
  if (!lock(lockOf(slot))) return busy()
  const known = holds(slot, keyLow, keyHigh)
  if (known) {
    const consumer = changetype<Consumer>(slot)
    setCalendar(<i64>unixMs)
    consumer.day = <u16>day
    consumer.dayCount = 0
    consumer.monthCount = 0
    consumer.otherDayCount = 0
    consumer.otherMonthCount = 0
  }
  unlock(lockOf(slot))
  return known
}

/**
 * Reservations that are leased from a store outside the process: one at a time for each slot, whoever of its threads
 * asks. The units lapse by themselves; what lapsed is never spent.
 */
import {
  IN_FLIGHT_MASK,
  KIND_SECOND,
  SLOT_IN_FLIGHT,
  SLOT_LOCK,
  SLOT_MINUTE,
  SLOT_MINUTE_RING,
  SLOT_RESERVED,
  SLOT_SECOND,
  SLOT_SECOND_RING,
  SLOT_TOKENS,
  SLOT_UNTIL,
} from './window-abi'
import { busy, describe, open } from './window-account'
import { setCalendar } from './window-calendar'
import { settle } from './window-decide'
import { MINUTE_STEPS } from './window-ring'
import { seize, writePairs } from './window-reserve'
import { unlock } from './window-table'

/**
 * Begins asking for a lease: drops units that have lapsed and marks the slot (RESERVED is one more than TOKENS until
 * `quotaCredit` takes it back). READ_… says what to report.
 * @returns 1; 0 when another thread is asking; BUSY, UNKNOWN
 */
export function quotaBegin(keyLength: i32, toolLength: i32, monoMs: f64, unixMs: f64): i32 {
  const address = seize(keyLength, toolLength)
  if (address < 0) return address
  const slot = <usize>address
  const free = load<u32>(slot, SLOT_RESERVED) == load<u32>(slot, SLOT_TOKENS)
  if (free) {
    const until = load<u32>(slot, SLOT_UNTIL)
    if (until != 0 && <u32>(<i64>monoMs >> 4) >= until) {
      store<u32>(slot, 0, SLOT_TOKENS)
      store<u32>(slot, 0, SLOT_RESERVED)
    }
    if (toolLength == 0) {
      setCalendar(<i64>unixMs)
      settle(slot, <i64>monoMs)
    }
    store<u32>(slot, load<u32>(slot, SLOT_RESERVED) + 1, SLOT_RESERVED)
    describe(slot)
  }
  unlock(slot + SLOT_LOCK)
  return free ? 1 : 0
}

/**
 * Writes a rolling window of a slot, by number, as pairs (`writePairs`).
 * @param kind KIND_SECOND or KIND_MINUTE
 */
export function quotaPairs(number: u32, kind: i32, monoMs: f64, unixMs: f64): i32 {
  const slot = open(number, monoMs, unixMs)
  if (slot <= 1) return slot == 0 ? 0 : busy()
  if (kind == KIND_SECOND) writePairs(slot, slot + SLOT_SECOND, slot + SLOT_SECOND_RING, 1)
  else writePairs(slot, slot + SLOT_MINUTE, slot + SLOT_MINUTE_RING, MINUTE_STEPS)
  unlock(slot + SLOT_LOCK)
  return 1
}

/** Sets how many calls of a consumer may be in flight here; those that are already stay. */
export function quotaShare(keyLength: i32, share: u32): i32 {
  const address = seize(keyLength, 0)
  if (address < 0) return address
  const slot = <usize>address
  let flight = atomic.load<u32>(slot + SLOT_IN_FLIGHT)
  while (true) {
    const wanted = (min<u32>(share, IN_FLIGHT_MASK) << 16) | (flight & IN_FLIGHT_MASK)
    const seen = atomic.cmpxchg<u32>(slot + SLOT_IN_FLIGHT, flight, wanted)
    if (seen == flight) break
    flight = seen
  }
  unlock(slot + SLOT_LOCK)
  return 1
}

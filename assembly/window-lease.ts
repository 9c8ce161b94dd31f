/**
 * Begins requests for leased units, sets the leased share of calls in flight, and writes rolling windows for reports. It sends nothing: the host
 * exchanges leases and reports with a store outside the process.
 */
import { IN_FLIGHT_MASK, KIND_SECOND } from './window-abi'
import { Slot, inFlightOf, lockOf, minuteCountsOf, minuteOf, secondCountsOf, secondOf } from './window-slot'
import { busy, describe, open } from './window-account'
import { setCalendar } from './window-calendar'
import { settle } from './window-decide'
import { MINUTE_STEPS } from './window-ring'
import { seize, writePairs } from './window-reserve'
import { unlock } from './window-table'

/**
 * Begins a request for a lease: removes expired units and marks the slot (`reserved` is one more than `tokens` until
 * `quotaCredit` ends the request). READ_… contains the report (`describe`).
 * @returns 1; 0 during a request of another thread; BUSY, UNKNOWN
 */
export function quotaBegin(keyLength: i32, toolLength: i32, monoMs: f64, unixMs: f64): i32 {
  const address = seize(keyLength, toolLength)
  if (address < 0) return address
  const slot = <usize>address
  const shared = changetype<Slot>(slot)
  const free = shared.reserved == shared.tokens
  if (free) {
    const until = shared.until
    if (until != 0 && <u32>(<i64>monoMs >> 4) >= until) {
      shared.tokens = 0
      shared.reserved = 0
    }
    if (toolLength == 0) {
      setCalendar(<i64>unixMs)
      settle(slot, <i64>monoMs)
    }
    shared.reserved += 1
    describe(slot)
  }
  unlock(lockOf(slot))
  return free ? 1 : 0
}

/**
 * Writes a rolling window of a slot, by number, as pairs (`writePairs`).
 * @param kind KIND_SECOND or KIND_MINUTE
 */
export function quotaPairs(number: u32, kind: i32, monoMs: f64, unixMs: f64): i32 {
  const slot = open(number, monoMs, unixMs)
  if (slot <= 1) return slot == 0 ? 0 : busy()
  if (kind == KIND_SECOND) writePairs(slot, secondOf(slot), secondCountsOf(slot), 1)
  else writePairs(slot, minuteOf(slot), minuteCountsOf(slot), MINUTE_STEPS)
  unlock(lockOf(slot))
  return 1
}

/** Sets how many calls of a consumer may be in flight here; present ones continue. */
export function quotaShare(keyLength: i32, share: u32): i32 {
  const address = seize(keyLength, 0)
  if (address < 0) return address
  const slot = <usize>address
  let flight = atomic.load<u32>(inFlightOf(slot))
  while (true) {
    const wanted = (min<u32>(share, IN_FLIGHT_MASK) << 16) | (flight & IN_FLIGHT_MASK)
    const seen = atomic.cmpxchg<u32>(inFlightOf(slot), flight, wanted)
    if (seen == flight) break
    flight = seen
  }
  unlock(lockOf(slot))
  return 1
}

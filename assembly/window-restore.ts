/**
 * Restores counts of consumers from journal entries that the host passes, and counts limits as used where counts are not known.
 *
 * During the restore, `reserved` of a slot holds the units that were reserved and not spent at its last entry: those missing in the next entry
 * count as used at the time of that entry, those left by the last one at the time of the restore.
 */
import {
  HEAD_CONSUMERS,
  RING_STEPS,
  SCRATCH_HASH,
  SCRATCH_KEY,
  TABLE_STRIDE,
  TABLE_USED,
} from './window-abi'
import { Consumer, Ring, lockOf, minuteCountsOf, minuteOf, secondCountsOf, secondOf } from './window-slot'
import { setCalendar } from './window-calendar'
import { settle, tick, turn } from './window-decide'
import { seize } from './window-reserve'
import { add, addAt, clockAt, fit, held, minuteStep, misfit, phaseOf, secondStep } from './window-ring'
import { base, find, holds, insert, scratch, slotAt, unlock } from './window-table'

/** Of the units pending at the last entry of a slot, all but `unspent` count as used now. */
function spendPending(slot: usize, unspent: u32): void {
  const consumer = changetype<Consumer>(slot)
  const pending = consumer.reserved
  if (pending <= unspent) return
  count(secondOf(slot), pending - unspent)
  count(minuteOf(slot), pending - unspent)
  consumer.reserved = unspent
}

/** A window that never had a limit has no quantum and counts nothing. */
function count(state: Ring, units: u32): void {
  if (state.quantum != 0) add(state, units)
}

function clear(state: Ring, ring: usize): void {
  state.open = 0
  state.held = 0
  memory.fill(ring, 0, RING_STEPS)
}

/**
 * Applies one entry to the consumer whose hash is at SCRATCH_HASH. No other thread may be attached yet.
 * @param dayCount units counted or reserved when it was written; also `monthCount`
 * @param secondLimit, minuteLimit limits that the rings have to be able to count; 0 = as before
 * @param atMs monotonic time of the entry, above 0
 * @param pending units reserved and not spent when it was written
 * @param pairs -1: the entry adds to those before it, and `fresh` of the pending units were reserved with it. Otherwise it
 *   replaces them: this many pairs (age in ms, units) are at SCRATCH_KEY, and `fresh` units were held in the rolling second, the
 *   newest of them for `newestMs`.
 * @returns number of the slot, -1 when the table is full
 */
export function quotaRestore(
  day: u32,
  month: u32,
  dayCount: u32,
  monthCount: u32,
  dayLimit: u32,
  monthLimit: u32,
  secondLimit: u32,
  minuteLimit: u32,
  atMs: f64,
  pending: u32,
  pairs: i32,
  fresh: u32,
  newestMs: u32,
): i32 {
  const table = base + HEAD_CONSUMERS
  const low = load<u64>(scratch, SCRATCH_HASH)
  const high = load<u64>(scratch, SCRATCH_HASH + 8)
  const at = <i64>atMs
  let slot = find(table, low, high)
  if (slot == 0) slot = insert(table, low, high, at, day, month)
  if (slot <= 1) return -1
  const secondState = secondOf(slot)
  const minuteState = minuteOf(slot)
  const consumer = changetype<Consumer>(slot)
  tick(slot, at)
  spendPending(slot, pairs < 0 ? pending - min(fresh, pending) : 0)
  if (pairs >= 0) {
    clear(secondState, secondCountsOf(slot))
    clear(minuteState, minuteCountsOf(slot))
  }
  const clock = consumer.clock
  if (secondLimit != 0 && misfit(secondState, secondLimit))
    fit(secondState, secondCountsOf(slot), secondStep(clock), secondLimit)
  if (minuteLimit != 0 && misfit(minuteState, minuteLimit))
    fit(minuteState, minuteCountsOf(slot), minuteStep(clock), minuteLimit)
  if (pairs >= 0) {
    if (secondState.quantum != 0) {
      const newest = clockAt(max<i64>(at - newestMs, 1), phaseOf(clock))
      addAt(secondState, secondCountsOf(slot), secondStep(clock), secondStep(newest), fresh)
    }
    const first = scratch + SCRATCH_KEY
    for (let i = 0; i < pairs && minuteState.quantum != 0; i++) {
      const pair = first + (<usize>i << 3)
      const then = clockAt(max<i64>(at - load<u32>(pair), 1), phaseOf(clock))
      addAt(minuteState, minuteCountsOf(slot), minuteStep(clock), minuteStep(then), load<u32>(pair, 4))
    }
  }
  consumer.reserved = pending
  // entries come in order: a later one is right about its day, even with a lower count (a reset)
  if (<u32>consumer.day != day) turn(slot, day)
  consumer.dayCount = dayCount
  consumer.monthCount = monthCount
  consumer.dayLimit = dayLimit
  consumer.monthLimit = monthLimit
  return <i32>((slot - slotAt(table, 0)) / load<u32>(table, TABLE_STRIDE))
}

/**
 * Counts limits of a consumer as used, because its counts are not known; 0 = not that limit. Threads may be attached.
 * @returns 1; BUSY, UNKNOWN
 */
export function quotaAssume(
  keyLength: i32,
  perMinute: u32,
  perDay: u32,
  perMonth: u32,
  monoMs: f64,
  unixMs: f64,
): i32 {
  const address = seize(keyLength, 0)
  if (address < 0) return address
  const slot = <usize>address
  const consumer = changetype<Consumer>(slot)
  setCalendar(<i64>unixMs)
  settle(slot, <i64>monoMs)
  const minute = minuteOf(slot)
  if (perMinute != 0) {
    if (misfit(minute, perMinute)) fit(minute, minuteCountsOf(slot), minuteStep(consumer.clock), perMinute)
    if (held(minute) < perMinute) add(minute, perMinute - held(minute))
  }
  consumer.dayCount = max(consumer.dayCount, perDay)
  consumer.monthCount = max(consumer.monthCount, perMonth)
  unlock(lockOf(slot))
  return 1
}

/** Ends the restore: units pending at the last entry of a slot count as used now. */
export function quotaRestored(monoMs: f64): void {
  const table = base + HEAD_CONSUMERS
  const used = load<u32>(table, TABLE_USED)
  for (let number: u32 = 0; number < used; number++) {
    const slot = slotAt(table, number)
    if (holds(slot, 0, 0) || changetype<Consumer>(slot).reserved == 0) continue
    tick(slot, <i64>monoMs)
    spendPending(slot, 0)
  }
}

/**
 * Puts counts back that were written down, in the order of their ranks, before any call is decided. Whatever is not
 * known exactly is taken for used, and as late as it can have been.
 *
 * While notes are read, RESERVED of a slot holds what was reserved and not spent at the last one: what is gone by the next
 * was used at the latest when that was written, and what the last one leaves at the moment of the restore.
 */
import {
  HEAD_CONSUMERS,
  RING_HELD,
  RING_OPEN,
  RING_QUANTUM,
  RING_STEPS,
  SCRATCH_HASH,
  SCRATCH_KEY,
  SLOT_CLOCK,
  SLOT_DAY,
  SLOT_DAY_BEFORE,
  SLOT_DAY_COUNT,
  SLOT_DAY_LIMIT,
  SLOT_MINUTE,
  SLOT_MINUTE_RING,
  SLOT_MONTH,
  SLOT_MONTH_BEFORE,
  SLOT_MONTH_COUNT,
  SLOT_MONTH_LIMIT,
  SLOT_RESERVED,
  SLOT_SECOND,
  SLOT_SECOND_RING,
  TABLE_STRIDE,
  TABLE_USED,
} from './window-abi'
import { tick } from './window-decide'
import { add, addAt, clockAt, fit, minuteStep, misfit, phaseOf, secondStep } from './window-ring'
import { base, find, holds, insert, scratch, slotAt } from './window-table'

/** Of the units that the last note of a slot left open, all but `unspent` were used at the latest now. */
function spendPending(slot: usize, unspent: u32): void {
  const pending = load<u32>(slot, SLOT_RESERVED)
  if (pending <= unspent) return
  count(slot + SLOT_SECOND, pending - unspent)
  count(slot + SLOT_MINUTE, pending - unspent)
  store<u32>(slot, unspent, SLOT_RESERVED)
}

/** A window that has never had a limit counts nothing. */
function count(state: usize, units: u32): void {
  if (load<u32>(state, RING_QUANTUM) != 0) add(state, units)
}

function clear(state: usize, ring: usize): void {
  store<u32>(state, 0, RING_OPEN)
  store<u32>(state, 0, RING_HELD)
  memory.fill(ring, 0, RING_STEPS)
}

/**
 * Applies one note to the consumer whose hash stands at SCRATCH_HASH. No other thread may be attached yet.
 * @param dayCount units counted or reserved when it was written; so `monthCount`
 * @param secondLimit, minuteLimit what the rings have to be able to count; 0 = as before
 * @param atMs monotonic time of the note, above 0
 * @param pending units reserved and not spent when it was written
 * @param pairs -1: the note adds to those before it, and `fresh` of the pending units were reserved with it. Else it
 *   replaces them: so many pairs (age in ms, units) stand at SCRATCH_KEY, and `fresh` units were held in the rolling second.
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
): i32 {
  const table = base + HEAD_CONSUMERS
  const low = load<u64>(scratch, SCRATCH_HASH)
  const high = load<u64>(scratch, SCRATCH_HASH + 8)
  const at = <i64>atMs
  let slot = find(table, low, high)
  if (slot == 0) slot = insert(table, low, high, at, day, month)
  if (slot <= 1) return -1
  const secondState = slot + SLOT_SECOND
  const minuteState = slot + SLOT_MINUTE
  tick(slot, at)
  spendPending(slot, pairs < 0 ? pending - min(fresh, pending) : 0)
  if (pairs >= 0) {
    clear(secondState, slot + SLOT_SECOND_RING)
    clear(minuteState, slot + SLOT_MINUTE_RING)
  }
  const clock = load<i64>(slot, SLOT_CLOCK)
  if (secondLimit != 0 && misfit(secondState, secondLimit))
    fit(secondState, slot + SLOT_SECOND_RING, secondStep(clock), secondLimit)
  if (minuteLimit != 0 && misfit(minuteState, minuteLimit))
    fit(minuteState, slot + SLOT_MINUTE_RING, minuteStep(clock), minuteLimit)
  if (pairs >= 0) {
    count(secondState, fresh)
    const first = scratch + SCRATCH_KEY
    for (let i = 0; i < pairs && load<u32>(minuteState, RING_QUANTUM) != 0; i++) {
      const pair = first + (<usize>i << 3)
      const then = clockAt(max<i64>(at - load<u32>(pair), 1), phaseOf(clock))
      addAt(minuteState, slot + SLOT_MINUTE_RING, minuteStep(clock), minuteStep(then), load<u32>(pair, 4))
    }
  }
  store<u32>(slot, pending, SLOT_RESERVED)
  turn(slot, day, SLOT_DAY, SLOT_DAY_COUNT, SLOT_DAY_BEFORE, dayCount)
  turn(slot, month, SLOT_MONTH, SLOT_MONTH_COUNT, SLOT_MONTH_BEFORE, monthCount)
  store<u32>(slot, dayLimit, SLOT_DAY_LIMIT)
  store<u32>(slot, monthLimit, SLOT_MONTH_LIMIT)
  return <i32>((slot - slotAt(table, 0)) / load<u32>(table, TABLE_STRIDE))
}

/** Notes come in order: a later one is right about its period, also when it says less (a reset). */
function turn(slot: usize, period: u32, periodAt: usize, countAt: usize, beforeAt: usize, units: u32): void {
  const newest = <u32>load<u16>(slot + periodAt)
  if (period > newest) store<u32>(slot + beforeAt, period == newest + 1 ? load<u32>(slot + countAt) : 0)
  store<u16>(slot + periodAt, <u16>period)
  store<u32>(slot + countAt, units)
}

/** Ends the restore: what the last note of each slot reserved was used at the latest now. */
export function quotaRestored(monoMs: f64): void {
  const table = base + HEAD_CONSUMERS
  const used = load<u32>(table, TABLE_USED)
  for (let number: u32 = 0; number < used; number++) {
    const slot = slotAt(table, number)
    if (holds(slot, 0, 0) || load<u32>(slot, SLOT_RESERVED) == 0) continue
    tick(slot, <i64>monoMs)
    spendPending(slot, 0)
  }
}

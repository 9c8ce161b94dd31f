/**
 * Reserves, credits and removes units of a slot, locks it by its key, and writes its counts for journals and reports. It decides no call: `decide`
 * spends the units.
 *
 * With a journal, `reserved` of a slot is what its reader must treat as used although it is not counted yet. The host raises it
 * (`quotaReserve`), writes the sum to the journal, and then makes the units spendable (`quotaCredit`).
 */
import {
  HEAD_CONSUMERS,
  HEAD_SEQUENCE,
  HEAD_TOOLS,
  READ_PAIRS,
  READ_SECOND_AGE,
  READ_SEQUENCE,
  RING_STEPS,
  SCRATCH_HASH,
  SCRATCH_KEY,
  UNKNOWN,
} from './window-abi'
import { Consumer, Ring, Slot, lockOf, minuteCountsOf, minuteOf, secondCountsOf, secondOf } from './window-slot'
import { busy, describe, open } from './window-account'
import { setCalendar } from './window-calendar'
import { settle, unreserved } from './window-decide'
import { keyHigh, keyLow, ofTool, useKey } from './window-key'
import { agoMs, MINUTE_STEPS, minuteStep, secondStep } from './window-ring'
import { base, holds, lock, scratch, search, unlock } from './window-table'

/** Locks the slot of the consumer, or of its tool's bucket when `toolLength` is not 0; BUSY or UNKNOWN below zero. */
export function seize(keyLength: i32, toolLength: i32): i32 {
  let low: u64 = 0
  let high: u64 = 0
  let table = base + HEAD_CONSUMERS
  if (toolLength != 0) {
    useKey(base, scratch, toolLength, SCRATCH_KEY + max(keyLength, 0), SCRATCH_HASH + 16)
    low = keyLow
    high = keyHigh
    table = base + HEAD_TOOLS
  }
  useKey(base, scratch, keyLength, SCRATCH_KEY, SCRATCH_HASH)
  low = toolLength == 0 ? keyLow : ofTool(low, keyLow)
  high = toolLength == 0 ? keyHigh : ofTool(high, keyHigh)
  const slot = search(table, low, high)
  if (slot <= 1) return slot == 0 ? UNKNOWN : busy()
  if (!lock(lockOf(slot))) return busy()
  if (holds(slot, low, high)) return <i32>slot
  unlock(lockOf(slot))
  return UNKNOWN
}

function rank(): void {
  store<u64>(scratch, atomic.add<u64>(base, 1, HEAD_SEQUENCE) + 1, READ_SEQUENCE)
}

/**
 * Raises `reserved`, unless another thread has just made units spendable. READ_… contains the entry for the journal (consumers only).
 * @param more not 0: even when there are units to spend
 * @returns 1; 0 when there are units to spend already; BUSY, UNKNOWN
 */
export function quotaReserve(
  keyLength: i32,
  toolLength: i32,
  units: u32,
  more: i32,
  monoMs: f64,
  unixMs: f64,
): i32 {
  const slot = seize(keyLength, toolLength)
  if (slot < 0) return slot
  const address = <usize>slot
  const shared = changetype<Slot>(address)
  if (toolLength == 0) {
    setCalendar(<i64>unixMs)
    settle(address, <i64>monoMs)
  }
  const needed = more != 0 || unreserved(address, <i64>monoMs)
  if (needed) {
    shared.reserved += units
    if (toolLength == 0) {
      describe(address)
      rank()
    }
  }
  unlock(lockOf(address))
  return needed ? 1 : 0
}

/**
 * Ends a reservation of `reserved` units of which `units` may be spent: until `untilMs` (0: without end, below 0: as long
 * as the units before), and, for a consumer, on the day for which they were reserved.
 * @returns 1; BUSY, UNKNOWN
 */
export function quotaCredit(
  keyLength: i32,
  toolLength: i32,
  reserved: u32,
  units: u32,
  ofDay: u32,
  untilMs: f64,
): i32 {
  const slot = seize(keyLength, toolLength)
  if (slot < 0) return slot
  const address = <usize>slot
  const shared = changetype<Slot>(address)
  const kept = toolLength != 0 || <u32>changetype<Consumer>(address).day == ofDay ? units : 0
  shared.reserved = shared.reserved - reserved + kept
  shared.tokens += kept
  if (untilMs >= 0) shared.until = <u32>(<i64>untilMs >> 4)
  unlock(lockOf(address))
  return 1
}

/** Removes the unspent units. @returns their number; BUSY, UNKNOWN */
export function quotaSurrender(keyLength: i32, toolLength: i32): i32 {
  const slot = seize(keyLength, toolLength)
  if (slot < 0) return slot
  const address = <usize>slot
  const shared = changetype<Slot>(address)
  const units = shared.tokens
  shared.reserved -= units
  shared.tokens = 0
  unlock(lockOf(address))
  return units
}

/**
 * Writes the units of a rolling window to SCRATCH_KEY, as pairs (age in ms, units), oldest first. The ages are those of
 * the ends of the sub-windows, so no unit appears older than it is.
 * @param steps sub-windows of the second in one of this window's
 */
export function writePairs(slot: usize, state: Ring, ring: usize, steps: i64): void {
  const clock = changetype<Slot>(slot).clock
  const step = steps == 1 ? secondStep(clock) : minuteStep(clock)
  const quantum = state.quantum
  let pair = scratch + SCRATCH_KEY
  let pairs: u32 = 0
  for (let i: i64 = 0; i < RING_STEPS; i++) {
    const units = <u32>load<u8>(ring + <usize>((step + i) % RING_STEPS)) * quantum
    if (units == 0) continue
    store<u32>(pair, <u32>agoMs(clock, (step - RING_STEPS + i + 1) * steps))
    store<u32>(pair, units, 4)
    pair += 8
    pairs++
  }
  const now = state.open
  if (now != 0) {
    store<u32>(pair, 0)
    store<u32>(pair, now, 4)
    pairs++
  }
  store<u32>(scratch, pairs, READ_PAIRS)
}

/** Age in ms, rounded down, of the newest unit that the rolling second holds; 0 when it holds none. */
function newestMs(slot: usize): u32 {
  if (secondOf(slot).open != 0) return 0
  const clock = changetype<Slot>(slot).clock
  const step = secondStep(clock)
  for (let i: i64 = RING_STEPS - 1; i >= 0; i--)
    if (load<u8>(secondCountsOf(slot) + <usize>((step + i) % RING_STEPS)) != 0)
      return <u32>agoMs(clock, step - RING_STEPS + i + 1)
  return 0
}

/**
 * As `quotaRead`, for the journal: with the rank of the reading, the age of the newest unit of the rolling second, and the rolling minute as
 * pairs (`writePairs`).
 * @param surrender not 0: unspent units are removed first
 */
export function quotaExport(number: u32, monoMs: f64, unixMs: f64, surrender: i32): i32 {
  const slot = open(number, monoMs, unixMs)
  if (slot <= 1) return slot == 0 ? 0 : busy()
  if (surrender != 0) {
    const shared = changetype<Slot>(slot)
    shared.reserved -= shared.tokens
    shared.tokens = 0
  }
  describe(slot)
  rank()
  store<u32>(scratch, newestMs(slot), READ_SECOND_AGE)
  writePairs(slot, minuteOf(slot), minuteCountsOf(slot), MINUTE_STEPS)
  unlock(lockOf(slot))
  return 1
}

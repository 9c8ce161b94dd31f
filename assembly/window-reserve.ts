/**
 * Units that are reserved before they are granted, for a host that writes them down or leases them first. It decides
 * nothing: `decide` spends what is reserved here, one at a time.
 *
 * RESERVED is everything that a reader of the notes must take for used although it is not counted yet. A host raises it
 * (`quotaReserve`), writes the sum down, and only then makes the units spendable (`quotaCredit`).
 */
import {
  BUSY,
  HEAD_CONSUMERS,
  HEAD_SEQUENCE,
  HEAD_TOOLS,
  READ_PAIRS,
  READ_SEQUENCE,
  RING_OPEN,
  RING_QUANTUM,
  RING_STEPS,
  SCRATCH_HASH,
  SCRATCH_KEY,
  SLOT_CLOCK,
  SLOT_DAY,
  SLOT_LOCK,
  SLOT_MINUTE,
  SLOT_MINUTE_RING,
  SLOT_RESERVED,
  SLOT_TOKENS,
  SLOT_UNTIL,
} from './window-abi'
import { busy, describe, open } from './window-account'
import { setCalendar } from './window-calendar'
import { settle, unreserved } from './window-decide'
import { keyHigh, keyLow, ofTool, useKey } from './window-key'
import { agoMs, MINUTE_STEPS, minuteStep, secondStep } from './window-ring'
import { base, find, holds, lock, scratch, unlock } from './window-table'

/** What these calls return when there is no slot of the key (any more). */
export const UNKNOWN: i32 = -2

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
  const slot = find(table, low, high)
  if (slot == 0) return UNKNOWN
  if (!lock(slot + SLOT_LOCK)) return busy()
  if (holds(slot, low, high)) return <i32>slot
  unlock(slot + SLOT_LOCK)
  return UNKNOWN
}

function rank(): void {
  store<u64>(scratch, atomic.add<u64>(base, 1, HEAD_SEQUENCE) + 1, READ_SEQUENCE)
}

/**
 * Raises what is reserved, unless somebody has just done so. READ_… says what to write down (consumers only).
 * @param more not 0: also when there are units to spend
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
  if (toolLength == 0) {
    setCalendar(<i64>unixMs)
    settle(address, <i64>monoMs)
  }
  const needed = more != 0 || unreserved(address, <i64>monoMs)
  if (needed) {
    store<u32>(address, load<u32>(address, SLOT_RESERVED) + units, SLOT_RESERVED)
    if (toolLength == 0) {
      describe(address)
      rank()
    }
  }
  unlock(address + SLOT_LOCK)
  return needed ? 1 : 0
}

/**
 * Ends a reservation of `reserved` units of which `units` may be spent: until `untilMs` (0: without end, below: as long
 * as those before), and, for a consumer, on the day they were written down for.
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
  const kept = toolLength != 0 || <u32>load<u16>(address, SLOT_DAY) == ofDay ? units : 0
  store<u32>(address, load<u32>(address, SLOT_RESERVED) - reserved + kept, SLOT_RESERVED)
  store<u32>(address, load<u32>(address, SLOT_TOKENS) + kept, SLOT_TOKENS)
  if (untilMs >= 0) store<u32>(address, <u32>(<i64>untilMs >> 4), SLOT_UNTIL)
  unlock(address + SLOT_LOCK)
  return 1
}

/** Takes back what is not spent. @returns how many units that were; BUSY, UNKNOWN */
export function quotaSurrender(keyLength: i32, toolLength: i32): i32 {
  const slot = seize(keyLength, toolLength)
  if (slot < 0) return slot
  const address = <usize>slot
  const units = load<u32>(address, SLOT_TOKENS)
  store<u32>(address, load<u32>(address, SLOT_RESERVED) - units, SLOT_RESERVED)
  store<u32>(address, 0, SLOT_TOKENS)
  unlock(address + SLOT_LOCK)
  return units
}

/**
 * Writes what a rolling window holds to SCRATCH_KEY, as pairs (age in ms, units), oldest first. The ages are those of the
 * ends of the sub-windows, so no unit looks older than it is.
 * @param steps sub-windows of the second in one of this window's
 */
export function writePairs(slot: usize, state: usize, ring: usize, steps: i64): void {
  const clock = load<i64>(slot, SLOT_CLOCK)
  const step = steps == 1 ? secondStep(clock) : minuteStep(clock)
  const quantum = load<u32>(state, RING_QUANTUM)
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
  const now = load<u32>(state, RING_OPEN)
  if (now != 0) {
    store<u32>(pair, 0)
    store<u32>(pair, now, 4)
    pairs++
  }
  store<u32>(scratch, pairs, READ_PAIRS)
}

/**
 * `quotaRead` for writing down: with the rank of the reading, and the rolling minute as pairs (`writePairs`).
 * @param surrender not 0: unspent units are taken back first
 */
export function quotaExport(number: u32, monoMs: f64, unixMs: f64, surrender: i32): i32 {
  const slot = open(number, monoMs, unixMs)
  if (slot <= 1) return slot == 0 ? 0 : BUSY
  if (surrender != 0) {
    store<u32>(slot, load<u32>(slot, SLOT_RESERVED) - load<u32>(slot, SLOT_TOKENS), SLOT_RESERVED)
    store<u32>(slot, 0, SLOT_TOKENS)
  }
  describe(slot)
  rank()
  writePairs(slot, slot + SLOT_MINUTE, slot + SLOT_MINUTE_RING, MINUTE_STEPS)
  unlock(slot + SLOT_LOCK)
  return 1
}

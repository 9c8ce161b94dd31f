/** Binds a thread to the region, counts its calls in flight, and releases what a thread that has ended held: calls in flight, and locks. */
import {
  HEAD_CONSUMERS,
  HEAD_FLIGHTS,
  HEAD_SCRATCH,
  HEAD_TOOLS,
  IN_FLIGHT_MASK,
  SCRATCH_COUNT,
  SCRATCH_SIZE,
  TABLE_CAPACITY,
  TABLE_LOCK,
  TABLE_USED,
} from './window-abi'
import { inFlightOf, lockOf } from './window-slot'
import { attach, base, reindex, slotAt, unlock } from './window-table'

/** Calls in flight of this thread; 0 for the first one, which ends with its process. */
let flights: usize = 0
let firstSlot: usize = 0

/**
 * Binds this instance to a region that the host has laid out.
 * @param thread a number that no other thread has meanwhile; 0 for the first one
 * @returns the address of its scratch area, 0 when the number is SCRATCH_COUNT or more
 */
export function quotaAttach(region: usize, thread: u32): usize {
  if (thread >= <u32>SCRATCH_COUNT) return 0
  const scratch = scratchOf(region, thread)
  attach(region, scratch)
  flights = thread == 0 ? 0 : flightsOf(thread)
  firstSlot = slotAt(base + HEAD_CONSUMERS, 0)
  return scratch
}

/**
 * Releases what a thread held that has ended, wherever it was: its locks, and its calls in flight. The index of a table that it was changing is built
 * again. A slot that it was changing keeps what was written: of this one call, some windows may have counted a unit and others not.
 */
export function quotaDetach(thread: u32): void {
  const holder = <u32>scratchOf(base, thread)
  releaseLocks(base + HEAD_CONSUMERS, holder)
  releaseLocks(base + HEAD_TOOLS, holder)
  const counts = flightsOf(thread)
  const used = load<u32>(base + HEAD_CONSUMERS, TABLE_USED)
  for (let number: u32 = 0; number < used; number++) {
    const at = counts + (<usize>number << 1)
    const count = load<u16>(at)
    if (count == 0) continue
    store<u16>(at, 0)
    subtractInFlight(slotAt(base + HEAD_CONSUMERS, number), count)
  }
}

/** Counts a granted call as in flight. */
// @ts-ignore: decorator
@inline
export function addInFlight(slot: usize): void {
  atomic.add<u32>(inFlightOf(slot), 1)
  countOwn(slot, 1)
}

/** Ends a granted call, which no longer counts as in flight; `slot` is its OUT_SLOT. A slot with a call in flight is never evicted. */
export function quotaRelease(slot: usize): void {
  if (subtractInFlight(slot, 1)) countOwn(slot, -1)
}

// @ts-ignore: decorator
@inline
function countOwn(slot: usize, calls: i32): void {
  if (flights == 0) return
  // two bytes for each 256 of a slot
  const at = flights + ((slot - firstSlot) >> 7)
  store<u16>(at, <u16>(<i32>load<u16>(at) + calls))
}

/** @returns false when none was in flight */
function subtractInFlight(slot: usize, calls: u32): bool {
  let inFlight = atomic.load<u32>(inFlightOf(slot))
  while ((inFlight & IN_FLIGHT_MASK) != 0) {
    const seen = atomic.cmpxchg<u32>(inFlightOf(slot), inFlight, inFlight - min(calls, inFlight & IN_FLIGHT_MASK))
    if (seen == inFlight) return true
    inFlight = seen
  }
  return false
}

function releaseLocks(table: usize, holder: u32): void {
  if (atomic.load<u32>(table + TABLE_LOCK) == holder) {
    reindex(table)
    unlock(table + TABLE_LOCK)
  }
  const used = load<u32>(table, TABLE_USED)
  for (let number: u32 = 0; number < used; number++) atomic.cmpxchg<u32>(lockOf(slotAt(table, number)), holder, 0)
}

function scratchOf(region: usize, thread: u32): usize {
  return region + HEAD_SCRATCH + thread * SCRATCH_SIZE
}

function flightsOf(thread: u32): usize {
  const each = load<u32>(base + HEAD_CONSUMERS, TABLE_CAPACITY) << 1
  return base + load<u32>(base, HEAD_FLIGHTS) + (thread - 1) * each
}

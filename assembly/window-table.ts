/**
 * The open-addressing table that both kinds of slots live in, shared by all threads: find, insert, evict, lock.
 * It does not know what a slot counts; who may be evicted is told by `idle` in window.ts.
 *
 * Readers take no lock: they walk the index, lock the slot they believe in and look at its key again. An insert or
 * an eviction holds the table's lock. A reader that runs into a shift of the index can only miss, and a miss is
 * looked up again under the lock.
 */
import {
  SLOT_KEY,
  SLOT_LOCK,
  TABLE_CAPACITY,
  TABLE_EVICTED,
  TABLE_HAND,
  TABLE_INDEX,
  TABLE_LOCK,
  TABLE_MASK,
  TABLE_SLOTS,
  TABLE_STRIDE,
  TABLE_TURNED_AWAY,
  TABLE_USED,
} from './window-abi'
import { idle } from './window-idle'

/** Base of QUOTA and of this thread's scratch area; set once by `quotaAttach`. */
export let base: usize = 0
export let scratch: usize = 0

export function attach(region: usize, own: usize): void {
  base = region
  scratch = own
}

/** An index entry is 11 bits of the key's high half and 21 bits of slot number + 1. */
const SLOT_BITS: u32 = 21
const SLOT_MASK: u32 = (1 << 21) - 1
/** Slots looked at for one idle one; the hand goes on where it stopped. */
const EVICT_LOOKS: u32 = 1024
/** Tries before the host is asked to sleep: longer than any holder works, shorter than it may be kept from working. */
const LOCK_SPINS: i32 = 512

/** The lock that was not free in the end; the host waits for it to change and calls again. */
export let stuck: usize = 0

/**
 * False when the holder does not let go soon; nothing is held then. The kernel never sleeps by itself:
 * V8's baseline compiler overwrites 64-bit locals around `memory.atomic.wait32` (seen in Node 20).
 */
// @ts-ignore: decorator
@inline
export function lock(word: usize): bool {
  return atomic.cmpxchg<u32>(word, 0, <u32>scratch) == 0 || lockSlow(word)
}

function lockSlow(word: usize): bool {
  for (let i = 0; i < LOCK_SPINS; i++) {
    if (atomic.load<u32>(word) == 0 && atomic.cmpxchg<u32>(word, 0, <u32>scratch) == 0) return true
  }
  stuck = word
  return false
}

// @ts-ignore: decorator
@inline
export function unlock(word: usize): void {
  atomic.store<u32>(word, 0)
}

// @ts-ignore: decorator
@inline
export function slotAt(table: usize, slot: u32): usize {
  return base + load<u32>(table, TABLE_SLOTS) + <usize>slot * load<u32>(table, TABLE_STRIDE)
}

/** Whether an address that somebody remembers is that of a slot in use; whose it is by now, its key says. */
// @ts-ignore: decorator
@inline
export function isSlot(table: usize, address: usize): bool {
  const offset = <u32>(address - slotAt(table, 0))
  const stride = load<u32>(table, TABLE_STRIDE)
  return (offset & (stride - 1)) == 0 && offset < load<u32>(table, TABLE_USED) * stride
}

// @ts-ignore: decorator
@inline
function entryOf(slot: u32, high: u64): u32 {
  return (<u32>(high >> 53) << SLOT_BITS) | (slot + 1)
}

// @ts-ignore: decorator
@inline
export function holds(slot: usize, low: u64, high: u64): bool {
  return load<u64>(slot, SLOT_KEY) == low && load<u64>(slot, SLOT_KEY + 8) == high
}

/** Address of the slot that holds the key, 0 when there is none. */
export function find(table: usize, low: u64, high: u64): usize {
  const index = base + load<u32>(table, TABLE_INDEX)
  const mask = load<u32>(table, TABLE_MASK)
  const tag = <u32>(high >> 53)
  let at = <u32>low & mask
  for (let looked: u32 = 0; looked <= mask; looked++) {
    const entry = atomic.load<u32>(index + (<usize>at << 2))
    if (entry == 0) return 0
    if (entry >>> SLOT_BITS == tag) {
      const slot = slotAt(table, (entry & SLOT_MASK) - 1)
      if (holds(slot, low, high)) return slot
    }
    at = (at + 1) & mask
  }
  return 0
}

/** 1 after an `insert` that made the slot. */
export let inserted: u32 = 0

/**
 * Address of the key's slot, made when there is none; 0 when the table is full of slots in use, 1 when its lock is not free.
 * `nowMs` and `day`, `month` decide who is idle.
 */
export function insert(table: usize, low: u64, high: u64, nowMs: i64, day: u32, month: u32): usize {
  inserted = 0
  if (!lock(table + TABLE_LOCK)) return 1
  let slot = find(table, low, high)
  if (slot == 0) {
    slot = vacate(table, nowMs, day, month)
    if (slot == 0) {
      atomic.add<u32>(table + TABLE_TURNED_AWAY, 1)
    } else {
      store<u64>(slot, low, SLOT_KEY)
      store<u64>(slot, high, SLOT_KEY + 8)
      link(table, slot, low, high)
      inserted = 1
    }
  }
  unlock(table + TABLE_LOCK)
  return slot
}

/** A slot of nobody, all zero: a new one, or one whose consumer is idle. The table's lock is held. */
function vacate(table: usize, nowMs: i64, day: u32, month: u32): usize {
  const used = load<u32>(table, TABLE_USED)
  const capacity = load<u32>(table, TABLE_CAPACITY)
  if (used < capacity) {
    store<u32>(table, used + 1, TABLE_USED)
    return slotAt(table, used)
  }
  let hand = load<u32>(table, TABLE_HAND)
  let found: usize = 0
  for (let looks = min(EVICT_LOOKS, capacity); looks > 0 && found == 0; looks--) {
    const slot = slotAt(table, hand)
    // Whoever holds the slot uses it; waiting for the answer would hold up every newcomer.
    if (atomic.cmpxchg<u32>(slot + SLOT_LOCK, 0, <u32>scratch) == 0) {
      if (idle(table, slot, nowMs, day, month)) {
        unlink(table, hand, load<u64>(slot, SLOT_KEY))
        memory.fill(slot, 0, SLOT_LOCK)
        memory.fill(slot + SLOT_LOCK + 4, 0, load<u32>(table, TABLE_STRIDE) - SLOT_LOCK - 4)
        atomic.add<u32>(table + TABLE_EVICTED, 1)
        found = slot
      }
      unlock(slot + SLOT_LOCK)
    }
    hand = hand + 1 == capacity ? 0 : hand + 1
  }
  store<u32>(table, hand, TABLE_HAND)
  return found
}

function link(table: usize, slot: usize, low: u64, high: u64): void {
  const index = base + load<u32>(table, TABLE_INDEX)
  const mask = load<u32>(table, TABLE_MASK)
  const number = <u32>((slot - slotAt(table, 0)) / load<u32>(table, TABLE_STRIDE))
  let at = <u32>low & mask
  while (load<u32>(index + (<usize>at << 2)) != 0) at = (at + 1) & mask
  atomic.store<u32>(index + (<usize>at << 2), entryOf(number, high))
}

/** Takes the entry out and moves those behind it up, so that no tombstones gather (Knuth, TAOCP 3, 6.4, algorithm R). */
function unlink(table: usize, number: u32, low: u64): void {
  const index = base + load<u32>(table, TABLE_INDEX)
  const mask = load<u32>(table, TABLE_MASK)
  let hole = <u32>low & mask
  while ((load<u32>(index + (<usize>hole << 2)) & SLOT_MASK) != number + 1) hole = (hole + 1) & mask
  let at = hole
  while (true) {
    at = (at + 1) & mask
    const entry = load<u32>(index + (<usize>at << 2))
    if (entry == 0) break
    const home = <u32>load<u64>(slotAt(table, (entry & SLOT_MASK) - 1), SLOT_KEY) & mask
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      atomic.store<u32>(index + (<usize>hole << 2), entry)
      hole = at
    }
  }
  atomic.store<u32>(index + (<usize>hole << 2), 0)
}

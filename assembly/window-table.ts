/**
 * The open-addressing tables of slots: find, insert, evict and lock; also the addresses of the region and of this thread's scratch area.
 * `idle` (window-idle.ts) decides which slot may be evicted.
 *
 * `find` searches the index without a lock. An insert or an eviction holds the table's lock. A search concurrent with a shift of the index can only
 * miss a key; after a miss, `insert` and `search` repeat it under the lock.
 */
import {
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
import { Slot, lockOf } from './window-slot'
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
/** Slots examined to find an idle one; the next search continues after them. */
const EVICT_LOOKS: u32 = 1024
/** Attempts before the host has to sleep: longer than a holder needs, shorter than it may be suspended. */
const LOCK_SPINS: i32 = 512

/** The lock that stayed taken; the host waits for it to change and calls again. */
export let stuck: usize = 0

/**
 * False when the lock is not released soon; it is not taken then. The kernel itself never sleeps:
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

/** Whether an address cached by the host is that of a used slot; the key must be compared, because the slot may have been evicted. */
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
  return changetype<Slot>(slot).keyLow == low && changetype<Slot>(slot).keyHigh == high
}

/** Address of the slot that holds the key; 0 when there is none, or when an eviction moved the index meanwhile. */
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

/** As `find`, but 0 only when there is none; 1 when the table's lock is taken. No slot may be locked by the caller. */
export function search(table: usize, low: u64, high: u64): usize {
  const slot = find(table, low, high)
  if (slot != 0) return slot
  if (!lock(table + TABLE_LOCK)) return 1
  const again = find(table, low, high)
  unlock(table + TABLE_LOCK)
  return again
}

/** 1 after an `insert` that created the slot. */
export let inserted: u32 = 0

/**
 * Address of the key's slot, created when there is none; 0 when no slot is free or idle, 1 when the table's lock is
 * taken. `nowMs`, `day` and `month` decide which slots are idle.
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
      changetype<Slot>(slot).keyLow = low
      changetype<Slot>(slot).keyHigh = high
      link(table, slot, low, high)
      inserted = 1
    }
  }
  unlock(table + TABLE_LOCK)
  return slot
}

/** A zeroed slot: a new one, or an idle one that it evicts. The table's lock is held. */
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
    // A locked slot is in use; waiting for it would delay every insert.
    if (atomic.cmpxchg<u32>(lockOf(slot), 0, <u32>scratch) == 0) {
      if (idle(table, slot, nowMs, day, month)) {
        unlink(table, hand, changetype<Slot>(slot).keyLow)
        // all but the lock
        const end = slot + load<u32>(table, TABLE_STRIDE)
        memory.fill(slot, 0, offsetof<Slot>('lock'))
        memory.fill(lockOf(slot) + 4, 0, end - lockOf(slot) - 4)
        atomic.add<u32>(table + TABLE_EVICTED, 1)
        found = slot
      }
      unlock(lockOf(slot))
    }
    hand = hand + 1 == capacity ? 0 : hand + 1
  }
  store<u32>(table, hand, TABLE_HAND)
  return found
}

/** Builds the index again from the slots. The table's lock is held. */
export function reindex(table: usize): void {
  memory.fill(base + load<u32>(table, TABLE_INDEX), 0, (<usize>load<u32>(table, TABLE_MASK) + 1) << 2)
  const used = load<u32>(table, TABLE_USED)
  for (let number: u32 = 0; number < used; number++) {
    const slot = slotAt(table, number)
    link(table, slot, changetype<Slot>(slot).keyLow, changetype<Slot>(slot).keyHigh)
  }
}

function link(table: usize, slot: usize, low: u64, high: u64): void {
  const index = base + load<u32>(table, TABLE_INDEX)
  const mask = load<u32>(table, TABLE_MASK)
  const number = <u32>((slot - slotAt(table, 0)) / load<u32>(table, TABLE_STRIDE))
  let at = <u32>low & mask
  while (load<u32>(index + (<usize>at << 2)) != 0) at = (at + 1) & mask
  atomic.store<u32>(index + (<usize>at << 2), entryOf(number, high))
}

/** Removes the entry and moves the ones after it up, so that there are no tombstones (Knuth, TAOCP 3, 6.4, algorithm R). */
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
    const home = <u32>changetype<Slot>(slotAt(table, (entry & SLOT_MASK) - 1)).keyLow & mask
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      atomic.store<u32>(index + (<usize>hole << 2), entry)
      hole = at
    }
  }
  atomic.store<u32>(index + (<usize>hole << 2), 0)
}

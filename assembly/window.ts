/**
 * The quota table as the host sees it: attach, take, release, read, reset. It holds the order of locks and nothing of
 * the arithmetic: window-decide.ts decides, window-ring.ts and window-calendar.ts keep time, window-table.ts finds slots.
 *
 * Locks: a consumer's slot before a tool's; a table's lock is never waited for while a slot is held.
 * The host lays the region out (`src/quota/memory/layout.ts`), writes the key into the scratch area and passes times
 * as arguments: `monoMs` of a clock that all threads share and that never steps (above 0), `unixMs` for the calendar.
 */
import {
  BUSY,
  HASHED,
  HEAD_CONSUMERS,
  HEAD_SCRATCH,
  HEAD_THREADS,
  HEAD_TOOLS,
  OUT_NEW,
  OUT_SLOT,
  OUT_STUCK,
  OUT_TOUCHED,
  READ_DAY_COUNT,
  READ_DAY_LIMIT,
  READ_IN_FLIGHT,
  READ_MINUTE,
  READ_MONTH_COUNT,
  READ_MONTH_LIMIT,
  READ_SECOND,
  SCRATCH_COUNT,
  SCRATCH_HASH,
  SCRATCH_KEY,
  SCRATCH_SIZE,
  SLOT_DAY,
  SLOT_DAY_BEFORE,
  SLOT_DAY_COUNT,
  SLOT_DAY_LIMIT,
  SLOT_IN_FLIGHT,
  SLOT_KEY,
  SLOT_LOCK,
  SLOT_MINUTE,
  SLOT_MONTH,
  SLOT_MONTH_BEFORE,
  SLOT_MONTH_COUNT,
  SLOT_MONTH_LIMIT,
  SLOT_SECOND,
  TABLE_SLOTS,
  TABLE_STRIDE,
  TABLE_USED,
  TAKE_BUSY,
  TAKE_FULL,
} from './window-abi'
import { day, month, setCalendar } from './window-calendar'
import { decide, settle } from './window-decide'
import { hashKey, keyHigh, keyLow, setKey } from './window-key'
import { held } from './window-ring'
import { attach, base, find, insert, inserted, lock, scratch, slotAt, stuck, unlock } from './window-table'

/** Times a slot may be taken away between finding and locking it before the call gives up. */
const ATTEMPTS: i32 = 16

/**
 * Binds this instance to a region that the host has laid out.
 * @returns the address of its scratch area, 0 when SCRATCH_COUNT threads have attached before
 */
export function quotaAttach(region: usize): usize {
  const thread = atomic.add<u32>(region, 1, HEAD_THREADS)
  if (thread >= <u32>SCRATCH_COUNT) return 0
  const own = region + HEAD_SCRATCH + thread * SCRATCH_SIZE
  attach(region, own)
  return own
}

/** Hashes the key at SCRATCH_KEY to SCRATCH_HASH, so that the host can keep the hash and spare later calls the bytes. */
export function quotaHash(length: i32): void {
  hashKey(base, scratch + SCRATCH_KEY, length)
  store<u64>(scratch, keyLow, SCRATCH_HASH)
  store<u64>(scratch, keyHigh, SCRATCH_HASH + 8)
}

/**
 * Takes one unit of every limit, all or nothing; 0 = no limit of that kind. The key stands at SCRATCH_KEY, the tool
 * behind it when `toolRate` is not 0; or either as a hash at SCRATCH_HASH (+ 16 for the tool), its length HASHED.
 * @returns TAKE_…; what is known of the standing is in OUT_…
 */
export function quotaTake(
  keyLength: i32,
  toolLength: i32,
  monoMs: f64,
  unixMs: f64,
  perSecond: u32,
  perMinute: u32,
  perDay: u32,
  perMonth: u32,
  burst: u32,
  toolRate: u32,
  toolBurst: u32,
): i32 {
  const now = <i64>monoMs
  const unix = <i64>unixMs
  setCalendar(unix)
  let toolLow: u64 = 0
  let toolHigh: u64 = 0
  if (toolRate != 0) {
    use(toolLength, SCRATCH_KEY + max(keyLength, 0), SCRATCH_HASH + 16)
    toolLow = keyLow
    toolHigh = keyHigh
  }
  use(keyLength, SCRATCH_KEY, SCRATCH_HASH)
  const low = keyLow
  const high = keyHigh
  // A bucket belongs to a consumer and a tool. Both halves are secret, so their sums collide no more often than they do.
  toolLow += rotl(low, 32)
  toolHigh ^= rotl(high, 32)
  store<u32>(scratch, 0, OUT_NEW)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    let slot = find(base + HEAD_CONSUMERS, low, high)
    if (slot == 0) {
      slot = insert(base + HEAD_CONSUMERS, low, high, now, day, month)
      if (slot <= 1) return slot == 0 ? TAKE_FULL : busy()
      if (inserted != 0) store<u32>(scratch, 1, OUT_NEW)
    }
    let tool: usize = 0
    if (toolRate != 0) {
      tool = find(base + HEAD_TOOLS, toolLow, toolHigh)
      if (tool == 0) {
        tool = insert(base + HEAD_TOOLS, toolLow, toolHigh, now, day, month)
        if (tool <= 1) return tool == 0 ? TAKE_FULL : busy()
      }
    }
    touch(slot)
    if (!lock(slot + SLOT_LOCK)) return busy()
    if (tool != 0 && !lock(tool + SLOT_LOCK)) {
      unlock(slot + SLOT_LOCK)
      return busy()
    }
    // It may have become somebody else's between finding and locking.
    if (holds(slot, low, high) && (tool == 0 || holds(tool, toolLow, toolHigh))) {
      const status = decide(slot, tool, now, unix, perSecond, perMinute, perDay, perMonth, burst, toolRate, toolBurst)
      if (tool != 0) unlock(tool + SLOT_LOCK)
      unlock(slot + SLOT_LOCK)
      store<u32>(scratch, <u32>slot, OUT_SLOT)
      return status
    }
    if (tool != 0) unlock(tool + SLOT_LOCK)
    unlock(slot + SLOT_LOCK)
  }
  return busy()
}

function busy(): i32 {
  store<u32>(scratch, <u32>stuck, OUT_STUCK)
  return TAKE_BUSY
}

/** Makes a key given as bytes or as a hash the one that `keyLow` and `keyHigh` speak of. */
// @ts-ignore: decorator
@inline
function use(length: i32, bytes: usize, hash: usize): void {
  if (length == HASHED) setKey(load<u64>(scratch + hash), load<u64>(scratch + hash, 8))
  else hashKey(base, scratch + bytes, length)
}

/** Asks for all cache lines of a slot at once: loads do not pass the lock, so they would wait for memory one by one. */
// @ts-ignore: decorator
@inline
function touch(slot: usize): void {
  store<u32>(scratch, load<u32>(slot, 64) | load<u32>(slot, 128) | load<u32>(slot, 192), OUT_TOUCHED)
}

// @ts-ignore: decorator
@inline
function holds(slot: usize, low: u64, high: u64): bool {
  return load<u64>(slot, SLOT_KEY) == low && load<u64>(slot, SLOT_KEY + 8) == high
}

/** Gives the concurrency of a granted call back; `slot` is its OUT_SLOT. A slot with a call in flight is never evicted. */
export function quotaRelease(slot: usize): void {
  let inFlight = atomic.load<u32>(slot + SLOT_IN_FLIGHT)
  while (inFlight != 0) {
    const seen = atomic.cmpxchg<u32>(slot + SLOT_IN_FLIGHT, inFlight, inFlight - 1)
    if (seen == inFlight) return
    inFlight = seen
  }
}

/** Number of the slot of the key at SCRATCH_KEY, -1 when it is not known. */
export function quotaFind(keyLength: u32): i32 {
  hashKey(base, scratch + SCRATCH_KEY, keyLength)
  const table = base + HEAD_CONSUMERS
  const slot = find(table, keyLow, keyHigh)
  return slot == 0 ? -1 : <i32>((slot - slotAt(table, 0)) / load<u32>(table, TABLE_STRIDE))
}

/** Copies the counts of a slot, by number, to READ_…; 0 when it is nobody's. */
export function quotaRead(number: u32, monoMs: f64, unixMs: f64): i32 {
  const table = base + HEAD_CONSUMERS
  if (number >= load<u32>(table, TABLE_USED)) return 0
  const slot = slotAt(table, number)
  if (!lock(slot + SLOT_LOCK)) {
    busy()
    return BUSY
  }
  const known = !holds(slot, 0, 0)
  if (known) {
    setCalendar(<i64>unixMs)
    settle(slot, <i64>monoMs)
    store<u32>(scratch, load<u32>(slot, SLOT_DAY_COUNT), READ_DAY_COUNT)
    store<u32>(scratch, load<u32>(slot, SLOT_MONTH_COUNT), READ_MONTH_COUNT)
    store<u32>(scratch, load<u32>(slot, SLOT_DAY_LIMIT), READ_DAY_LIMIT)
    store<u32>(scratch, load<u32>(slot, SLOT_MONTH_LIMIT), READ_MONTH_LIMIT)
    store<u32>(scratch, atomic.load<u32>(slot + SLOT_IN_FLIGHT), READ_IN_FLIGHT)
    store<u32>(scratch, held(slot + SLOT_SECOND), READ_SECOND)
    store<u32>(scratch, held(slot + SLOT_MINUTE), READ_MINUTE)
  }
  unlock(slot + SLOT_LOCK)
  return known
}

/**
 * Sets the calendar counts of the key at SCRATCH_KEY to zero, and its periods to those of `unixMs`, should a wrong clock
 * have put them into the future; 0 when the key is not known.
 */
export function quotaReset(keyLength: u32, unixMs: f64): i32 {
  hashKey(base, scratch + SCRATCH_KEY, keyLength)
  const slot = find(base + HEAD_CONSUMERS, keyLow, keyHigh)
  if (slot == 0) return 0
  if (!lock(slot + SLOT_LOCK)) {
    busy()
    return BUSY
  }
  const known = holds(slot, keyLow, keyHigh)
  if (known) {
    setCalendar(<i64>unixMs)
    store<u16>(slot, <u16>day, SLOT_DAY)
    store<u16>(slot, <u16>month, SLOT_MONTH)
    store<u32>(slot, 0, SLOT_DAY_COUNT)
    store<u32>(slot, 0, SLOT_MONTH_COUNT)
    store<u32>(slot, 0, SLOT_DAY_BEFORE)
    store<u32>(slot, 0, SLOT_MONTH_BEFORE)
  }
  unlock(slot + SLOT_LOCK)
  return known
}

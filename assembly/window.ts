/**
 * The calls that the host makes to the quota table: hash, take, release, and those exported from other files. It checks no limit:
 * window-decide.ts does.
 *
 * Locks: a consumer's slot before a tool's; a table's lock is never waited for while a slot is held.
 * The host lays the region out (`src/data-plane/quota/memory/region.ts`), writes the key into the scratch area and passes times
 * as arguments: `monoMs` of a steady clock that all threads share (above 0), `unixMs` for the calendar.
 */
import {
  HASHED,
  HEAD_CONSUMERS,
  HEAD_TOOLS,
  OUT_NEW,
  OUT_SLOT,
  OUT_TOUCHED,
  SCRATCH_HASH,
  SCRATCH_KEY,
  TAKE_BUSY,
  TAKE_FULL,
} from './window-abi'
import { lockOf } from './window-slot'
import { busy } from './window-account'
import { day, month, setCalendar } from './window-calendar'
import { decide } from './window-decide'
import { hashKey, keyHigh, keyLow, ofTool, useKey } from './window-key'
import { base, find, holds, insert, inserted, isSlot, lock, scratch, unlock } from './window-table'

export { quotaFind, quotaRead, quotaReset } from './window-account'
export { quotaBegin, quotaPairs, quotaShare } from './window-lease'
export { quotaCredit, quotaExport, quotaReserve, quotaSurrender } from './window-reserve'
export { quotaAttach, quotaDetach, quotaRelease } from './window-thread'
export { quotaAssume, quotaRestore, quotaRestored } from './window-restore'

/** Evictions of a slot between finding and locking it after which the call returns TAKE_BUSY. */
const ATTEMPTS: i32 = 16

/** Hashes the key at SCRATCH_KEY to SCRATCH_HASH, so that the host can cache the hash. */
export function quotaHash(length: i32): void {
  hashKey(base, scratch + SCRATCH_KEY, length)
  store<u64>(scratch, keyLow, SCRATCH_HASH)
  store<u64>(scratch, keyHigh, SCRATCH_HASH + 8)
}

/**
 * Takes one unit of every limit, all or nothing; 0 = no limit of that kind. The key is at SCRATCH_KEY, the tool
 * after it when `toolRate` is not 0; or each as a hash at SCRATCH_HASH (+ 16 for the tool), with the length HASHED. A
 * hash may come with the slot it had last: the length is then minus that OUT_SLOT. If that slot no longer holds the key,
 * the key is looked up.
 * @returns TAKE_…; the standing is in OUT_…
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
  let hint: usize = 0
  if (keyLength < HASHED) {
    hint = <usize>-keyLength
    keyLength = HASHED
    if (!isSlot(base + HEAD_CONSUMERS, hint)) hint = 0
    else touch(hint)
  }
  setCalendar(unix)
  let toolLow: u64 = 0
  let toolHigh: u64 = 0
  if (toolRate != 0) {
    useKey(base, scratch, toolLength, SCRATCH_KEY + max(keyLength, 0), SCRATCH_HASH + 16)
    toolLow = keyLow
    toolHigh = keyHigh
  }
  useKey(base, scratch, keyLength, SCRATCH_KEY, SCRATCH_HASH)
  const low = keyLow
  const high = keyHigh
  toolLow = ofTool(toolLow, low)
  toolHigh = ofTool(toolHigh, high)
  store<u32>(scratch, 0, OUT_NEW)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    let slot = hint != 0 && holds(hint, low, high) ? hint : find(base + HEAD_CONSUMERS, low, high)
    if (slot == 0) {
      slot = insert(base + HEAD_CONSUMERS, low, high, now, day, month)
      if (slot <= 1) return slot == 0 ? TAKE_FULL : taken()
      if (inserted != 0) store<u32>(scratch, 1, OUT_NEW)
    }
    let tool: usize = 0
    if (toolRate != 0) {
      tool = find(base + HEAD_TOOLS, toolLow, toolHigh)
      if (tool == 0) {
        tool = insert(base + HEAD_TOOLS, toolLow, toolHigh, now, day, month)
        if (tool <= 1) return tool == 0 ? TAKE_FULL : taken()
      }
    }
    if (slot != hint) touch(slot)
    if (!lock(lockOf(slot))) return taken()
    if (tool != 0 && !lock(lockOf(tool))) {
      unlock(lockOf(slot))
      return taken()
    }
    // the slot may have been evicted between finding and locking
    if (holds(slot, low, high) && (tool == 0 || holds(tool, toolLow, toolHigh))) {
      const status = decide(slot, tool, now, unix, perSecond, perMinute, perDay, perMonth, burst, toolRate, toolBurst)
      if (tool != 0) unlock(lockOf(tool))
      unlock(lockOf(slot))
      store<u32>(scratch, <u32>slot, OUT_SLOT)
      return status
    }
    if (tool != 0) unlock(lockOf(tool))
    unlock(lockOf(slot))
  }
  return taken()
}

/** TAKE_BUSY, with the lock to wait for. */
function taken(): i32 {
  busy()
  return TAKE_BUSY
}

/** Loads the second to fourth cache line of a consumer's slot at once: loads after the lock would wait for memory one by one. */
// @ts-ignore: decorator
@inline
function touch(slot: usize): void {
  store<u32>(scratch, load<u32>(slot, 64) | load<u32>(slot, 128) | load<u32>(slot, 192), OUT_TOUCHED)
}

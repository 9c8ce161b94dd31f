/** Reads the report of an instance on a consumer from the table, where it begins a lease. */
import {
  BUSY,
  HASHED,
  KIND_MINUTE,
  KIND_SECOND,
  READ_DAY,
  READ_DAY_COUNT,
  READ_IN_FLIGHT,
  READ_MONTH,
  READ_MONTH_COUNT,
  READ_PAIRS,
  READ_SHARE,
  READ_TOKENS,
} from '../memory/abi.ts'
import type { HashedKey } from '../memory/table.ts'
import type { TableQuota } from '../memory/table-quota.ts'

/** Absolute, so that a lost or repeated report does no harm. */
export interface LeaseReport {
  /** Units leased and not spent. */
  readonly held: number
  /** Flat pairs (age in ms, units) of the rolling second and minute. */
  readonly second: readonly number[]
  readonly minute: readonly number[]
  readonly day: number
  readonly dayCount: number
  readonly month: number
  readonly monthCount: number
  /** Resets that this instance knows of. */
  readonly generation: number
  readonly inFlight: number
  /** Calls in flight here at most, until a response raises the share: those in flight, and the share. */
  readonly slots: number
  /** 1: Redis responded for this consumer shortly before. */
  readonly known: 0 | 1
}

/**
 * Begins a lease in the table and reads the report. Held units are read first, so a unit spent meanwhile is reported
 * twice, never omitted.
 * @returns undefined when another thread requests a lease for this consumer, or its slot was evicted
 */
export function beginReport(
  quota: TableQuota,
  key: HashedKey,
  nowMs: number,
  generation: number,
  known: boolean,
): LeaseReport | undefined {
  const { table } = quota
  const { kernel, out } = table
  table.writeKey(key)
  if (table.patiently(() => kernel.quotaBegin(HASHED, 0, quota.monotonicMs(), nowMs), BUSY) !== 1)
    return undefined
  const inFlight = out[READ_IN_FLIGHT / 4]!
  const counts = {
    held: out[READ_TOKENS / 4]!,
    day: out[READ_DAY / 4]!,
    dayCount: out[READ_DAY_COUNT / 4]!,
    month: out[READ_MONTH / 4]!,
    monthCount: out[READ_MONTH_COUNT / 4]!,
    inFlight,
    slots: Math.max(inFlight, out[READ_SHARE / 4]!),
  }
  const slot = table.find(key)
  return {
    ...counts,
    second: pairs(quota, slot, KIND_SECOND, nowMs),
    minute: pairs(quota, slot, KIND_MINUTE, nowMs),
    generation,
    known: known ? 1 : 0,
  }
}

function pairs(quota: TableQuota, slot: number, kind: number, nowMs: number): number[] {
  const { table } = quota
  const read = () => table.kernel.quotaPairs(slot, kind, quota.monotonicMs(), nowMs)
  if (slot < 0 || table.patiently(read, BUSY) !== 1) return []
  const count = table.out[READ_PAIRS / 4]! * 2
  return [...new Uint32Array(table.keyBytes.buffer, table.keyBytes.byteOffset, count)]
}

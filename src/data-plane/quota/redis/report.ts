/** What an instance tells Redis of one consumer: everything it counts, each time. It is read from the table and never kept. */
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

export interface Report {
  /** Units held and not spent. */
  k: number
  /** Pairs (age in ms, units) of the rolling second and minute. */
  s: number[]
  m: number[]
  /** Day and month with their counts. */
  d: number
  dn: number
  o: number
  on: number
  /** Generation: resets that this instance knows of. */
  g: number
  /** Calls in flight, and how many may be. */
  f: number
  b: number
  /** 1: this server has answered for the consumer shortly before. */
  p: 0 | 1
}

/**
 * Begins a lease in the table and reads the report. What is spent between the readings is told twice, never not at all:
 * held units are read first.
 * @returns undefined when another thread is asking for this consumer, or its slot has gone
 */
export function beginReport(
  quota: TableQuota,
  key: HashedKey,
  nowMs: number,
  generation: number,
  known: boolean,
): Report | undefined {
  const { table } = quota
  const { kernel, out } = table
  table.writeKey(key)
  if (table.patiently(() => kernel.quotaBegin(HASHED, 0, quota.monotonicMs(), nowMs), BUSY) !== 1)
    return undefined
  const report: Report = {
    k: out[READ_TOKENS / 4]!,
    s: [],
    m: [],
    d: out[READ_DAY / 4]!,
    dn: out[READ_DAY_COUNT / 4]!,
    o: out[READ_MONTH / 4]!,
    on: out[READ_MONTH_COUNT / 4]!,
    g: generation,
    f: out[READ_IN_FLIGHT / 4]!,
    b: out[READ_SHARE / 4]!,
    p: known ? 1 : 0,
  }
  table.writeKey(key)
  const slot = kernel.quotaFind(HASHED)
  report.s = pairs(quota, slot, KIND_SECOND, nowMs)
  report.m = pairs(quota, slot, KIND_MINUTE, nowMs)
  return report
}

function pairs(quota: TableQuota, slot: number, kind: number, nowMs: number): number[] {
  const { table } = quota
  const read = () => table.kernel.quotaPairs(slot, kind, quota.monotonicMs(), nowMs)
  if (slot < 0 || table.patiently(read, BUSY) !== 1) return []
  const count = table.out[READ_PAIRS / 4]! * 2
  return [...new Uint32Array(table.keyBytes.buffer, table.keyBytes.byteOffset, count)]
}

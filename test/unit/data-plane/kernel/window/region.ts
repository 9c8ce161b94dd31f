/** Creates a separate quota region for one test. */
import { createQuotaRegion } from '../../../../../src/data-plane/quota/memory/kernel.ts'
import type { RegionOptions } from '../../../../../src/data-plane/quota/memory/region.ts'
import { QuotaTable } from '../../../../../src/data-plane/quota/memory/table.ts'

export interface Limits {
  readonly second?: number
  readonly minute?: number
  readonly day?: number
  readonly month?: number
  readonly burst?: number
  /** Per minute. */
  readonly toolRate?: number
  readonly toolBurst?: number
}

/** 2026-03-10 12:00:00 UTC. */
export const NOON = Date.UTC(2026, 2, 10, 12)

export function smallTable(options: RegionOptions = {}) {
  const region = createQuotaRegion({ consumers: 64, toolBuckets: 64, listed: 8, ...options })
  const table = new QuotaTable(region)
  function take(key: string, monoMs: number, unixMs: number, limits: Limits, tool = 'tool'): number {
    const length = table.writeKey(key)
    const toolLength = limits.toolRate === undefined ? 0 : table.writeTool(tool, length)
    return table.kernel.quotaTake(
      length,
      toolLength,
      monoMs,
      unixMs,
      limits.second ?? 0,
      limits.minute ?? 0,
      limits.day ?? 0,
      limits.month ?? 0,
      limits.burst ?? 0,
      (limits.toolRate ?? 0) * 60,
      limits.toolBurst ?? 0,
    )
  }
  return { region, table, kernel: table.kernel, take, out: table.out }
}

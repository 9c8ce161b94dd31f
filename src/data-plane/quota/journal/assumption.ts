/** Stores the assumption that follows damage to the quota journal, and counts limits of a consumer as used under it. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTextIfPresent } from '../../../base/fs/missing.ts'
import type { PlanLimits } from '../../../model/plan.ts'
import { BUSY, HASHED } from '../memory/abi.ts'
import type { HashedKey } from '../memory/table.ts'
import { clamp, type TableQuota } from '../memory/table-quota.ts'

const FILE = 'assumed'
const DAY_MS = 86_400_000
const MINUTE_MS = 61_000

export interface Assumption {
  /** Unix ms at which the damage was found. */
  readonly sinceMs: number
  /** For operators: the damaged files, and the fix. */
  readonly reason: string
}

/** @param damage found at this start, one entry for each unreadable range of a file */
export function assumptionIn(dir: string, damage: readonly string[], nowMs: number): Assumption | undefined {
  const path = join(dir, FILE)
  const before = readAssumption(path)
  const found = before === 'unreadable' ? [...damage, `${path}: the file is not readable`] : damage
  if (found.length > 0) {
    const assumption = { sinceMs: nowMs, reason: reasonOf(found, dir) }
    writeFileSync(`${path}.new`, JSON.stringify(assumption), { mode: 0o600, flush: true })
    renameSync(`${path}.new`, path)
    return assumption
  }
  if (typeof before === 'object' && monthOf(before.sinceMs) === monthOf(nowMs)) return before
  rmSync(path, { force: true })
  return undefined
}

function readAssumption(path: string): Assumption | 'unreadable' | undefined {
  try {
    const text = readTextIfPresent(path)
    if (text === undefined) return undefined
    const { sinceMs, reason } = JSON.parse(text) as Partial<Assumption>
    if (typeof sinceMs === 'number' && Number.isFinite(sinceMs) && typeof reason === 'string')
      return { sinceMs, reason }
  } catch {
    // as damaged as any other content
  }
  return 'unreadable'
}

function reasonOf(damage: readonly string[], dir: string): string {
  return `the quota journal is damaged (${damage.join('; ')}). For consumers without a readable count, the daily and monthly limits count as used up for the day and the month in which the damage was found. To give one consumer its full limits, call POST /admin/quotas/{consumer_id}/reset. To give all of them their full limits, stop the gateway and remove ${join(dir, FILE)}`
}

/**
 * Counts the limits as used that may have been used before the damage was found: of the month, of the day if it is the same, and
 * of the minute within 61 s of it.
 */
export function assumeUsed(
  quota: TableQuota,
  key: HashedKey,
  limits: PlanLimits,
  { sinceMs }: Assumption,
): void {
  const nowMs = quota.unixMs()
  if (monthOf(sinceMs) !== monthOf(nowMs)) return
  const today = Math.floor(sinceMs / DAY_MS) === Math.floor(nowMs / DAY_MS)
  const { table } = quota
  table.writeKey(key)
  const assume = () =>
    table.kernel.quotaAssume(
      HASHED,
      nowMs - sinceMs < MINUTE_MS ? clamp(limits.perMinute) : 0,
      today ? clamp(limits.perDay) : 0,
      clamp(limits.perMonth),
      quota.monotonicMs(),
      nowMs,
    )
  table.patiently(assume, BUSY)
}

function monthOf(ms: number): number {
  const at = new Date(ms)
  return at.getUTCFullYear() * 12 + at.getUTCMonth()
}

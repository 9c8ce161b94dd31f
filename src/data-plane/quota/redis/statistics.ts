/** Counts of consumers over all instances, for listings. It changes nothing. */
import type { TableQuota } from '../memory/table-quota.ts'
import type { QuotaStatistics } from '../quota.ts'
import { type Connection, insistently } from './connection.ts'
import type { ConsumerLease } from './consumer-lease.ts'
import type { Keys } from './keys.ts'

const AT_ONCE = 32

/**
 * Consumers that any instance has seen, with what all have told and what this one has not told yet. Without Redis, what
 * this instance knows.
 */
export async function statisticsOver(
  quota: TableQuota,
  connection: Connection,
  keys: Keys,
  buckets: number,
  instance: string,
): Promise<readonly QuotaStatistics[]> {
  const local = new Map(quota.statistics().map(row => [row.key, row]))
  try {
    const names = new Set(local.keys())
    for (let bucket = 0; bucket < buckets; bucket++)
      for (const name of await insistently(() => connection.zrange(keys.names(bucket), 0, -1)))
        names.add(name)
    const all = [...names]
    const rows: QuotaStatistics[] = []
    for (let at = 0; at < all.length; at += AT_ONCE)
      rows.push(...(await Promise.all(all.slice(at, at + AT_ONCE).map(one))))
    return rows
  } catch {
    return [...local.values()]
  }

  async function one(name: string): Promise<QuotaStatistics> {
    const epoch = keys.epoch(keys.bucketOf(name))
    const reply = await insistently(() => connection.quotaStatistics(keys.consumer(name), epoch, instance))
    const [day = 0, month = 0, dayLimit = 0, monthLimit = 0] = reply.map(Number)
    const own = local.get(name)
    return {
      key: name,
      dailyCount: day + (own?.dailyCount ?? 0),
      dailyLimit: own === undefined || own.dailyLimit === 0 ? dayLimit : own.dailyLimit,
      monthlyCount: month + (own?.monthlyCount ?? 0),
      monthlyLimit: own === undefined || own.monthlyLimit === 0 ? monthLimit : own.monthlyLimit,
    }
  }
}

/** What this process knows without asking: its own counts, and those of the others as of the last answer for each. */
export function usageOf(
  quota: TableQuota,
  consumers: ReadonlyMap<string, ConsumerLease>,
): readonly QuotaStatistics[] {
  return quota.statistics().map(row => {
    const [, , day = 0, month = 0] = consumers.get(row.key)?.others ?? []
    return { ...row, dailyCount: row.dailyCount + day, monthlyCount: row.monthlyCount + month }
  })
}

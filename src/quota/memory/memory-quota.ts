/** Quotas counted in the shared memory of one process and nowhere else: they end with it. */
import type { Quota, QuotaGrant, QuotaRefusal, QuotaRequest, QuotaStatistics } from '../quota.ts'
import { createQuotaRegion, type QuotaRegion } from './kernel.ts'
import type { RegionOptions } from './region.ts'
import type { TableHealth } from './table.ts'
import { type Clocks, TableQuota } from './table-quota.ts'

export interface MemoryQuotaOptions extends RegionOptions, Clocks {
  /** A region made by `createQuotaRegion`, for processes of several threads. Absent: a memory of its own, for one thread. */
  readonly region?: QuotaRegion
}

/** In-process quotas; `take`, `statistics` and `reset` answer at once. */
export interface MemoryQuota extends Quota {
  take(request: QuotaRequest): QuotaGrant | QuotaRefusal
  statistics(): readonly QuotaStatistics[]
  /** undefined when the key is not known. */
  statisticsOf(key: string): QuotaStatistics | undefined
  reset(key: string): boolean
  /** Fill of the table, for metrics. */
  health(): TableHealth
  /** Moves the rolling windows of every thread forward, for `TEST_HOOKS`; calendar windows follow `nowMs`. */
  advance(ms: number): void
}

/** @throws RangeError naming an option that does not fit; Error when the kernel is not built. */
export function createMemoryQuota(options: MemoryQuotaOptions = {}): MemoryQuota {
  const quota = new TableQuota(options.region ?? createQuotaRegion(options), options)
  return {
    key: name => quota.table.key(name),
    // Without a reserver the table answers at once.
    take: request => quota.take(request) as QuotaGrant | QuotaRefusal,
    statistics: () => quota.statistics(),
    statisticsOf: key => quota.statisticsOf(key),
    reset: key => quota.reset(key),
    health: () => quota.table.health(),
    advance: ms => quota.table.advance(ms),
    close: async () => {},
  }
}

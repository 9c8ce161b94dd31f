/** Quotas counted in the shared memory of one process and nowhere else: they end with it. */
import { randomUUID } from 'node:crypto'
import { createQuotaRegion, type QuotaRegion } from './kernel.ts'
import { LocalQuota } from './local-quota.ts'
import { Notices } from './notices.ts'
import type { RegionOptions } from './region.ts'
import { type Clocks, TableQuota } from './table-quota.ts'

export interface MemoryQuotaOptions extends RegionOptions, Clocks {
  /** A region created by `createQuotaRegion`, for processes of several threads. Absent: a new memory for one thread. */
  readonly region?: QuotaRegion
}

/** @throws RangeError naming an option that does not fit; Error when the kernel is not built. */
export function createMemoryQuota(options: MemoryQuotaOptions = {}): LocalQuota {
  const quota = new TableQuota(options.region ?? createQuotaRegion(options), options)
  return new LocalQuota({ quota, notices: new Notices(`quota-${randomUUID()}`) })
}

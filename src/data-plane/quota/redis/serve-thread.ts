/** Serves another thread of the process from the one that holds the connection to Redis. It decides nothing: the parts it receives do. */
import type { PortLine } from '../../../base/threads/port-line.ts'
import type { Lacking, TableQuota } from '../memory/table-quota.ts'
import type { QuotaStatistics, QuotaUse } from '../quota.ts'
import type { LeaseReserver } from './lease-reserver.ts'
import { type Caller, type Decided, type Reserved, requestOf } from './thread-messages.ts'

/** The operations that need the connection. */
export interface ConnectedQuota {
  readonly quota: TableQuota
  readonly reserver: LeaseReserver
  readonly statistics: () => Promise<readonly QuotaStatistics[]>
  readonly statisticsOf: (key: string) => Promise<QuotaStatistics | undefined>
  readonly useOf: (keys: readonly string[]) => Promise<readonly QuotaUse[]>
  readonly reset: (key: string) => Promise<boolean>
  readonly clear: () => Promise<void>
}

/** Serves the thread at the other end (`joinRedisQuota`). */
export function serveThread(
  line: PortLine,
  { quota, reserver, statistics, statisticsOf, useOf, reset, clear }: ConnectedQuota,
): void {
  line.serve({
    async 'quota.reserve'(caller: Caller, lacking: Lacking): Promise<Reserved> {
      const request = requestOf(caller, quota.unixMs())
      const reserved = reserver.reserve(request, lacking, undefined)
      const waited = reserved instanceof Promise
      const outcome = await reserved
      return { outcome, denial: reserver.denialOf(request, lacking), waited }
    },
    'quota.decided'(calls: readonly Decided[]) {
      for (const { caller, granted, refused, unitsLeft } of calls) {
        const request = requestOf(caller, quota.unixMs())
        if (granted > 0) reserver.countGranted(request, granted, unitsLeft)
        if (refused > 0) reserver.countRefused(request, refused)
      }
    },
    'quota.statistics': statistics,
    'quota.statistics-of': statisticsOf,
    'quota.use': useOf,
    'quota.reset': reset,
    'quota.clear': clear,
  })
}

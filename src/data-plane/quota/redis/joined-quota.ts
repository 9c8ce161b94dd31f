/** Opens the quotas in a further thread of a process that leases from Redis. It opens no connection to Redis: `redis-quota.ts` does. */
import type { MessagePort } from 'node:worker_threads'
import { PortLine } from '../../../base/threads/port-line.ts'
import { joinQuotaRegion, type SharedQuota } from '../memory/kernel.ts'
import { Notices } from '../memory/notices.ts'
import { type Clocks, TableQuota } from '../memory/table-quota.ts'
import type { Quota, QuotaStatistics, QuotaUse } from '../quota.ts'
import { shortKey } from './keys.ts'
import { storeClocks } from './membership.ts'
import { ThreadReserver } from './thread-reserver.ts'

export interface JoinRedisOptions extends Pick<Clocks, 'monotonicMs'> {
  readonly share: SharedQuota
  /** From 1, different in each thread, below the `threads` that the quotas were opened with. */
  readonly thread: number
  /** The other end is served by `RedisQuota.serve` in the first thread. */
  readonly port: MessagePort
}

/** After this time without a response, the first thread has ended or hangs. */
const RESPONSE_TIMEOUT_MS = 5_000

export function joinRedisQuota({ share, thread, port, ...clocks }: JoinRedisOptions): Quota {
  const quota: TableQuota = new TableQuota(joinQuotaRegion(share, thread), {
    ...clocks,
    ...storeClocks(() => quota.table),
  })
  const notices = new Notices(share.channel)
  let up = true
  const line = new PortLine(port, {}, RESPONSE_TIMEOUT_MS)
  const reserver = new ThreadReserver(quota, line)
  quota.reserver = reserver
  line.serve({
    'quota.evict-denials': (name: string) => reserver.evictDenials(name),
    'quota.store': (isUp: boolean) => {
      up = isUp
    },
  })

  return {
    key: name => quota.table.key(shortKey(name)),
    take: request => quota.take({ ...request, key: shortKey(request.key) }),
    statistics: () => line.ask<readonly QuotaStatistics[]>('quota.statistics'),
    statisticsOf: key => line.ask<QuotaStatistics | undefined>('quota.statistics-of', key),
    usage: () => quota.statistics(),
    useOf: keys => line.ask<readonly QuotaUse[]>('quota.use', keys),
    reset: key => line.ask<boolean>('quota.reset', key),
    revision: () => quota.table.revision,
    async clearElsewhere() {
      notices.pass()
      await line.ask('quota.clear')
    },
    onCleared: listener => notices.listen(listener),
    health: () => ({ ...quota.table.health(), store: up ? 'up' : 'down', waited: reserver.waited }),
    advance: ms => quota.table.advance(ms),
    async close() {
      reserver.close()
      notices.close()
      line.close()
    },
  }
}

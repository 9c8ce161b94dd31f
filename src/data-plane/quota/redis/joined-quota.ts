/** Quotas in another thread of a process that leases from Redis: it counts in the shared table and holds no connection. */
import type { MessagePort } from 'node:worker_threads'
import { joinQuotaRegion, type SharedQuota } from '../memory/kernel.ts'
import { Notices } from '../memory/notices.ts'
import { type Clocks, type Lacking, TableQuota } from '../memory/table-quota.ts'
import type { Quota } from '../quota.ts'
import { shortKey } from './keys.ts'
import { storeClocks } from './store-clocks.ts'
import type { Caller, Question, ThreadReply, Values } from './thread-messages.ts'
import { ThreadReserver } from './thread-reserver.ts'

export interface JoinRedisOptions extends Pick<Clocks, 'monotonicMs'> {
  readonly share: SharedQuota
  /** From 1, each thread its own, below the `threads` that the quotas were opened with. */
  readonly thread: number
  /** The other end is served by `RedisQuota.serve` in the first thread. */
  readonly port: MessagePort
}

/** Answers of the first thread that are not there by then will not come: it has gone, or hangs. */
const GONE_MS = 5_000

export function joinRedisQuota({ share, thread, port, ...clocks }: JoinRedisOptions): Quota {
  const quota: TableQuota = new TableQuota(joinQuotaRegion(share, thread), {
    ...clocks,
    ...storeClocks(() => quota.table),
  })
  const notices = new Notices(share.channel)
  const waiting = new Map<number, (response: ThreadReply & { kind: 'answer' }) => void>()
  let asked = 0
  let up = true

  const notify = (question: Question): void => port.postMessage(question)
  const reserver = new ThreadReserver(
    quota,
    (caller: Caller, lacking: Lacking) =>
      ask<'reserve'>(id => ({ kind: 'reserve', id, caller, lacking })).catch(() => undefined),
    notify,
  )
  quota.reserver = reserver
  port.on('message', (response: ThreadReply) => {
    if (response.kind === 'answer') waiting.get(response.id)?.(response)
    else if (response.kind === 'forgive') reserver.forgive(response.name)
    else up = response.up
  })
  port.unref()

  function ask<Kind extends keyof Values>(question: (id: number) => Question): Promise<Values[Kind]> {
    const id = ++asked
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => end(() => reject(new Error('the thread that holds the quota store does not answer'))),
        GONE_MS,
      )
      function end(settle: () => void): void {
        clearTimeout(timer)
        waiting.delete(id)
        settle()
      }
      waiting.set(id, ({ value, fault }) =>
        end(() => (fault === undefined ? resolve(value as Values[Kind]) : reject(new Error(fault)))),
      )
      notify(question(id))
    })
  }

  return {
    key: name => quota.table.key(shortKey(name)),
    take: request => quota.take({ ...request, key: shortKey(request.key) }),
    statistics: () => ask<'statistics'>(id => ({ kind: 'statistics', id })),
    usage: () => quota.statistics(),
    reset: key => ask<'reset'>(id => ({ kind: 'reset', id, key })),
    revision: () => quota.table.revision,
    async clearElsewhere() {
      notices.pass()
      await ask<'clear'>(id => ({ kind: 'clear', id }))
    },
    onCleared: listener => notices.listen(listener),
    health: () => ({ ...quota.table.health(), store: up ? 'up' : 'down', waited: reserver.waited }),
    advance: ms => quota.table.advance(ms),
    async close() {
      reserver.close()
      notices.close()
      port.close()
    },
  }
}

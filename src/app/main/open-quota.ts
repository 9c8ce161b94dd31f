/** Opens the quota counters of a process, with Redis if it is configured, and registers their metrics. */
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { openJournalQuota } from '../../data-plane/quota/journal/journal-quota.ts'
import type { Quota, QuotaStatistics } from '../../data-plane/quota/quota.ts'
import { limitRepeats } from '../../telemetry/limited-log.ts'
import type { QuotaUsage } from '../../telemetry/metrics.ts'
import type { AppContext } from './app-context.ts'
import type { QuotaShare } from './workers/thread-data.ts'

const UNAVAILABLE =
  'the quota store (Redis in REDIS_URL) is unavailable: this instance admits calls until the units that it has leased are used up, then refuses calls that have a limit'

/** Quotas that other threads of the process can join. */
export interface JoinableQuota {
  readonly quota: Quota
  /** The share of one more thread; each thread needs its own. */
  join(): QuotaShare
  /** Releases what a thread held that has ended: its locks, and its calls in flight. */
  detach(thread: number): void
}

/**
 * With Redis, resolves once every other instance knows this one, or after some seconds without Redis.
 * @param threads that will join, numbered from 1
 */
export async function openQuota(context: AppContext, threads = 0): Promise<JoinableQuota> {
  const { clock, metrics, closers, conditions } = context
  const joinable = await open(context, threads + 1)
  const { quota } = joinable
  closers.add('quota', () => quota.close())
  clock.onAdvance(ms => quota.advance(ms))
  metrics.quotaUsage(() => usageOf(quota.usage()))
  metrics.read('platform_quota_store_up', () => (quota.health().store === 'down' ? 0 : 1))
  metrics.read('platform_quota_assumed', () =>
    Number(conditions.all.some(([part]) => part === 'quota journal')),
  )
  metrics.read('platform_quota_consumers', () => quota.health().used)
  metrics.read('platform_quota_evicted', () => quota.health().evicted)
  metrics.read('platform_quota_turned_away', () => quota.health().turnedAway)
  metrics.read('platform_quota_waited', () => quota.health().waited)
  return joinable
}

async function open(
  { settings, log, clock, conditions }: AppContext,
  threads: number,
): Promise<JoinableQuota> {
  const dir = join(settings.dataDir, 'quota')
  const onFault = (error: Error): void =>
    log.error(
      { err: error },
      'quota counters cannot be saved; calls with a daily or monthly limit are refused until the counters can be saved again. Check the disk and free space of DATA_DIR',
    )
  const report = (reason: string): void => {
    log.error({}, reason)
    conditions.set('quota journal', reason)
  }
  const { redis } = settings
  if (redis === undefined) {
    const quota = openJournalQuota({ dir, onFault, unixMs: clock.now, threads })
    const { assumption } = quota
    if (assumption !== undefined) report(assumption.reason)
    return {
      quota,
      join: () => ({ kind: 'journal', dir, share: quota.share, assumption }),
      detach: thread => quota.detach(thread),
    }
  }
  conditions.set('quota', UNAVAILABLE)
  const { openRedisQuota } = await import('../../data-plane/quota/redis/redis-quota.ts')
  const changes = limitRepeats(log)
  const quota = openRedisQuota({
    redis,
    dir,
    threads,
    distrustEmpty: settings.quotaEmptyStore === 'wait',
    // debug: the condition below reports it once, not at every attempt to connect
    onFault: error => log.debug({ err: error }, 'the quota store reported an error'),
    onStore(up) {
      conditions.set('quota', up ? undefined : UNAVAILABLE)
      if (up) changes.info({}, 'the quota store is available')
      else changes.warn({}, UNAVAILABLE)
    },
  })
  if (quota.damage.length > 0)
    report(
      `the quota journal was damaged (${quota.damage.join('; ')}), so this instance takes its counts from Redis. Check the disk of ${dir}. /mcp/health reports this fault until the process is restarted`,
    )
  await quota.ready
  return {
    quota,
    join() {
      const { port1, port2 } = new MessageChannel()
      quota.serve(port1)
      return { kind: 'redis', share: quota.share, port: port2 }
    },
    detach: thread => quota.detach(thread),
  }
}

/** Keys are `tenant/consumer` or `tenant/consumer/subscription`; others count no consumer's calls. */
function* usageOf(rows: readonly QuotaStatistics[]): Generator<QuotaUsage> {
  for (const { key, dailyCount, dailyLimit, monthlyCount, monthlyLimit } of rows) {
    const consumer = key.split('/')[1]
    if (consumer === undefined || key.startsWith('~')) continue
    if (dailyLimit > 0) yield { consumer, type: 'daily', ratio: dailyCount / dailyLimit }
    if (monthlyLimit > 0) yield { consumer, type: 'monthly', ratio: monthlyCount / monthlyLimit }
  }
}

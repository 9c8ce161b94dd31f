/** Opens the counters of the quota: one set for all threads of the process. It decides nothing. */
import { join } from 'node:path'
import { openJournalQuota } from '../quota/journal/journal-quota.ts'
import type { Quota } from '../quota/quota.ts'
import type { Ground } from './ground.ts'

export function openQuota({ settings, log, closers }: Ground): Quota {
  const quota = openJournalQuota({
    dir: join(settings.dataDir, 'quota'),
    onFault: error =>
      log.error(
        { err: error },
        'quota counters cannot be kept; calls with a daily or monthly limit are refused until they can',
      ),
  })
  closers.add('quota', () => quota.close())
  return quota
}

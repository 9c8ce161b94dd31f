/** The quota contract on the stores of one process. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournalQuota } from '../../../src/data-plane/quota/journal/journal-quota.ts'
import { createMemoryQuota } from '../../fixtures/memory-quota.ts'
import { quotaContract } from './quota-contract.ts'

quotaContract('memory', async () => {
  const quota = createMemoryQuota({ consumers: 256, toolBuckets: 64 })
  return { quota, close: () => quota.close() }
})

quotaContract('journal', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'quota-'))
  const quota = openJournalQuota({ dir, consumers: 256, toolBuckets: 64 })
  return {
    quota,
    async close() {
      await quota.close()
      rmSync(dir, { recursive: true })
    },
  }
})

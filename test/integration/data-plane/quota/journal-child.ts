/** Takes from a journal quota as fast as it can until it is killed: writes a line break when it begins and a dot for each granted call. */
import { writeSync } from 'node:fs'
import { openJournalQuota } from '../../../../src/data-plane/quota/journal/journal-quota.ts'

const [dir, perDay] = process.argv.slice(2)
const quota = openJournalQuota({ dir: dir!, consumers: 64, toolBuckets: 1 })
const limits = { perDay: Number(perDay), perMonth: Number(perDay) * 10 }

function load(): void {
  for (let i = 0; i < 20; i++) {
    const response = quota.take({ key: 'tenant/consumer', limits, nowMs: Date.now() })
    if (!response.granted) return
    response.release()
    say('.')
  }
  setImmediate(load)
}

/** The pipe is full when the parent is slower. */
function say(text: string): void {
  for (;;)
    try {
      writeSync(1, text)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
}

say('\n')
load()
setInterval(() => {}, 1000)

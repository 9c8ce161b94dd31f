/** `kill -9` in the middle of load, repeatedly: the consumer gets no more than its limit, and each kill costs at most one reservation. */
import { spawn } from 'node:child_process'
import { beforeEach, expect, test } from 'vitest'
import { openJournalQuota } from '../../../../src/data-plane/quota/journal/journal-quota.ts'
import { reservation } from '../../../../src/data-plane/quota/journal/journal-reserver.ts'
import { bundledScript } from '../../../fixtures/bundled-script.ts'
import { passMidnight } from '../../../fixtures/same-day.ts'
import { newDirectory } from './journal-directory.ts'

/** SOAK=1 runs the long form. */
const ROUNDS = process.env.SOAK === '1' ? 50 : 6
const LIMIT = 100_000
const CHILD = new URL('./journal-child.ts', import.meta.url).pathname

async function round(dir: string, lifeMs: number): Promise<number> {
  const child = spawn(process.execPath, [await bundledScript(CHILD), dir, String(LIMIT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let granted = 0
  const ended = new Promise(resolve => child.once('close', resolve))
  await new Promise<void>(resolve =>
    child.stdout.on('data', (data: Buffer) => {
      granted += data.toString('latin1').replaceAll('\n', '').length
      resolve()
    }),
  )
  setTimeout(() => child.kill('SIGKILL'), lifeMs)
  await ended
  return granted
}

beforeEach(() => passMidnight(20_000), 30_000)

test(
  `over ${ROUNDS} kills the daily count is what clients saw, and at most the stated reserve above it`,
  async () => {
    const dir = newDirectory()
    const limits = { perDay: LIMIT, perMonth: LIMIT * 10 }
    let seen = 0
    let reserve = 0
    for (let i = 0; i < ROUNDS; i++) {
      seen += await round(dir, 10 + ((i * 37) % 90))
      reserve += reservation(limits, seen + reserve)
    }
    const quota = openJournalQuota({ dir, consumers: 64, toolBuckets: 1 })
    const { dailyCount, monthlyCount } = quota.statisticsOf('tenant/consumer')!
    await quota.close()
    console.log(
      `kill -9 × ${ROUNDS}: clients saw ${seen}, counted ${dailyCount}, above by ${dailyCount - seen}, stated reserve ${reserve}`,
    )
    expect(seen).toBeGreaterThan(ROUNDS * 20)
    expect(seen).toBeLessThanOrEqual(LIMIT)
    expect(dailyCount).toBeGreaterThanOrEqual(seen)
    expect(dailyCount).toBeLessThanOrEqual(seen + reserve)
    expect(monthlyCount).toBe(dailyCount)
  },
  ROUNDS * 5_000,
)

/** Worker threads that share the journaled quotas of one process: one limit, kept over a restart and a thread that ends; resets, orders to clear caches. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openJournalQuota } from '../../../src/data-plane/quota/journal/journal-quota.ts'
import { passMidnight } from '../../fixtures/same-day.ts'
import { mostSurelyInside } from '../../unit/data-plane/kernel/window/oracle.ts'
import { load } from './counting-thread.ts'
import { CountingThread } from './thread-pool.ts'

const SIZES = { consumers: 64, toolBuckets: 8, threads: 4 }
const dirs: string[] = []
beforeEach(() => passMidnight(20_000), 30_000)
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true })
})

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'quota-threads-'))
  dirs.push(dir)
  return dir
}

test('four threads share one limit, and the next process restores all they used', async () => {
  const dir = directory()
  const quota = openJournalQuota({ dir, ...SIZES })
  const limits = { perSecond: 300, perDay: 100_000 }
  const job = { key: 'tenant/consumer', limits, seconds: 2, atOnce: 4, everyMs: 2 }
  const threads = await Promise.all(
    [1, 2, 3].map(thread => CountingThread.start({ share: quota.share, thread, dir })),
  )
  const reports = await Promise.all([load(quota, job), ...threads.map(thread => thread.load(job))])
  const grants = reports.flatMap(({ grants }) => grants.map(([from, to]) => ({ from, to })))
  console.log(
    `journal, 4 threads: ${grants.length} of ${reports.reduce((sum, { calls }) => sum + calls, 0)} calls admitted at 300/s in 2 s`,
  )
  expect(mostSurelyInside(grants, 1000)).toBeLessThanOrEqual(300)
  expect(grants.length).toBeGreaterThanOrEqual(300 * 2 * 0.97)
  expect(quota.statisticsOf('tenant/consumer')!.dailyCount).toBe(grants.length)
  await Promise.all(threads.map(thread => thread.close()))
  await quota.close()

  const next = openJournalQuota({ dir, ...SIZES })
  expect(next.statisticsOf('tenant/consumer')!.dailyCount).toBe(grants.length)
  await next.close()
}, 60_000)

test('a thread that ends under load leaves a usable table, and its use stays counted', async () => {
  const dir = directory()
  const quota = openJournalQuota({ dir, ...SIZES })
  const job = { key: 'tenant/consumer', limits: { perDay: 1_000_000 }, seconds: 2, atOnce: 50, everyMs: 1 }
  const [gone, stays] = await Promise.all(
    [1, 2].map(thread => CountingThread.start({ share: quota.share, thread, dir })),
  )
  const countedSoFar = () => quota.statisticsOf(job.key)?.dailyCount ?? 0
  // it is terminated long before its time is over
  void gone!.load({ ...job, seconds: 60 }).catch(() => {})
  await expect.poll(countedSoFar).toBeGreaterThan(0)
  // the other thread has counted nothing yet
  const ofGone = countedSoFar()
  const kept = stays!.load(job)
  await new Promise(resolve => setTimeout(resolve, 300))
  await gone!.terminate()
  quota.detach(1)
  const { grants } = await kept
  expect(grants.length).toBeGreaterThan(1000)
  expect(quota.take({ key: job.key, limits: job.limits, nowMs: Date.now() }).granted).toBe(true)
  const counted = quota.statisticsOf(job.key)!.dailyCount
  expect(counted).toBeGreaterThan(grants.length + ofGone)
  await stays!.close()
  await quota.close()
  const next = openJournalQuota({ dir, ...SIZES })
  expect(next.statisticsOf(job.key)!.dailyCount).toBeGreaterThanOrEqual(counted)
  await next.close()
}, 60_000)

test('threads that end within a call leave no lock and no call in flight', async () => {
  const dir = directory()
  const quota = openJournalQuota({ dir, ...SIZES })
  const job = { key: 'tenant/consumer', limits: { perDay: 100_000_000, burst: 2 } }
  const take = () => quota.take({ ...job, nowMs: Date.now() })
  for (let round = 0; round < 20; round++) {
    const thread = await CountingThread.start({ share: quota.share, thread: 1, dir })
    await thread.spin(job)
    await new Promise(resolve => setTimeout(resolve, 20 + round))
    await thread.terminate()
    quota.detach(1)
    // as many as the plan allows at once
    const grants = [take(), take()]
    expect(grants.map(({ granted }) => granted)).toEqual([true, true])
    expect(quota.useOf([job.key])).toMatchObject([{ inFlight: 2 }])
    for (const grant of grants) if (grant.granted) grant.release()
  }
  await quota.close()
}, 60_000)

test('a reset and an order to clear caches reach every thread at once', async () => {
  const dir = directory()
  const quota = openJournalQuota({ dir, ...SIZES })
  const limits = { perDay: 5 }
  const job = { key: 'tenant/consumer', limits, seconds: 0.05, atOnce: 10, everyMs: 2 }
  const [one, two] = await Promise.all(
    [1, 2].map(thread => CountingThread.start({ share: quota.share, thread, dir })),
  )
  expect((await one!.load(job)).grants).toHaveLength(5)
  expect((await two!.load(job)).grants).toHaveLength(0)
  const before = quota.revision()
  expect(await two!.reset(job.key)).toBe(true)
  expect(quota.revision()).toBeGreaterThan(before)
  expect(quota.statisticsOf(job.key)!.dailyCount).toBe(0)
  expect((await one!.load(job)).grants).toHaveLength(5)

  const heard = new Promise<void>(resolve => quota.onCleared(resolve))
  expect(await two!.clear()).toBe(0)
  await heard
  expect((await one!.load(job)).cleared).toBe(1)
  await Promise.all([one!.close(), two!.close()])
  await quota.close()
}, 60_000)

/** Worker threads of two instances on one Redis: one thread of each holds the connection, the others count in its table; one limit for all of them. */
import { MessageChannel } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlanLimits } from '../../src/model/plan.ts'
import { openRedisQuota, type RedisQuota } from '../../src/quota/redis/redis-quota.ts'
import { load, type ThreadReport } from '../contract/quota/counting-thread.ts'
import { CountingThread } from '../contract/quota/thread-pool.ts'
import { mostSurelyInside } from '../kernel/window/oracle.ts'
import { REDIS_HINT, RedisServer, withoutRedis } from './redis/redis-server.ts'

const LONGEST_MS = 50
let run = 0

describe.skipIf(withoutRedis)(`threads on Redis${REDIS_HINT}`, () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  interface Job {
    readonly limits: PlanLimits
    readonly tool?: { readonly requestsPerMinute: number; readonly burst: number }
    readonly seconds: number
    readonly atOnce: number
    readonly everyMs: number
  }

  /** Two instances; two threads join the first. */
  async function deployed(job: Job) {
    const keyPrefix = `threads-${run++}`
    const key = 'tenant/consumer'
    const open = () =>
      openRedisQuota({ url: server.url, keyPrefix, consumers: 256, toolBuckets: 64, threads: 3 })
    const [one, two] = [open(), open()]
    await Promise.all([one.ready, two.ready])
    const threads = await Promise.all([1, 2].map(thread => join(one, thread, { ...job, key })))
    return {
      one,
      two,
      threads,
      key,
      load: () =>
        Promise.all([
          load(one, { ...job, key }),
          load(two, { ...job, key }),
          ...threads.map(thread => thread.load()),
        ]),
      async close() {
        await Promise.all(threads.map(thread => thread.close()))
        await Promise.all([one.close(), two.close()])
      },
    }
  }

  function join(quota: RedisQuota, thread: number, job: Job & { readonly key: string }) {
    const { port1, port2 } = new MessageChannel()
    quota.serve(port1)
    return CountingThread.start({ ...job, share: quota.share, thread }, port2)
  }

  const granted = (reports: readonly ThreadReport[]) =>
    reports.flatMap(({ grants }) => grants.map(([from, to]) => ({ from, to })))

  test('all of them get one limit together, nearly all of it, and seldom wait', async () => {
    const seconds = 4
    const all = await deployed({ limits: { perSecond: 200 }, seconds, atOnce: 4, everyMs: 4 })
    const reports = await all.load()
    await all.close()
    const grants = granted(reports)
    const calls = reports.reduce((sum, report) => sum + report.calls, 0)
    const alone = 1 - reports.reduce((sum, report) => sum + report.waited, 0) / calls
    console.log(
      `2 instances with 4 threads, ${seconds} s, 200/s: ${grants.length} of ${calls} calls admitted, ${(alone * 100).toFixed(2)} % decided at once, longest wait ${Math.max(...reports.map(({ longestMs }) => longestMs)).toFixed(0)} ms`,
    )
    expect(mostSurelyInside(grants, 1000)).toBeLessThanOrEqual(200)
    expect(grants.length).toBeGreaterThanOrEqual(200 * seconds * 0.97)
    expect(alone).toBeGreaterThanOrEqual(0.95)
    const lagMs = Math.max(...reports.map(report => report.lagMs))
    for (const { longestMs } of reports) expect(longestMs).toBeLessThanOrEqual(LONGEST_MS + lagMs)
  }, 60_000)

  test('a day and a tool have no unit too many, also when threads alone call', async () => {
    const limits = { perSecond: 5000, perDay: 400 }
    const day = await deployed({ limits, seconds: 1.5, atOnce: 4, everyMs: 4 })
    const counts = await Promise.all(day.threads.map(thread => thread.load()))
    expect(granted(counts)).toHaveLength(400)
    expect((await day.one.statistics()).find(row => row.key === day.key)).toMatchObject({ dailyCount: 400 })
    expect((await day.two.statistics()).find(row => row.key === day.key)).toMatchObject({ dailyCount: 400 })
    await day.close()

    const tool = { requestsPerMinute: 600, burst: 20 }
    const bucket = await deployed({ limits: {}, tool, seconds: 2, atOnce: 4, everyMs: 4 })
    const reports = await bucket.load()
    await bucket.close()
    for (const lengthMs of [100, 1000])
      expect(mostSurelyInside(granted(reports), lengthMs)).toBeLessThanOrEqual(
        20 + (600 * (lengthMs + 1)) / 60_000,
      )
    expect(granted(reports).length).toBeGreaterThan(20)
  }, 60_000)

  test('a reset by a thread holds everywhere at once, and every thread and instance hears that caches are to be cleared', async () => {
    const all = await deployed({ limits: { perDay: 20 }, seconds: 0.3, atOnce: 4, everyMs: 4 })
    expect(granted(await all.load())).toHaveLength(20)
    expect(granted(await all.load())).toHaveLength(0)
    const before = all.two.revision()
    expect(await all.threads[0]!.reset(all.key)).toBe(true)
    await expect.poll(() => all.two.revision()).toBeGreaterThan(before)
    expect(granted(await all.load())).toHaveLength(20)

    const heard: string[] = []
    all.one.onCleared(() => heard.push('one'))
    all.two.onCleared(() => heard.push('two'))
    expect(await all.threads[1]!.clear()).toBe(0)
    await expect.poll(() => [...heard].sort()).toEqual(['one', 'two'])
    const reports = await Promise.all(all.threads.map(thread => thread.load()))
    expect(reports.map(({ cleared }) => cleared)).toEqual([1, 0])
    await all.close()
  }, 60_000)

  test('without the thread that holds Redis nothing is granted beyond what is held, and nobody waits for it', async () => {
    const all = await deployed({ limits: { perSecond: 100 }, seconds: 1, atOnce: 2, everyMs: 4 })
    await server.kill()
    const reports = await Promise.all(all.threads.map(thread => thread.load()))
    const lagMs = Math.max(...reports.map(report => report.lagMs))
    expect(mostSurelyInside(granted(reports), 1000)).toBeLessThanOrEqual(100)
    for (const { longestMs } of reports) expect(longestMs).toBeLessThanOrEqual(LONGEST_MS + lagMs)
    await server.start()
    await expect
      .poll(async () => granted(await Promise.all(all.threads.map(thread => thread.load()))).length, {
        timeout: 10_000,
      })
      .toBeGreaterThan(0)
    await all.close()
  }, 60_000)
})

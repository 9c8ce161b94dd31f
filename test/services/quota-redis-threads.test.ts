/** Two instances on one Redis, the first with two more threads, which count in the table of the thread with the connection: one limit for all. */
import { MessageChannel } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRedisQuota, type RedisQuota } from '../../src/data-plane/quota/redis/redis-quota.ts'
import { load, type ThreadJob, type ThreadReport } from '../contract/quota/counting-thread.ts'
import { CountingThread } from '../contract/quota/thread-pool.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'
import { passMidnight } from '../fixtures/same-day.ts'
import { mostSurelyInside } from '../unit/data-plane/kernel/window/oracle.ts'

const MAX_MS = 50
/** For the calls that are due: on a machine without other work each thread makes more. */
const MIN_PACE = 0.75

describe.skipIf(withoutRedis)(`threads on Redis${SKIPPED_HINT}`, () => {
  let server: RedisServer
  let one: RedisQuota
  let two: RedisQuota
  /** Threads of the first instance. */
  let threads: CountingThread[]
  beforeAll(async () => {
    await passMidnight(90_000)
    server = await RedisServer.start()
    const open = () => openRedisQuota({ redis: server.url, consumers: 256, toolBuckets: 64, threads: 3 })
    ;[one, two] = [open(), open()]
    await Promise.all([one.ready, two.ready])
    threads = await Promise.all([1, 2].map(join))
  })
  afterAll(async () => {
    await Promise.all(threads.map(thread => thread.close()))
    await Promise.all([one.close(), two.close()])
    await server.stop()
  })

  function join(thread: number): Promise<CountingThread> {
    const { port1, port2 } = new MessageChannel()
    one.serve(port1)
    return CountingThread.start({ share: one.share, thread }, port2)
  }

  const inThreads = (job: ThreadJob) => Promise.all(threads.map(thread => thread.load(job)))
  const everywhere = async (job: ThreadJob) => {
    const [first, second, others] = await Promise.all([load(one, job), load(two, job), inThreads(job)])
    return [first, second, ...others]
  }
  const granted = (reports: readonly ThreadReport[]) =>
    reports.flatMap(({ grants }) => grants.map(([from, to]) => ({ from, to })))

  test('all of them get one limit together, nearly all of it, and seldom wait', async () => {
    const seconds = 4
    const pace = { seconds, atOnce: 4, everyMs: 4 }
    const dueOfThread = (pace.atOnce * seconds * 1000) / pace.everyMs
    // a machine that is busy with other things lets threads wait for their turn: they have three tries to use all
    for (let tries = 3; tries > 0; tries--) {
      const reports = await everywhere({ key: `a/limit-${tries}`, limits: { perSecond: 200 }, ...pace })
      const grants = granted(reports)
      const calls = reports.reduce((sum, report) => sum + report.calls, 0)
      const alone = 1 - reports.reduce((sum, report) => sum + report.waited, 0) / calls
      console.log(
        `2 instances with 4 threads, ${seconds} s, 200/s: ${grants.length} of ${calls} calls admitted, ${(alone * 100).toFixed(2)} % decided without Redis, longest wait ${Math.max(...reports.map(({ longestMs }) => longestMs)).toFixed(0)} ms`,
      )
      expect(mostSurelyInside(grants, 1000)).toBeLessThanOrEqual(200)
      const lagMs = Math.max(...reports.map(report => report.lagMs))
      for (const { longestMs } of reports) expect(longestMs).toBeLessThanOrEqual(MAX_MS + lagMs)
      const used = grants.length / (200 * seconds)
      const isGood = used >= 0.97 && alone >= 0.85
      if (tries > 1 && !isGood) continue
      // bad figures of threads that could make only some of their calls say nothing about a machine on which they can
      const made = Math.min(...reports.map(report => report.calls)) / dueOfThread
      if (!isGood && made < MIN_PACE)
        return console.log(`not judged: a thread could make ${(made * 100).toFixed(0)} % of its calls`)
      expect(used).toBeGreaterThanOrEqual(0.97)
      // All threads of the machine share its few processors here: how few wait on their own instances is shown by the load test.
      expect(alone).toBeGreaterThanOrEqual(0.85)
      return
    }
  }, 120_000)

  test('a day and a tool have no unit too many, also when threads alone call', async () => {
    const day = { key: 'a/day', limits: { perSecond: 5000, perDay: 400 }, seconds: 1, atOnce: 4, everyMs: 4 }
    expect(granted(await inThreads(day))).toHaveLength(400)
    for (const quota of [one, two])
      expect((await quota.statistics()).find(row => row.key === day.key)).toMatchObject({ dailyCount: 400 })
    const tool = { requestsPerMinute: 600, burst: 20 }
    const reports = await everywhere({ key: 'a/tool', limits: {}, tool, seconds: 1, atOnce: 4, everyMs: 4 })
    for (const lengthMs of [100, 1000])
      expect(mostSurelyInside(granted(reports), lengthMs)).toBeLessThanOrEqual(
        20 + (600 * (lengthMs + 1)) / 60_000,
      )
    expect(granted(reports).length).toBeGreaterThan(20)
  }, 60_000)

  test('a reset by a thread holds everywhere, and both instances and the other thread are notified to clear caches', async () => {
    const job = { key: 'a/reset', limits: { perDay: 20 }, seconds: 1, atOnce: 4, everyMs: 4 }
    expect(granted(await everywhere(job))).toHaveLength(20)
    expect(granted(await everywhere(job))).toHaveLength(0)
    const before = two.revision()
    expect(await threads[0]!.reset(job.key)).toBe(true)
    await expect.poll(() => two.revision()).toBeGreaterThan(before)
    expect(granted(await everywhere(job))).toHaveLength(20)

    const heard: string[] = []
    one.onCleared(() => heard.push('one'))
    two.onCleared(() => heard.push('two'))
    expect(await threads[1]!.clear()).toBe(0)
    await expect.poll(() => [...heard].sort()).toEqual(['one', 'two'])
    const reports = await inThreads({ ...job, seconds: 0.05 })
    expect(reports.map(({ cleared }) => cleared)).toEqual([1, 0])
  }, 60_000)

  test('while Redis is unavailable nothing is granted beyond what is held, and no call waits for it', async () => {
    // far from the limit a lease holds units for ten seconds
    const job = { key: 'a/away', limits: { perMinute: 50_000 }, seconds: 0.5, atOnce: 2, everyMs: 4 }
    const before = granted(await inThreads(job)).length
    expect(before).toBeGreaterThan(0)
    await server.kill()
    const spending = { ...job, seconds: 0.2, atOnce: 20 }
    const reports: ThreadReport[] = []
    const spend = async (): Promise<number> => {
      const both = await inThreads(spending)
      reports.push(...both)
      return granted(both).length
    }
    // the units that are held, until none is left
    await expect.poll(spend, { interval: 1 }).toBe(0)
    expect(granted(reports).length).toBeGreaterThan(0)
    expect(before + granted(reports).length).toBeLessThan(job.limits.perMinute)
    const lagMs = Math.max(...reports.map(report => report.lagMs))
    for (const { longestMs } of reports) expect(longestMs).toBeLessThanOrEqual(MAX_MS + lagMs)
    await server.start()
    await expect
      .poll(async () => granted(await inThreads({ ...job, seconds: 0.2 })).length, { timeout: 10_000 })
      .toBeGreaterThan(0)
  }, 60_000)
})

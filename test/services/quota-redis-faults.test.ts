/** Redis is killed, paused or emptied under load: no limit is exceeded, and calls go on within five seconds unless an instance died with the data. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { PlanLimits } from '../../src/model/plan.ts'
import { mostSurelyInside, type Span } from '../unit/data-plane/kernel/window/oracle.ts'
import { type Load, type LoadReport, prepareLoad, together } from './redis/load.ts'
import { REDIS_HINT, RedisServer, withoutRedis } from './redis/redis-server.ts'

const SOAK = process.env.SOAK === '1'
/** The allowed wait; the wait itself ends earlier, so that a timer may be late. */
const MAX_MS = 50
const nowMs = () => Number(process.hrtime.bigint() / 1000n) / 1000

// Each has its own server, and they mostly wait: side by side they take as long as the longest.
const beside = SOAK ? test : test.concurrent

describe.skipIf(withoutRedis)(`Redis in trouble under load${REDIS_HINT}`, () => {
  /** Two instances under load, and what happens meanwhile. */
  async function run(
    limits: PlanLimits,
    seconds: number,
    trouble: (server: RedisServer, load: Load) => Promise<void>,
  ): Promise<{ grants: Span[]; reports: LoadReport[] }> {
    const server = await RedisServer.start()
    try {
      const load = await prepareLoad(2, {
        redis: server.url,
        keyPrefix: 'faults',
        key: 'tenant/consumer',
        limits,
        seconds,
        atOnce: 4,
        everyMs: 2,
      })
      load.go()
      await trouble(server, load)
      const reports = await load.reports
      return { grants: together(reports), reports }
    } finally {
      await server.stop()
    }
  }

  function expectSwift(reports: readonly LoadReport[]): void {
    for (const { longestMs, lagMs } of reports) expect(longestMs).toBeLessThanOrEqual(MAX_MS + lagMs)
  }

  /** Milliseconds from `at` to the first grant that surely came after it. */
  function firstAfter(grants: readonly Span[], at: number): number {
    return Math.min(...grants.filter(({ from }) => from >= at).map(({ to }) => to)) - at
  }

  const troubles: [string, number, (server: RedisServer) => Promise<number>][] = [
    [
      'killed and restarted empty',
      8,
      async server => {
        await server.kill()
        await sleep(SOAK ? 3000 : 800)
        await server.start()
        return nowMs()
      },
    ],
    [
      'paused',
      SOAK ? 14 : 9,
      async server => {
        server.signal('SIGSTOP')
        await sleep(SOAK ? 5000 : 2500)
        server.signal('SIGCONT')
        return nowMs()
      },
    ],
    [
      'emptied',
      6,
      async server => {
        await server.command(redis => redis.flushall())
        return nowMs()
      },
    ],
  ]

  beside.each(troubles)(
    '%s: no second above its limit, no call held up, and on within 5 s',
    async (name, seconds, trouble) => {
      let backAt = 0
      const { grants, reports } = await run(
        { perSecond: 100, perMinute: 20_000, perDay: 100_000 },
        seconds,
        async server => {
          await sleep(2000)
          backAt = await trouble(server)
        },
      )
      const max = mostSurelyInside(grants, 1000)
      const recoveryMs = firstAfter(grants, backAt)
      const before = grants.filter(({ to }) => to < backAt).length
      console.log(
        `${name}: ${grants.length} admitted (${before} before it was back), at most ${max} of 100 in any second, longest wait ${Math.max(...reports.map(report => report.longestMs)).toFixed(0)} ms (event loop late by up to ${Math.max(...reports.map(report => report.lagMs)).toFixed(0)} ms), on after ${recoveryMs.toFixed(0)} ms`,
      )
      expect(max).toBeLessThanOrEqual(100)
      expect(recoveryMs).toBeLessThan(5000)
      // It has really gone on: more than a lease that was still held.
      expect(grants.filter(({ from }) => from >= backAt).length).toBeGreaterThan(100)
      expectSwift(reports)
    },
    60_000,
  )

  beside(
    'a minute that is half used when Redis is emptied is given out to its end, and no further',
    async () => {
      const { grants } = await run(
        { perSecond: 60, perMinute: 300, perDay: 5000 },
        SOAK ? 15 : 9,
        async server => {
          await sleep(2500)
          await server.kill()
          await sleep(300)
          await server.start()
        },
      )
      console.log(`a minute of 300 over a restart: ${grants.length} admitted`)
      expect(grants.length).toBeLessThanOrEqual(300)
      expect(grants.length).toBeGreaterThanOrEqual(291)
    },
    60_000,
  )

  beside(
    'an instance that dies together with the data takes its use with it: nothing more is granted while that may count',
    async () => {
      const { grants, reports } = await run({ perMinute: 400 }, 8, async (server, load) => {
        await sleep(1500)
        load.kill(0)
        await server.command(redis => redis.flushall())
      })
      // The killed one reports nothing; what it was granted is at most what the other was not.
      expect(reports[0]!.calls).toBe(0)
      console.log(`one of two killed with the data: the other was granted ${grants.length} of 400`)
      expect(grants.length).toBeLessThan(400)
      const late = grants.filter(({ from }) => from > grants[0]!.from + 4500)
      expect(late).toEqual([])
    },
    60_000,
  )
})

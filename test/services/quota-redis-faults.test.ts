/** Redis is killed, paused or emptied under load: no limit is exceeded, and calls go on within five seconds unless an instance died with the data. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import type { PlanLimits } from '../../src/model/plan.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'
import { mostSurelyInside, type Span } from '../unit/data-plane/kernel/window/oracle.ts'
import { type Load, type LoadReport, prepareLoad, together } from './redis/load.ts'

const SOAK = process.env.SOAK === '1'
/** The allowed wait; the wait itself ends earlier, so that a timer may be late. */
const MAX_MS = 50
/** The load ends when a test has seen what it waits for; this ends it otherwise. */
const MAX_SECONDS = SOAK ? 60 : 40
const SOON = { timeout: 30_000, interval: 20 }
/** Units of a lease near a limit can be spent for so long. */
const LEASE_MS = 2000
const nowMs = () => Number(process.hrtime.bigint() / 1000n) / 1000
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

// Each has its own server, and they mostly wait: side by side they take as long as the longest.
const beside = SOAK ? test : test.concurrent

describe.skipIf(withoutRedis)(`Redis in trouble under load${SKIPPED_HINT}`, () => {
  /** Two instances under load until what happens meanwhile has ended. */
  async function run(
    limits: PlanLimits,
    trouble: (server: RedisServer, load: Load) => Promise<void>,
  ): Promise<{ grants: Span[]; reports: LoadReport[] }> {
    const server = await RedisServer.start()
    try {
      const load = await prepareLoad(2, {
        redis: server.url,
        keyPrefix: 'faults',
        key: 'tenant/consumer',
        limits,
        seconds: MAX_SECONDS,
        atOnce: 4,
        everyMs: 2,
      })
      load.go()
      try {
        await trouble(server, load)
      } finally {
        load.stop()
      }
      const reports = await load.reports
      return { grants: together(reports), reports }
    } finally {
      await server.stop()
    }
  }

  /** Until all together were granted so many. */
  const untilGranted = ({ granted }: Load, units: number) => vi.waitUntil(() => sum(granted) >= units, SOON)

  function expectSwift(reports: readonly LoadReport[]): void {
    for (const { longestMs, lagMs } of reports) expect(longestMs).toBeLessThanOrEqual(MAX_MS + lagMs)
  }

  /** Milliseconds from `at` to the first grant that surely came after it. */
  function firstAfter(grants: readonly Span[], at: number): number {
    return Math.min(...grants.filter(({ from }) => from >= at).map(({ to }) => to)) - at
  }

  const troubles: [string, (server: RedisServer) => Promise<number>][] = [
    [
      'killed and restarted empty',
      async server => {
        await server.kill()
        await sleep(SOAK ? 3000 : 800)
        await server.start()
        return nowMs()
      },
    ],
    [
      'paused',
      async server => {
        server.signal('SIGSTOP')
        await sleep(SOAK ? 5000 : 2500)
        server.signal('SIGCONT')
        return nowMs()
      },
    ],
    [
      'emptied',
      async server => {
        await server.command(redis => redis.flushall())
        return nowMs()
      },
    ],
  ]

  beside.each(troubles)(
    '%s: no second above its limit, no call held up, and on within 5 s',
    async (name, trouble) => {
      let backAt = 0
      const { grants, reports } = await run(
        { perSecond: 100, perMinute: 20_000, perDay: 100_000 },
        async (server, load) => {
          await untilGranted(load, 150)
          backAt = await trouble(server)
          // three seconds at the limit, and what was granted before and is not known here yet
          await untilGranted(load, sum(load.granted) + 300)
          await sleep(SOAK ? 3000 : 0)
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
      const { grants } = await run({ perSecond: 60, perMinute: 300, perDay: 5000 }, async (server, load) => {
        await untilGranted(load, 150)
        await server.kill()
        await sleep(300)
        await server.start()
        await untilGranted(load, 291)
        // as long as the units that are left would take three times
        await sleep(SOAK ? 5000 : 500)
      })
      console.log(`a minute of 300 over a restart: ${grants.length} admitted`)
      expect(grants.length).toBeLessThanOrEqual(300)
      expect(grants.length).toBeGreaterThanOrEqual(291)
    },
    60_000,
  )

  beside(
    'an instance that dies together with the data takes its use with it: nothing more is granted while that may count',
    async () => {
      let emptiedAt = 0
      // the limit of a second leaves units of the minute, whichever instance begins first
      const { grants, reports } = await run({ perSecond: 40, perMinute: 400 }, async (server, load) => {
        await vi.waitUntil(() => Math.min(...load.granted) > 0, SOON)
        load.kill(0)
        await server.command(redis => redis.flushall())
        emptiedAt = nowMs()
        await sleep(LEASE_MS + 4000)
      })
      // The killed one reports nothing; what it was granted is at most what the other was not.
      expect(reports[0]!.calls).toBe(0)
      console.log(`one of two killed with the data: the other was granted ${grants.length} of 400`)
      expect(grants.length).toBeGreaterThan(0)
      expect(grants.length).toBeLessThan(400)
      const late = grants.filter(({ from }) => from > emptiedAt + LEASE_MS)
      expect(late).toEqual([])
    },
    60_000,
  )
})

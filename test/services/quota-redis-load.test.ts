/** Two or four instances on a real Redis, one consumer, saturating load: no limit is exceeded; second and day are nearly used up, with few waits. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'
import { mostSurelyInside } from '../unit/data-plane/kernel/window/oracle.ts'
import { type LoadJob, prepareLoad, sum, together } from './redis/load.ts'

const SOAK = process.env.SOAK === '1'
const SECONDS = SOAK ? 30 : 5
/** In the short form side by side: all of them wait for the same seconds. */
const beside = SOAK ? test : test.concurrent
/** A machine that is busy with other things lets instances wait for Redis, and for their turn: how well they use a limit shows in the best of these. */
const TRIES = 4
let run = 0

describe.skipIf(withoutRedis)(`instances under load${SKIPPED_HINT}`, () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  const job = (limits: LoadJob['limits'], more: Partial<LoadJob> = {}): LoadJob => ({
    redis: server.url,
    keyPrefix: `load-${run++}`,
    key: 'tenant/consumer',
    limits,
    seconds: SECONDS,
    atOnce: 4,
    everyMs: 2,
    ...more,
  })

  async function load(instances: number, what: LoadJob) {
    const prepared = await prepareLoad(instances, what)
    prepared.go()
    const reports = await prepared.reports
    const grants = together(reports)
    const calls = sum(reports, 'calls')
    return { reports, grants, calls, alone: 1 - sum(reports, 'waited') / calls }
  }

  /** The limits hold in every try; nearly all of them is used, and nearly all calls go without Redis, in one at least. */
  async function untilGood(run: () => Promise<{ readonly used: number; readonly alone: number }>) {
    for (let left = TRIES - 1; ; left--) {
      const { used, alone } = await run()
      if (used >= 0.97 && alone >= 0.95) return
      if (left > 0) continue
      expect(used).toBeGreaterThanOrEqual(0.97)
      expect(alone).toBeGreaterThanOrEqual(0.95)
    }
  }

  beside.each(SOAK ? [2, 4] : [2])(
    '%i instances use at least 97 percent of a limit per second, and never more',
    async instances => {
      const limit = 200
      await untilGood(async () => {
        const { grants, calls, alone } = await load(instances, job({ perSecond: limit }))
        const max = mostSurelyInside(grants, 1000)
        const used = grants.length / (limit * SECONDS)
        console.log(
          `${instances} instances, ${SECONDS} s, ${limit}/s: ${grants.length} of ${calls} calls admitted = ${(used * 100).toFixed(1)} % of the limit, at most ${max} in any second, ${(alone * 100).toFixed(2)} % decided without Redis`,
        )
        expect(max).toBeLessThanOrEqual(limit)
        const spanMs = Math.max(...grants.map(({ to }) => to)) - Math.min(...grants.map(({ from }) => from))
        expect(grants.length).toBeLessThanOrEqual(limit * Math.ceil(spanMs / 1000))
        return { used, alone }
      })
    },
    240_000,
  )

  beside.each(SOAK ? [2, 4] : [4])(
    '%i instances share a day without one unit too many',
    async instances => {
      const limits = { perSecond: 5000, perMinute: 700, perDay: 600, perMonth: 10_000 }
      await untilGood(async () => {
        const { grants, alone } = await load(instances, job(limits, { seconds: Math.min(SECONDS, 10) }))
        console.log(
          `${instances} instances, a day of 600: ${grants.length} admitted, ${(alone * 100).toFixed(2)} % decided without Redis`,
        )
        expect(grants.length).toBeLessThanOrEqual(600)
        return { used: grants.length / 600, alone }
      })
    },
    240_000,
  )

  beside(
    'a token bucket and calls in flight hold over all instances',
    async () => {
      const tool = { requestsPerMinute: 1200, burst: 30 }
      const limits = { burst: 6 }
      const { reports, grants } = await load(2, job(limits, { tool, holdMs: 40, seconds: 4 }))
      for (const lengthMs of [100, 1000, 3000])
        expect(mostSurelyInside(grants, lengthMs)).toBeLessThanOrEqual(30 + (1200 * (lengthMs + 1)) / 60_000)
      const moves = [
        ...grants.map(({ to }) => [to, 1] as const),
        ...reports.flatMap(({ ends }) => ends.map(at => [at, -1] as const)),
      ].sort((a, b) => a[0] - b[0] || a[1] - b[1])
      let inFlight = 0
      let max = 0
      for (const [, step] of moves) {
        inFlight += step
        max = Math.max(max, inFlight)
      }
      console.log(
        `2 instances, bucket 1200/min + 30: ${grants.length} admitted, at most ${max} of 6 in flight`,
      )
      expect(max).toBeLessThanOrEqual(6)
      expect(grants.length).toBeGreaterThan(60)
    },
    60_000,
  )
})

/** The contract of every quota store, in real time: each kind of limit, changed limits, resets, statistics, use of a key, prepared keys. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type {
  Quota,
  QuotaGrant,
  QuotaRefusal,
  QuotaRequest,
  QuotaUse,
} from '../../../src/data-plane/quota/quota.ts'
import type { PlanLimits } from '../../../src/model/plan.ts'
import { passMidnight } from '../../fixtures/same-day.ts'

export interface Opened {
  readonly quota: Quota
  close(): Promise<void>
}

let consumer = 0

export function quotaContract(
  name: string,
  open: () => Promise<Opened>,
  options: { skip?: boolean } = {},
): void {
  describe.skipIf(options.skip === true)(`quota contract: ${name}`, () => {
    let opened: Opened
    let quota: Quota
    beforeAll(async () => {
      opened = await open()
      quota = opened.quota
    })
    afterAll(() => opened?.close())
    beforeEach(() => passMidnight(20_000), 30_000)

    const fresh = () => `tenant/consumer-${process.pid}-${consumer++}`
    const askOnce = (key: QuotaRequest['key'], limits: PlanLimits, more: Partial<QuotaRequest> = {}) =>
      Promise.resolve(quota.take({ key, limits, nowMs: Date.now(), ...more }))
    /** On a busy machine a store may not respond in time; such a call counts nothing and is repeated. */
    async function ask(key: QuotaRequest['key'], limits: PlanLimits, more?: Partial<QuotaRequest>) {
      for (let tries = 1; ; tries++) {
        const response = await askOnce(key, limits, more)
        if (response.granted || response.cause === undefined || tries === 50) return response
        await sleep(20)
      }
    }
    /** For calls that count in one short window: repeated with another consumer if a busy machine let too much time pass between them. */
    async function swiftly(maxMs: number, calls: (key: string) => Promise<void>): Promise<string> {
      for (let tries = 1; ; tries++) {
        const key = fresh()
        const begunAtMs = performance.now()
        try {
          await calls(key)
          return key
        } catch (error) {
          if (performance.now() - begunAtMs < maxMs || tries === 10) throw error
        }
      }
    }
    async function granted(key: QuotaRequest['key'], limits: PlanLimits, more?: Partial<QuotaRequest>) {
      const response = await ask(key, limits, more)
      expect(response.granted).toBe(true)
      return response as QuotaGrant
    }
    async function refused(key: QuotaRequest['key'], limits: PlanLimits, more?: Partial<QuotaRequest>) {
      const response = await ask(key, limits, more)
      expect(response.granted).toBe(false)
      return response as QuotaRefusal
    }

    test('per second: rolling, free again after one second', async () => {
      const key = await swiftly(1000, async one => {
        for (let i = 0; i < 5; i++) (await granted(one, { perSecond: 5 })).release()
        const refusal = await refused(one, { perSecond: 5 })
        expect(refusal).toMatchObject({ kind: 'second', used: 5, limit: 5, retryAfterSecs: 1 })
      })
      await sleep(1100)
      ;(await granted(key, { perSecond: 5 })).release()
    })

    test('per minute: the wait is at most sixty seconds', async () => {
      await swiftly(1000, async key => {
        for (let i = 0; i < 3; i++) (await granted(key, { perMinute: 3 })).release()
        const refusal = await refused(key, { perMinute: 3 })
        expect(refusal).toMatchObject({ kind: 'minute', used: 3, limit: 3 })
        expect(refusal.retryAfterSecs).toBeGreaterThanOrEqual(58)
        expect(refusal.retryAfterSecs).toBeLessThanOrEqual(60)
      })
    })

    test('daily: until 00:00 UTC', async () => {
      const key = fresh()
      for (let i = 0; i < 4; i++) (await granted(key, { perDay: 4 })).release()
      const nowMs = Date.now()
      const midnight = (Math.floor(nowMs / 86_400_000) + 1) * 86_400
      const refusal = await refused(key, { perDay: 4 }, { nowMs })
      expect(refusal).toMatchObject({ kind: 'day', used: 4, limit: 4 })
      expect(refusal.standing).toEqual({ limit: 4, remaining: 0, resetAtSecs: midnight })
      expect(Math.abs(refusal.retryAfterSecs - (midnight - nowMs / 1000))).toBeLessThanOrEqual(2)
    })

    test('monthly: until 00:00 UTC of the 1st', async () => {
      const key = fresh()
      for (let i = 0; i < 4; i++) (await granted(key, { perMonth: 4, perDay: 100 })).release()
      const now = new Date()
      const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) / 1000
      const refusal = await refused(key, { perMonth: 4, perDay: 100 })
      expect(refusal).toMatchObject({ kind: 'month', used: 4, limit: 4 })
      expect(refusal.standing).toEqual({ limit: 4, remaining: 0, resetAtSecs: next })
    })

    test('burst: when requests finish', async () => {
      const key = fresh()
      const first = await granted(key, { burst: 2 })
      await granted(key, { burst: 2 })
      expect(await refused(key, { burst: 2 })).toMatchObject({
        kind: 'burst',
        used: 2,
        limit: 2,
        retryAfterSecs: 1,
      })
      first.release()
      first.release()
      await granted(key, { burst: 2 })
      await refused(key, { burst: 2 })
    })

    test('tool: a bucket per tool and consumer, on top', async () => {
      const rateLimit = { requestsPerMinute: 60, burst: 2 }
      const x = { tool: { key: 'x', rateLimit } }
      const key = await swiftly(1000, async one => {
        await granted(one, {}, x)
        await granted(one, {}, x)
        const refusal = await refused(one, {}, x)
        expect(refusal).toMatchObject({ kind: 'tool', limit: 60, retryAfterSecs: 1 })
      })
      await granted(key, {}, { tool: { key: 'y', rateLimit } })
      await granted(fresh(), {}, x)
      await sleep(1100)
      await granted(key, {}, x)
    })

    test('without a limit every call is granted, without a standing', async () => {
      const key = fresh()
      for (let i = 0; i < 50; i++) expect((await granted(key, {})).standing).toBeUndefined()
    })

    test('a grant contains the standing of the tightest window', async () => {
      const key = fresh()
      const nowMs = Date.now()
      const { standing } = await granted(key, { perSecond: 50, perMinute: 10, perDay: 1000 }, { nowMs })
      expect(standing).toMatchObject({ limit: 10, remaining: 9 })
      expect(standing!.resetAtSecs).toBeGreaterThan(nowMs / 1000)
      expect(standing!.resetAtSecs).toBeLessThanOrEqual(nowMs / 1000 + 61)
    })

    test('a limit that is lowered or raised holds at once, with what was used before', async () => {
      const key = fresh()
      for (let i = 0; i < 6; i++) await granted(key, { perDay: 10 })
      expect(await refused(key, { perDay: 6 })).toMatchObject({ kind: 'day', used: 6, limit: 6 })
      await granted(key, { perDay: 7 })
      await refused(key, { perDay: 7 })
    })

    test('a prepared key is the same consumer as its name', async () => {
      const name = fresh()
      await granted(quota.key(name), { perDay: 2 })
      await granted(name, { perDay: 2 })
      await refused(quota.key(name), { perDay: 2 })
      expect(quota.key(name).name).toBe(name)
    })

    test('statistics list the counts; reset sets daily and monthly to zero at once', async () => {
      const key = fresh()
      for (let i = 0; i < 3; i++) await granted(key, { perDay: 3, perMonth: 50 })
      await refused(key, { perDay: 3, perMonth: 50 })
      const of = async () => (await quota.statistics()).find(row => row.key === key)
      expect(await of()).toEqual({ key, dailyCount: 3, dailyLimit: 3, monthlyCount: 3, monthlyLimit: 50 })
      expect(await quota.reset(key)).toBe(true)
      expect(await of()).toMatchObject({ dailyCount: 0, monthlyCount: 0 })
      for (let i = 0; i < 3; i++) await granted(key, { perDay: 3, perMonth: 50 })
      expect(await refused(key, { perDay: 3, perMonth: 50 })).toMatchObject({ kind: 'day' })
      expect(await of()).toMatchObject({ dailyCount: 3, monthlyCount: 3 })
    })

    test('statistics of one key, also of a name that the list shortens', async () => {
      const long = `${fresh()}-${'x'.repeat(200)}`
      for (let i = 0; i < 2; i++) await granted(long, { perDay: 3, perMonth: 50 })
      expect(await quota.statisticsOf(long)).toMatchObject({
        dailyCount: 2,
        dailyLimit: 3,
        monthlyCount: 2,
        monthlyLimit: 50,
      })
      expect(await quota.statisticsOf(`${long}y`)).toBeUndefined()
      const short = fresh()
      await granted(short, { perDay: 3 })
      expect(await quota.statisticsOf(short)).toEqual(
        (await quota.statistics()).find(row => row.key === short),
      )
    })

    test('the use of a key: its rolling windows and its calls in flight', async () => {
      const key = fresh()
      const limits = { perSecond: 50, perMinute: 100, burst: 5 }
      expect(await quota.useOf([key])).toEqual([{ second: 0, minute: 0, inFlight: 0 }])
      const grants = [await granted(key, limits), await granted(key, limits), await granted(key, limits)]
      grants[0]!.release()
      const [{ minute, inFlight }] = (await quota.useOf([key])) as [QuotaUse]
      expect({ minute, inFlight }).toEqual({ minute: 3, inFlight: 2 })
      for (const grant of grants.slice(1)) grant.release()
      await sleep(1100)
      expect(await quota.useOf([key])).toEqual([{ second: 0, minute: 3, inFlight: 0 }])
    })

    test('a reset of an unknown key returns false', async () => {
      expect(await quota.reset('unknown/consumer')).toBe(false)
    })

    test('many at once on one consumer: exactly the limit', async () => {
      const key = fresh()
      let granted = 0
      let calls = 400
      // On a busy machine a store may not respond in time; the refused call is repeated here.
      for (let round = 0; calls > 0 && round < 20; round++) {
        const responses = await Promise.all(
          Array.from({ length: calls }, () => askOnce(key, { perDay: 130, perMinute: 200 })),
        )
        granted += responses.filter(response => response.granted).length
        calls = responses.filter(response => !response.granted && response.cause !== undefined).length
        if (calls > 0) await sleep(100)
      }
      expect(granted).toBe(130)
    })
  })
}

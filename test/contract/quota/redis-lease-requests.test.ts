/** When units of a consumer are requested, reported, returned and end, also without responses and after a loss of data, read from requests to a real Redis. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { QuotaRefusal } from '../../../src/data-plane/quota/quota.ts'
import type { PlanLimits } from '../../../src/model/plan.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { Deployment, type Instance, LEASE_MS, until } from './recorded-deployment.ts'

const NAME = 'acme/app'
/** Rolling windows are recorded where they are limited. */
const MINUTE = { perSecond: 1_000, perMinute: 1_000 }
/** While half of every limit is left. */
const LONG_MS = 5 * LEASE_MS
const EARLY_MS = 200

describe.skipIf(!hasRedis())(`the units of a consumer (${REDIS_HINT})`, () => {
  let server: RedisServer
  let deployment: Deployment
  let one: Instance
  let count = 0
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    deployment = await Deployment.begin(server, `units-${count++}`)
    one = await deployment.open()
  })
  afterEach(() => deployment.close())

  /** Calls that are granted without a request. */
  function grantedAtOnce(calls: number, limits: PlanLimits = MINUTE): void {
    for (let call = 0; call < calls; call++)
      expect(one.takeAtOnce(NAME, limits)).toMatchObject({ granted: true })
  }
  const take = (limits: PlanLimits = MINUTE) => one.take(NAME, limits)
  const sum = (pairs: readonly number[]) => pairs.reduce((all, n, at) => all + (at % 2) * n, 0)

  describe('are requested', () => {
    it('once by the calls that find none, eight for a first call, which the next calls spend', async () => {
      const calls = Promise.all([take(), take(), take()])
      expect(one.quota.health()).toMatchObject({ waited: 3, store: 'up' })
      expect(await calls).toMatchObject([{ granted: true }, { granted: true }, { granted: true }])
      grantedAtOnce(1)
      expect(one.leases()).toMatchObject([
        { name: NAME, units: 8, granted: 8, kind: '', needed: 0, slots: 0, limits: [1_000, 1_000, 0, 0, 0] },
      ])
      expect(one.leases()[0]!.report).toMatchObject({ held: 0, inFlight: 0, generation: 0, known: 0 })
      expect(await deployment.entry(NAME)).toMatchObject({ l: 8, b: 0 })
      expect(one.quota.health().waited).toBe(3)
    })

    it('again when 40 % are left, before a call has to wait', async () => {
      await take()
      grantedAtOnce(3)
      expect(one.leases()).toHaveLength(1)
      grantedAtOnce(1)
      await one.settled()
      // 3 are held and 5 calls arrived in no time: eight for each of them
      expect(one.leases()[1]).toMatchObject({ units: 40, granted: 40, report: { held: 3, known: 1 } })
      expect(sum(one.leases()[1]!.report.minute)).toBe(5)
      grantedAtOnce(43 - 17)
      expect(one.leases()).toHaveLength(2)
      grantedAtOnce(1)
      await one.settled()
      expect(one.leases()).toHaveLength(3)
      expect(one.quota.health().waited).toBe(1)
    })

    it('of small leases only when the last is spent', async () => {
      const limits = { perMinute: 4 }
      await take(limits)
      expect(one.leases()[0]).toMatchObject({ units: 8, granted: 4, kind: 'minute' })
      await one.run(200)
      const before = one.leases().length
      grantedAtOnce(2, limits)
      await one.settled()
      expect(one.leases()).toHaveLength(before)
      grantedAtOnce(1, limits)
      await one.settled()
      expect(one.leases()).toHaveLength(before + 1)
    })

    it('when 40 % of the time is left, as many as the calls of that time need', async () => {
      await take()
      // a report extends the lease
      await one.pass(101)
      await one.pass(LONG_MS * 0.6 - EARLY_MS - 100)
      const before = one.leases().length
      await one.pass(200)
      expect(one.leases()).toHaveLength(before + 1)
      // one call in three minutes: three in the next five, half as much again included
      expect(one.leases().at(-1)).toMatchObject({ units: 3, granted: 3, report: { held: 7 } })
    })
  })

  describe('are reported', () => {
    it('100 ms after the last call', async () => {
      await take()
      await one.pass(100)
      expect(one.leases()).toHaveLength(1)
      await one.pass(1)
      expect(one.leases()[1]).toMatchObject({ units: 0, granted: 0, report: { held: 7 } })
      expect(sum(one.leases()[1]!.report.second)).toBe(1)
      await one.pass(5_000)
      expect(one.leases()).toHaveLength(2)
    })

    it('once a second while calls arrive', async () => {
      await take()
      one.clock.ms += 950
      grantedAtOnce(1)
      await one.pass(50)
      expect(one.leases()).toHaveLength(1)
      await one.pass(1)
      expect(one.leases()[1]).toMatchObject({ units: 0, report: { held: 6 } })
    })

    it('with their age, so that Redis knows when they leave the minute', async () => {
      // of larger limits, units are recorded by several at once
      const limits = { perMinute: 100 }
      await take(limits)
      one.clock.ms += 5_000
      grantedAtOnce(1, limits)
      await one.pass(400)
      const { minute, dayCount, monthCount } = one.leases().at(-1)!.report
      expect([minute[1], minute[3], dayCount, monthCount]).toEqual([1, 1, 2, 2])
      // no unit appears older than it is
      expect(minute[0]).toBeGreaterThan(4_400)
      expect(minute[0]).toBeLessThanOrEqual(5_400)
    })

    it('and returned when the lease nears its end without calls', async () => {
      await take()
      await one.pass(101)
      await one.pass(LONG_MS * 0.6)
      await one.pass(LONG_MS * 0.6)
      expect(one.leases().at(-1)).toMatchObject({ units: 0, report: { held: 0, monthCount: 1 } })
      expect(await deployment.entry(NAME)).toMatchObject({ l: 0, on: 1 })
      const before = one.leases().length
      await one.pass(10_000)
      expect(one.leases()).toHaveLength(before)
      expect(one.takeAtOnce(NAME, MINUTE)).toBeUndefined()
    })

    it('and returned when the instance closes', async () => {
      await take()
      expect((await deployment.entry(NAME)).l).toBe(8)
      void one.quota.close()
      await until(async () => (await deployment.entry(NAME)).l === 0)
      expect(await deployment.entry(NAME)).toMatchObject({ dn: 1, on: 1 })
    })
  })

  describe('end', () => {
    it('in the instance 200 ms before they end in Redis', async () => {
      await take()
      one.clock.ms += LONG_MS - EARLY_MS - 1
      grantedAtOnce(1)
      one.clock.ms += 1
      expect(one.takeAtOnce(NAME, MINUTE)).toBeUndefined()
    })

    it('sooner when less than half of a limit is left', async () => {
      const limits = { perMinute: 10 }
      await take(limits)
      one.clock.ms += LEASE_MS - EARLY_MS - 1
      grantedAtOnce(1, limits)
      one.clock.ms += 1
      expect(one.takeAtOnce(NAME, limits)).toBeUndefined()
    })

    it('counted from before the request, however long the response takes', async () => {
      const release = one.hold()
      const call = take()
      one.clock.ms += LONG_MS - EARLY_MS
      release()
      await one.settled()
      // the response brought units that had ended, and the repeated request brings others
      expect(await call).toMatchObject({ granted: true })
      expect(one.leases().map(({ granted }) => granted)).toEqual([8, expect.any(Number)])
    })

    it('at midnight where a day is limited', async () => {
      // the clock of Redis is moved to half a minute before it
      one.quota.advance(86_400_000 - ((Date.now() + 30_000) % 86_400_000))
      await one.settled()
      await take({ perDay: 1_000 })
      one.clock.ms += 20_000
      grantedAtOnce(1, { perDay: 1_000 })
      one.clock.ms += 10_000
      expect(one.takeAtOnce(NAME, { perDay: 1_000 })).toBeUndefined()
    })
  })

  describe('that another instance has leased', () => {
    const limits = { perMinute: 8 }
    let two: Instance
    beforeEach(async () => {
      two = await deployment.open()
      // it returns nothing
      two.deaf = true
      expect(await two.take(NAME, limits)).toMatchObject({ granted: true })
      await two.run(150)
    })

    /** Spends the rest there, and reports it. */
    async function spendThere(): Promise<void> {
      for (let call = 0; call < 7; call++)
        expect(two.takeAtOnce(NAME, limits)).toMatchObject({ granted: true })
      await two.run(300)
    }
    const requested = () => one.leases().filter(({ units }) => units > 0)

    it('are denied without a request until the response says', async () => {
      expect(await take(limits)).toMatchObject({ granted: false, kind: 'minute', limit: 8 })
      one.clock.ms += 99
      expect(one.takeAtOnce(NAME, limits)).toMatchObject({ granted: false, retryAfterSecs: 1 })
      expect(one.leases()).toMatchObject([{ units: 8, granted: 0, kind: 'minute' }])
      expect(one.quota.health().waited).toBe(1)
    })

    it('are requested again when the denial ends, and denied meanwhile, so that no call waits', async () => {
      await take(limits)
      await spendThere()
      await one.run(60)
      expect(one.takeAtOnce(NAME, limits)).toMatchObject({ granted: false })
      const release = one.hold()
      await one.run(60)
      expect(requested()).toHaveLength(2)
      expect(one.takeAtOnce(NAME, limits)).toMatchObject({
        granted: false,
        kind: 'minute',
        retryAfterSecs: 1,
      })
      release()
      await one.settled()
      // now Redis knows when the minute is over
      const refusal = one.takeAtOnce(NAME, limits)
      expect(refusal).toMatchObject({ granted: false, kind: 'minute', used: 8, limit: 8 })
      expect((refusal as QuotaRefusal).retryAfterSecs).toBeGreaterThan(50)
      await one.run(3_000)
      expect(requested()).toHaveLength(2)
      expect(one.quota.health().waited).toBe(1)
    })

    it('are not requested again for a consumer without calls for two seconds, and not recalled for no call', async () => {
      await take(limits)
      await one.run(2_300)
      const { length } = requested()
      expect(length).toBeGreaterThan(1)
      expect(length).toBeLessThan(12)
      expect(requested().map(({ lacking }) => lacking)).toEqual([1, 1, ...Array(length - 2).fill(0)])
      await one.run(500)
      expect(requested()).toHaveLength(length)
    })

    it('are requested by the next call after a long denial, and granted when the minute is over', async () => {
      await spendThere()
      expect(await take(limits)).toMatchObject({ granted: false, kind: 'minute', used: 8, limit: 8 })
      await one.run(500)
      expect(requested()).toHaveLength(1)
      one.clock.ms += 61_000
      one.quota.advance(61_000)
      await one.settled()
      expect(requested()).toHaveLength(1)
      expect(await take(limits)).toMatchObject({ granted: true })
      expect(requested()).toHaveLength(2)
    })

    it('are requested at once after a reset', async () => {
      const day = { perDay: 8 }
      await two.take('acme/daily', day)
      expect(await one.take('acme/daily', day)).toMatchObject({ granted: false, kind: 'day' })
      two.deaf = false
      one.clock.ms += 25
      await two.quota.reset('acme/daily')
      await until(() => one.quota.revision() > 0)
      one.takeAtOnce('acme/daily', day)
      await one.settled()
      expect(one.leases('acme/daily').length).toBeGreaterThan(1)
    })
  })

  describe('without a response', () => {
    it('refuse a call after 40 ms; units that arrive later are spent by the next', async () => {
      const release = one.hold()
      const call = take()
      let refusal: unknown
      void call.then(response => {
        refusal = response
      })
      await one.run(30)
      expect(refusal).toBeUndefined()
      await one.run(20)
      expect(refusal).toMatchObject({
        granted: false,
        cause: 'store_unavailable',
        kind: 'second',
        limit: 1_000,
      })
      release()
      await one.settled()
      grantedAtOnce(1)
      expect(one.leases()).toHaveLength(1)
    })

    it('are not requested until a heartbeat gets one; what is held is spent', async () => {
      await take()
      one.lose(/./)
      expect(await one.take('acme/new', MINUTE)).toMatchObject({ granted: false, cause: 'store_unavailable' })
      expect(one.up).toEqual([true, false])
      expect(one.quota.health().store).toBe('down')
      const sent = one.leases().length
      expect(one.takeAtOnce('acme/new', MINUTE)).toMatchObject({ cause: 'store_unavailable' })
      grantedAtOnce(7)
      expect(one.takeAtOnce(NAME, MINUTE)).toMatchObject({ cause: 'store_unavailable' })
      await one.pass(2_000)
      expect(one.leases()).toHaveLength(sent)
      one.lose(undefined)
      one.quota.advance(0)
      await one.settled()
      expect(one.up).toEqual([true, false, true])
      expect(await one.take('acme/new', MINUTE)).toMatchObject({ granted: true })
      expect(await take()).toMatchObject({ granted: true })
    })

    it('stay when a report fails', async () => {
      await take()
      one.lose(/quotaLease/)
      await one.pass(101)
      expect(one.up).toContain(false)
      one.lose(undefined)
      one.quota.advance(0)
      await one.settled()
      grantedAtOnce(7)
    })
  })

  describe('after a loss of data', () => {
    it('are requested in the new epoch, by the same call', async () => {
      await take()
      await deployment.beginEpoch(2)
      one.clock.ms += LONG_MS
      expect(await take()).toMatchObject({ granted: true })
      const [first, ...later] = one.leases(NAME)
      expect(first!.epoch).toBe('epoch-1')
      expect(later.at(-1)).toMatchObject({ epoch: 'epoch-2' })
      // what is sent in the old epoch is not granted; a heartbeat may have come first
      for (const { epoch, granted } of later) expect(granted === undefined).toBe(epoch === 'epoch-1')
    })

    it('are not granted twice: what was used is reported first', async () => {
      const limits = { perDay: 10, perMinute: 10 }
      await take(limits)
      grantedAtOnce(5, limits)
      await deployment.lose()
      let granted = 6
      await until(async () => {
        const response = await take(limits)
        if (response.granted) granted++
        return !response.granted && response.cause === undefined
      })
      expect(granted).toBe(10)
      await until(async () => (await deployment.record(NAME))?.state === 'open')
    })

    it.each([
      [99_000, 'a new epoch'],
      [101_000, 'no new epoch, because Redis may have dropped the consumer'],
    ])('begin, when Redis lacks a consumer that it knew %i ms before, %s', async (ms, epoch) => {
      await take()
      await deployment.loseConsumer(NAME)
      await one.pass(ms)
      await until(async () => {
        const record = await deployment.record(NAME)
        return epoch === 'a new epoch' ? record?.id !== 'epoch-1' : one.leases()[1]!.granted === 0
      })
    })
  })
})

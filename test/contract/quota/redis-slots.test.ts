/** Calls in flight, and what instances give back when others lack it: slots and units, read from what instances send to a real Redis. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { QuotaGrant } from '../../../src/data-plane/quota/quota.ts'
import type { PlanLimits } from '../../../src/model/plan.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { Deployment, type Instance, LEASE_MS, until } from './recorded-deployment.ts'

const NAME = 'acme/app'
/** While half of every limit is left. */
const LONG_MS = 5 * LEASE_MS

describe.skipIf(!hasRedis())(`what instances share (${REDIS_HINT})`, () => {
  let server: RedisServer
  let deployment: Deployment
  let one: Instance
  let count = 0
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    deployment = await Deployment.begin(server, `slots-${count++}`)
    one = await deployment.open()
  })
  afterEach(() => deployment.close())

  /** Calls that begin without a request. */
  function begin(instance: Instance, limits: PlanLimits, calls: number): QuotaGrant[] {
    return Array.from({ length: calls }, () => {
      const taken = instance.takeAtOnce(NAME, limits)
      expect(taken).toMatchObject({ granted: true })
      return taken as QuotaGrant
    })
  }
  async function beginFirst(instance: Instance, limits: PlanLimits): Promise<QuotaGrant> {
    const taken = await instance.take(NAME, limits)
    expect(taken).toMatchObject({ granted: true })
    return taken as QuotaGrant
  }
  /** The slots of each instance, the fewest first. */
  const slotsOf = async () =>
    Object.values((await deployment.stored(NAME)).i)
      .map(({ b }) => b)
      .sort()

  describe('slots for calls in flight', () => {
    const limits = { burst: 10 }

    it('are requested four at a time, then twice as many as are needed', async () => {
      await beginFirst(one, limits)
      begin(one, limits, 3)
      expect(one.leases()).toMatchObject([
        { units: 0, needed: 1, slots: 4, limits: [0, 0, 0, 0, 10], report: { inFlight: 0, slots: 0 } },
      ])
      await beginFirst(one, limits)
      expect(one.leases()[1]).toMatchObject({ needed: 5, slots: 10, report: { inFlight: 4, slots: 4 } })
      begin(one, limits, 5)
      expect(one.leases()).toHaveLength(2)
      expect(await slotsOf()).toEqual([10])
    })

    it('that are all in use are denied until one ends, which needs no request', async () => {
      const first = await beginFirst(one, limits)
      begin(one, limits, 3)
      await beginFirst(one, limits)
      begin(one, limits, 5)
      expect(await one.take(NAME, limits)).toMatchObject({
        granted: false,
        kind: 'burst',
        used: 10,
        limit: 10,
      })
      const sent = one.leases().length
      expect(one.takeAtOnce(NAME, limits)).toMatchObject({ granted: false, kind: 'burst', retryAfterSecs: 1 })
      first.release()
      begin(one, limits, 1)
      expect(one.takeAtOnce(NAME, limits)).toMatchObject({ granted: false, kind: 'burst' })
      expect(one.leases()).toHaveLength(sent)
    })

    it('are reported at least four times in the longest call', async () => {
      const two = await deployment.open({ maxCallMs: 80_000 })
      await beginFirst(two, limits)
      await two.pass(101)
      const before = two.leases().length
      await two.pass(20_000)
      expect(two.leases()).toHaveLength(before)
      await two.pass(1)
      expect(two.leases()).toHaveLength(before + 1)
      expect(two.leases().at(-1)).toMatchObject({ units: 0, report: { inFlight: 1, slots: 4 } })
    })

    it('are not used after the lease has ended; calls in flight keep theirs', async () => {
      await beginFirst(one, limits)
      one.clock.ms += LONG_MS
      expect(one.takeAtOnce(NAME, limits)).toBeUndefined()
      await one.settled()
      expect(one.leases()[1]).toMatchObject({ needed: 2, slots: 4, report: { inFlight: 1, slots: 1 } })
      expect(await slotsOf()).toEqual([4])
    })

    it('return when the consumer is idle, also where nothing else is limited', async () => {
      const call = await beginFirst(one, limits)
      call.release()
      await one.pass(101)
      await one.pass(LONG_MS * 0.6)
      expect(await slotsOf()).toEqual([4])
      await one.pass(LONG_MS * 0.6)
      expect(await slotsOf()).toEqual([0])
      const sent = one.leases().length
      await one.pass(LEASE_MS)
      await one.pass(LEASE_MS)
      expect(one.leases()).toHaveLength(sent)
    })

    it('are not reported where they are not limited', async () => {
      const { quota } = one
      const taken = await quota.take({ key: NAME, limits: { perMinute: 100 }, nowMs: Date.now() })
      expect(taken).toMatchObject({ granted: true })
      await one.pass(101)
      expect(one.leases().at(-1)).toMatchObject({ report: { inFlight: 1 } })
      const sent = one.leases().length
      await one.pass(5_000)
      expect(one.leases()).toHaveLength(sent)
    })

    it('return as the calls in them end', async () => {
      const both = { burst: 4, perMinute: 100 }
      const calls = [await beginFirst(one, both), ...begin(one, both, 2)]
      await one.pass(101)
      // without calls, units and slots return at the end of the lease
      await one.pass(LONG_MS * 0.6)
      await one.pass(LONG_MS * 0.6)
      expect(one.leases().at(-1)).toMatchObject({ units: 0, report: { held: 0, inFlight: 3, slots: 3 } })
      expect(await slotsOf()).toEqual([3])
      calls[0]!.release()
      await one.pass(101)
      await one.pass(101)
      expect(await slotsOf()).toEqual([2])
    })
  })

  describe('a second instance', () => {
    let two: Instance
    beforeEach(async () => {
      two = await deployment.open()
    })

    it('holds the only slot: the first requests it while calls lack it, and no more when none arrives', async () => {
      const only = { burst: 1 }
      await beginFirst(two, only)
      expect(await one.take(NAME, only)).toMatchObject({ granted: false, kind: 'burst', used: 1, limit: 1 })
      expect(one.leases()).toMatchObject([{ needed: 1, slots: 4, kind: 'burst' }])
      expect(one.takeAtOnce(NAME, only)).toMatchObject({ granted: false, kind: 'burst' })
      expect(one.takeAtOnce(NAME, only)).toMatchObject({ granted: false, kind: 'burst' })
      await one.run(60)
      expect(one.leases()[1]).toMatchObject({
        units: 0,
        needed: 3,
        slots: 6,
        report: { inFlight: 0, slots: 0 },
      })
      // a denial of slots does not concern a call without such a limit
      expect(await one.take(NAME, { perMinute: 5 })).toMatchObject({ granted: true })
      await one.run(300)
      const quiet = one.leases().length
      await one.run(300)
      expect(one.leases()).toHaveLength(quiet)
    })

    const minute = { perMinute: 20 }

    /** Calls at the second until Redis has no unit for it, which recalls those of the first. */
    const lackUnits = (key: string) =>
      until(async () => {
        await two.run(110)
        await two.take(key, minute)
        return two.leases(key).some(({ lacking, granted }) => lacking > 0 && granted === 0)
      })

    it('gets units that the first holds idle, at last the one kept for its next call', async () => {
      await one.take(NAME, minute)
      one.clock.ms += 31
      await lackUnits(NAME)
      await until(() => one.leases().length === 2)
      await one.settled()
      expect(one.leases()[1]).toMatchObject({ units: 1, granted: 1, report: { held: 0, dayCount: 1 } })
      await until(async () => {
        await two.run(110)
        return (await two.take(NAME, minute)).granted
      })
      const keptMs = one.clock.ms
      await until(async () => {
        one.clock.ms += 100
        await two.run(110)
        await two.take(NAME, minute)
        return one.leases().length > 2
      })
      expect(one.leases()[2]).toMatchObject({ units: 0, report: { held: 0, dayCount: 1 } })
      expect(one.clock.ms - keptMs).toBeGreaterThanOrEqual(500)
    })

    it('gets none that the first has used within 30 ms', async () => {
      await one.take(NAME, minute)
      await one.take('acme/idle', minute)
      one.clock.ms += 1
      begin(one, minute, 1)
      one.clock.ms += 30
      await lackUnits(NAME)
      // messages arrive in order: after that for the other consumer, the first has arrived
      await lackUnits('acme/idle')
      await until(() => one.leases('acme/idle').length === 2)
      expect(one.leases(NAME)).toHaveLength(1)
    })

    const four = { burst: 4 }

    it('gets slots that the first does not use', async () => {
      await beginFirst(one, four)
      expect(await slotsOf()).toEqual([4])
      expect(await two.take(NAME, four)).toMatchObject({ granted: false, kind: 'burst', used: 4, limit: 4 })
      const sent = one.leases().length
      await until(async () => {
        await one.run(10)
        return one.leases().length > sent
      })
      expect(one.leases()[sent]).toMatchObject({ report: { inFlight: 1, slots: 1 } })
      expect(await slotsOf()).toEqual([0, 1])
      await until(async () => {
        await two.run(60)
        return (await two.take(NAME, four)).granted
      })
    })

    it('gets slots that the first uses, as its calls end', async () => {
      const calls = [await beginFirst(one, four), ...begin(one, four, 3)]
      await until(async () => {
        await two.run(60)
        await two.take(NAME, four)
        one.clock.ms += 60
        await one.run(30)
        // what ends is not used again once the first has learned that the second lacks slots
        calls.shift()!.release()
        const next = await one.take(NAME, four)
        if (next.granted) calls.push(next)
        return !next.granted
      })
      expect(calls).toHaveLength(3)
      calls.shift()!.release()
      await until(async () => {
        await one.run(60)
        await two.run(60)
        return (await two.take(NAME, four)).granted
      })
      expect((await slotsOf()).at(-1)).toBeLessThanOrEqual(3)
      expect((await slotsOf()).reduce((all, n) => all + n, 0)).toBeLessThanOrEqual(4)
    })

    it('makes the first report every 50 ms, for 150 ms after it lacked a slot', async () => {
      await beginFirst(one, four)
      begin(one, four, 3)
      await one.pass(101)
      const before = one.leases().length
      await two.take(NAME, four)
      await until(async () => {
        await one.run(10)
        return one.leases().length > before
      })
      await one.run(400)
      const sent = one.leases().length
      expect(sent - before).toBeGreaterThanOrEqual(2)
      expect(sent - before).toBeLessThanOrEqual(5)
      await one.run(400)
      expect(one.leases()).toHaveLength(sent)
    })
  })

  it('drops a consumer after its last lease has ended, and with it the counts of the others', async () => {
    const limits = { perMinute: 100 }
    const two = await deployment.open()
    await beginFirst(one, limits)
    await one.pass(101)
    await beginFirst(two, limits)
    const daily = () => two.quota.usage().find(({ key }) => key === NAME)!.dailyCount
    expect(daily()).toBe(2)
    await two.pass(LONG_MS * 0.6)
    await two.pass(LONG_MS * 0.6)
    await two.pass(LEASE_MS)
    await two.pass(LEASE_MS)
    expect(daily()).toBe(1)
  })
})

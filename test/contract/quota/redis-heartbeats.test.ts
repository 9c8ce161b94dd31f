/** Heartbeats of an instance on a real Redis: their content, what an instance receives by them alone, and requests of an administrator without a response. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { insistently } from '../../../src/data-plane/quota/redis/quota-connection.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { Deployment, type Instance, LEASE_MS, MAX_CALL_MS, until } from './recorded-deployment.ts'

const NAME = 'acme/app'
const DAY = { perDay: 1_000 }

describe.skipIf(!hasRedis())(`a heartbeat (${REDIS_HINT})`, () => {
  let server: RedisServer
  let deployment: Deployment
  let one: Instance
  let count = 0
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    deployment = await Deployment.begin(server, `beats-${count++}`)
    one = await deployment.open()
  })
  afterEach(() => deployment.close())

  async function beat(instance: Instance): Promise<void> {
    instance.quota.advance(0)
    await instance.settled()
  }
  const rowOf = (instance: Instance) => instance.quota.usage().find(({ key }) => key === NAME)!

  it('names the instance, then the epoch and the members that it knows', async () => {
    await beat(one)
    const [first, ...later] = one.beats()
    const instance = first![0]
    const rest = [60_750, 5 * LEASE_MS, 600_000, 0, 0, MAX_CALL_MS, 0]
    expect(first).toEqual([instance, '', '', 0, '0', '[]', ...rest])
    const members = JSON.stringify([instance])
    expect(later.at(-1)).toEqual([instance, 'epoch-1', 'epoch-1', 1, '0', members, ...rest])
  })

  it('repeats by itself, also after one that failed', async () => {
    const sent = one.beats().length
    one.lose(/quotaBeat/)
    await until(() => one.up.at(-1) === false)
    one.lose(undefined)
    await until(() => one.up.at(-1) === true && one.beats().length > sent + 1)
    expect(one.up).toEqual([true, false, true])
    const beats = one.beats().length
    await until(() => one.beats().length > beats)
    expect(one.up).toHaveLength(3)
  })

  it('ends with the instance', async () => {
    await one.quota.close()
    const sent = one.beats().length
    await sleep(300)
    expect(one.beats()).toHaveLength(sent)
  })

  it('brings the resets whose messages were lost, once', async () => {
    const two = await deployment.open()
    await one.take(NAME, DAY)
    await two.take(NAME, DAY)
    two.deaf = true
    const revision = two.quota.revision()
    expect(await one.quota.reset(NAME)).toBe(true)
    expect(rowOf(one)).toMatchObject({ dailyCount: 0, monthlyCount: 0 })
    await beat(two)
    expect(rowOf(two)).toMatchObject({ dailyCount: 0, monthlyCount: 0 })
    const after = two.quota.revision()
    expect(after).toBeGreaterThan(revision)
    await two.take(NAME, DAY)
    await beat(two)
    expect(two.quota.revision()).toBe(after)
    expect(rowOf(two)).toMatchObject({ dailyCount: 1 })
    // the next report is of the new generation
    await two.pass(101)
    expect(two.leases(NAME).at(-1)!.report).toMatchObject({ generation: 1, dayCount: 1 })
    expect((await deployment.stored(NAME)).g).toBe(1)
  })

  it('brings the order to clear caches, once, to all but the instance that gave it', async () => {
    const two = await deployment.open()
    two.deaf = true
    one.deaf = true
    const cleared: string[] = []
    one.quota.onCleared(() => cleared.push('one'))
    two.quota.onCleared(() => cleared.push('two'))
    await one.quota.clearElsewhere()
    // the listeners are called in another turn
    await until(async () => {
      await beat(one)
      await beat(two)
      return cleared.length > 0
    })
    await beat(two)
    await sleep(20)
    expect(cleared).toEqual(['two'])
  })

  it('moves the clock of every instance with that of the tests', async () => {
    const two = await deployment.open()
    one.quota.advance(5_000)
    await one.settled()
    expect(one.beats().at(-1)![9]).toBe(5_000)
    await beat(two)
    await beat(two)
    expect(two.beats().at(-1)![9]).toBe(5_000)
    await beat(one)
    expect(one.beats().at(-1)![9]).toBe(5_000)
  })

  it('after a loss of data opens the new epoch once all counts are reported', async () => {
    const limits = { perDay: 100 }
    await one.take(NAME, limits)
    one.lose(/quotaLease/)
    await deployment.lose()
    await beat(one)
    expect(await deployment.record(NAME)).toMatchObject({ state: 'recovering' })
    expect(await one.take('acme/new', limits)).toMatchObject({ granted: false, cause: 'store_unavailable' })
    one.lose(undefined)
    await until(async () => {
      await beat(one)
      return (await deployment.record(NAME))?.state === 'open'
    })
    expect(await deployment.entry(NAME)).toMatchObject({ dn: 1, l: 7 })
    await until(async () => (await one.take('acme/new', limits)).granted)
    expect(one.beats().at(-1)![1]).not.toBe('epoch-1')
  })

  it('without trust in an empty Redis says so', async () => {
    const careful = await deployment.open({ distrustEmpty: true })
    expect(careful.beats().at(-1)!.at(-1)).toBe(1)
  })

  it('of a restarted process says that it has counts, and for how long its calls may run', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'quota-beats-'))
    const before = await deployment.open({ dir })
    /** Has counts of before, and ms for which calls of before may run. */
    const stated = (values: readonly (string | number)[] | undefined) => [values?.[4], values?.[10]]
    expect(stated(before.beats()[0])).toEqual(['0', 0])
    await before.take(NAME, { perDay: 20 })
    await before.take(NAME, { perDay: 20 })
    await before.quota.close()
    expect(before.leases(NAME).at(-1)!.report).toMatchObject({ held: 0, dayCount: 2 })
    const after = await deployment.open({ dir })
    expect(after.quota.damage).toEqual([])
    expect(after.beats()[0]![0]).toBe(before.beats()[0]![0])
    expect(stated(after.beats()[0])).toEqual(['1', 5 * LEASE_MS + MAX_CALL_MS])
    expect(stated(after.beats().at(-1))[0]).toBe('0')
    expect(rowOf(after)).toMatchObject({ dailyCount: 2, dailyLimit: 20 })
    after.clock.ms += 1_000
    await beat(after)
    expect(stated(after.beats().at(-1))).toEqual(['0', 5 * LEASE_MS + MAX_CALL_MS - 1_000])
    // reports of a later process replace those of an earlier one
    await after.take(NAME, { perDay: 20 })
    const [last, first] = [before.leases(NAME).at(-1)!, after.leases(NAME)[0]!]
    expect(Math.floor(last.sequence / 2 ** 32)).toBe(1)
    expect(Math.floor(first.sequence / 2 ** 32)).toBe(2)
    await after.quota.close()
    rmSync(dir, { recursive: true })
  })

  it('lets an administrator insist: eight requests, then an error; listings show what is known here', async () => {
    await one.take(NAME, DAY)
    one.lose(/quotaReset|quotaStatistics/)
    await expect(one.quota.reset(NAME)).rejects.toThrow('Connection is closed.')
    expect(one.sent.filter(({ script }) => script === 'quotaReset')).toHaveLength(8)
    expect(await one.quota.statistics()).toMatchObject([{ key: NAME, dailyCount: 1, dailyLimit: 1_000 }])
    one.lose(undefined)
    let failures = 7
    const ask = async () => {
      if (failures-- > 0) throw new Error('not yet')
      return 'done'
    }
    expect(await insistently(ask)).toBe('done')
  })
})

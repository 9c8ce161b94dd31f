/** Tokens of a tool's bucket: when an instance leases, spends and returns them, read from what it sends to a real Redis. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { Deployment, type Instance, LEASE_MS, until } from './recorded-deployment.ts'

const NAME = 'acme/app'
const tool = { key: 'search', rateLimit: { requestsPerMinute: 1, burst: 20 } }
const EARLY_MS = 200

describe.skipIf(!hasRedis())(`the tokens of a tool (${REDIS_HINT})`, () => {
  let server: RedisServer
  let deployment: Deployment
  let one: Instance
  let count = 0
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    deployment = await Deployment.begin(server, `tools-${count++}`)
    one = await deployment.open()
  })
  afterEach(() => deployment.close())

  const take = (instance = one) => instance.take(NAME, {}, { tool })
  const takeAtOnce = (instance = one) => instance.takeAtOnce(NAME, {}, { tool })
  function grantedAtOnce(calls: number): void {
    for (let call = 0; call < calls; call++) expect(takeAtOnce()).toMatchObject({ granted: true })
  }

  it('are leased four for a first call, and by the call that finds none', async () => {
    expect(await take()).toMatchObject({ granted: true })
    grantedAtOnce(3)
    expect(one.tools()).toEqual([{ held: 0, returned: 0, wanted: 4, perHour: 60, burst: 20, granted: 4 }])
    expect(one.quota.health().waited).toBe(1)
    expect(takeAtOnce()).toBeUndefined()
    await one.settled()
    // four granted, and the one that waits: four for each of them, of which 16 are left
    expect(one.tools()[1]).toEqual({ held: 0, returned: 0, wanted: 20, perHour: 60, burst: 20, granted: 16 })
    grantedAtOnce(15)
  })

  it('are requested once by the calls that wait for them', async () => {
    const responses = await Promise.all([take(), take(), take(), take()])
    expect(responses.every(({ granted }) => granted)).toBe(true)
    expect(one.tools()).toHaveLength(1)
  })

  it('are leased for one lease time at the recent rate', async () => {
    await take()
    grantedAtOnce(3)
    one.clock.ms += 4 * LEASE_MS
    await take()
    // four and the one that waits in four lease times
    expect(one.tools()[1]).toMatchObject({ wanted: 2 })
  })

  it('are denied without a request until the bucket has one again', async () => {
    const last = { ...tool, rateLimit: { requestsPerMinute: 6, burst: 1 } }
    const two = await deployment.open()
    expect(await two.take(NAME, {}, { tool: last })).toMatchObject({ granted: true })
    // it holds none, so the next one comes from the refill
    await two.pass(101)
    const call = () => one.take(NAME, {}, { tool: last })
    expect(await call()).toMatchObject({ granted: false, kind: 'tool', used: 6, limit: 6 })
    expect(one.tools()).toMatchObject([{ wanted: 4, granted: 0 }])
    one.clock.ms += 5_000
    expect(one.takeAtOnce(NAME, {}, { tool: last })).toMatchObject({ kind: 'tool', granted: false })
    expect(one.tools()).toHaveLength(1)
    one.clock.ms += 6_000
    one.quota.advance(11_000)
    await one.settled()
    expect(await call()).toMatchObject({ granted: true })
    // a denial of the tool concerns neither the consumer nor other tools
    expect(await call()).toMatchObject({ granted: false })
    expect(await one.take(NAME, {}, { tool: { ...last, key: 'list' } })).toMatchObject({ granted: true })
    expect(await one.take(NAME, { perMinute: 5 })).toMatchObject({ granted: true })
  })

  it('return 100 ms after the last call', async () => {
    await take()
    await one.pass(100)
    expect(one.tools()).toHaveLength(1)
    await one.pass(1)
    expect(one.tools()[1]).toMatchObject({ held: 0, returned: 3, wanted: 0, granted: 0 })
    await one.pass(1_000)
    expect(one.tools()).toHaveLength(2)
    const two = await deployment.open()
    for (let call = 0; call < 19; call++) expect(await take(two)).toMatchObject({ granted: true })
    expect(await take(two)).toMatchObject({ granted: false, kind: 'tool' })
  })

  it('return when the instance closes', async () => {
    await take()
    void one.quota.close()
    await until(() => one.tools()[1]?.granted === 0)
    expect(one.tools()[1]).toMatchObject({ held: 0, returned: 3, wanted: 0 })
  })

  it('end in the instance 200 ms before they end in Redis', async () => {
    await take()
    one.clock.ms += LEASE_MS - EARLY_MS - 1
    grantedAtOnce(1)
    one.clock.ms += 1
    expect(takeAtOnce()).toBeUndefined()
  })

  it('that arrive after their end are not spent', async () => {
    const release = one.hold()
    const call = take()
    one.clock.ms += LEASE_MS
    release()
    expect(await call).toMatchObject({ granted: true })
    expect(one.tools()).toHaveLength(2)
  })

  it('follow a limit that changes', async () => {
    await take()
    const more = { ...tool, rateLimit: { requestsPerMinute: 120, burst: 200 } }
    for (let call = 0; call < 4; call++) await one.take(NAME, {}, { tool: more })
    expect(one.tools().at(-1)).toMatchObject({ perHour: 7_200, burst: 200 })
  })

  it('are not granted without a response, nor to an instance of another epoch', async () => {
    one.lose(/quotaTool/)
    expect(await take()).toMatchObject({ granted: false, cause: 'store_unavailable' })
    expect(one.up).toContain(false)
    one.lose(undefined)
    one.quota.advance(0)
    await one.settled()
    expect(one.quota.health().store).toBe('up')
    await deployment.beginEpoch(2)
    expect(await take()).toMatchObject({ granted: true })
    // a heartbeat may have brought the new epoch before
    expect(
      one
        .tools()
        .map(({ granted }) => granted)
        .filter(Number),
    ).toEqual([4])
    expect(one.tools().length).toBeGreaterThanOrEqual(2)
  })

  it('that arrive too late for their call are spent by the next calls, without another request', async () => {
    const release = one.hold()
    const call = take()
    await one.run(50)
    expect(await call).toMatchObject({ granted: false, cause: 'store_unavailable' })
    release()
    await one.settled()
    grantedAtOnce(4)
    expect(one.tools()).toHaveLength(1)
  })
})

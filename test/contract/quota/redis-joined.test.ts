/** A thread that joins the quotas of its process, at the other end of a channel within this thread, on a real Redis: what it counts, caches, passes on and survives. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Quota, QuotaGrant, QuotaRequest } from '../../../src/data-plane/quota/quota.ts'
import { joinRedisQuota } from '../../../src/data-plane/quota/redis/joined-quota.ts'
import { openRedisQuota, type RedisQuota } from '../../../src/data-plane/quota/redis/redis-quota.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { passMidnight } from '../../fixtures/same-day.ts'

const SOON = { timeout: 15_000, interval: 5 }

describe.skipIf(!hasRedis())(`a thread that joined (${REDIS_HINT})`, () => {
  let server: RedisServer
  /** Instances of one deployment: an instance that starts waits until the others know it, which takes seconds. */
  let one: RedisQuota
  let two: RedisQuota
  let three: RedisQuota
  let four: RedisQuota
  /** A thread of the first instance. */
  let joined: Quota
  /** One of each test. */
  let consumer: string
  let count = 0
  beforeAll(async () => {
    server = await RedisServer.start()
    const sizes = { consumers: 64, toolBuckets: 32, threads: 2 }
    const open = () => openRedisQuota({ redis: server.url, ...sizes })
    ;[one, two, three, four] = [open(), open(), open(), open()]
    await Promise.all([one, two, three, four].map(quota => quota.ready))
  })
  afterAll(async () => {
    await Promise.all([one, two, three, four].map(quota => quota.close()))
    await server.stop()
  })
  beforeEach(() => passMidnight(20_000), 30_000)
  beforeEach(() => {
    consumer = `acme/app-${count++}`
    joined = join(one)
  })
  afterEach(() => joined.close())

  function join(quota: RedisQuota): Quota {
    const { port1, port2 } = new MessageChannel()
    quota.serve(port1)
    return joinRedisQuota({ share: quota.share, thread: 1, port: port2 })
  }

  const rowOf = async (quota: Quota, key = consumer) =>
    (await quota.statistics()).find(row => row.key === key)
  const ask = (quota: Quota, more: Partial<QuotaRequest>) =>
    Promise.resolve(quota.take({ key: consumer, limits: {}, nowMs: Date.now(), ...more }))

  /** Takes until a call is refused by a limit; calls for which Redis was too slow are repeated. */
  async function spend(quota: Quota, request: Partial<QuotaRequest>, atMost = 1_000) {
    let granted = 0
    for (let tries = 0; tries < 2_000; tries++) {
      if (granted === atMost) return { granted, refusal: undefined }
      const response = await ask(quota, request)
      if (response.granted) granted++
      else if (response.cause === undefined) return { granted, refusal: response }
      else await sleep(1)
    }
    throw new Error('no limit applies, or Redis never responds')
  }

  /** Exactly so many are granted; what others have leased and not spent comes back within milliseconds. */
  async function spendAll(quota: Quota, request: Partial<QuotaRequest>, units: number) {
    let left = units
    await expect
      .poll(async () => {
        left -= (await spend(quota, request, left)).granted
        return left
      }, SOON)
      .toBe(0)
    return (await spend(quota, request, 1)).refusal
  }

  test('and the thread with the connection grant one limit together', async () => {
    const limits = { perDay: 7 }
    for (const quota of [joined, one, joined]) expect((await spend(quota, { limits }, 1)).granted).toBe(1)
    const refusal = (await spendAll(joined, { limits }, 4))!
    const midnight = (Math.floor(Date.now() / 86_400_000) + 1) * 86_400
    expect(refusal).toMatchObject({
      kind: 'day',
      used: 7,
      limit: 7,
      standing: { limit: 7, remaining: 0, resetAtSecs: midnight },
    })
    expect(Math.abs(refusal.retryAfterSecs - (midnight - Date.now() / 1000))).toBeLessThanOrEqual(2)
    expect((await spend(one, { limits })).granted).toBe(0)
    const row = { dailyCount: 7, dailyLimit: 7 }
    expect(await rowOf(joined)).toMatchObject(row)
    expect(joined.usage().find(({ key }) => key === consumer)).toMatchObject(row)
    expect(joined.health()).toMatchObject({ capacity: 64, store: 'up' })
  })

  test('caches a denial: later calls are refused at once and ask no one', async () => {
    const limits = { perDay: 3 }
    await spendAll(joined, { limits }, 3)
    const waited = [joined.health().waited, one.health().waited]
    expect(waited[0]).toBeGreaterThan(0)
    for (let call = 0; call < 20; call++) {
      const response = joined.take({ key: consumer, limits, nowMs: Date.now() })
      expect(response).toMatchObject({ granted: false, kind: 'day', used: 3, limit: 3 })
    }
    expect([joined.health().waited, one.health().waited]).toEqual(waited)
  })

  test('shares the calls in flight', async () => {
    const limits = { burst: 3 }
    const inFlight: QuotaGrant[] = []
    for (const quota of [joined, one, joined]) {
      await expect
        .poll(async () => {
          const response = await ask(quota, { limits })
          if (response.granted) inFlight.push(response)
          return response.granted
        }, SOON)
        .toBe(true)
    }
    expect((await spend(joined, { limits })).refusal).toMatchObject({ kind: 'burst', used: 3, limit: 3 })
    inFlight[0]!.release()
    await spendAll(joined, { limits }, 1)
    expect((await spend(one, { limits })).granted).toBe(0)
  })

  test('shares the bucket of a tool, which other tools and the consumer do not use up', async () => {
    const tool = { key: 'search', rateLimit: { requestsPerMinute: 60, burst: 4 } }
    const begunAtMs = performance.now()
    expect((await spend(one, { tool }, 1)).granted).toBe(1)
    const { granted, refusal } = await spend(joined, { tool })
    // one token comes back each second
    expect(granted).toBeGreaterThanOrEqual(3)
    expect(granted).toBeLessThanOrEqual(3 + Math.ceil((performance.now() - begunAtMs) / 1000))
    expect(refusal).toMatchObject({ kind: 'tool', used: 60, limit: 60, retryAfterSecs: 1 })
    for (const free of [{ tool: { ...tool, key: 'list' } }, { tool, key: `${consumer}-other` }, {}])
      expect((await spend(joined, free, 1)).granted).toBe(1)
  })

  test('resets a consumer everywhere', async () => {
    const limits = { perDay: 3 }
    await spendAll(joined, { limits }, 3)
    expect((await spend(two, { limits })).granted).toBe(0)
    const revision = joined.revision()
    expect(await joined.reset(consumer)).toBe(true)
    expect(joined.revision()).toBeGreaterThan(revision)
    await spendAll(two, { limits }, 3)
    expect((await spend(joined, { limits })).granted).toBe(0)
    expect(await joined.reset('acme/nobody')).toBe(false)
  })

  test('passes the order to clear caches to all others and not to itself', async () => {
    const threadOfTwo = join(two)
    const received: string[] = []
    for (const [name, quota] of Object.entries({ a: joined, b: one, c: two, d: threadOfTwo }))
      quota.onCleared(() => received.push(name))
    await joined.clearElsewhere()
    await expect.poll(() => [...received].sort().join(''), SOON).toBe('bcd')
    await two.clearElsewhere()
    await expect.poll(() => [...received].sort().join(''), SOON).toBe('abbcdd')
    await threadOfTwo.close()
  })

  test('never receives the order to clear caches that its own instance has given', async () => {
    let own = 0
    let others = 0
    two.onCleared(() => own++)
    one.onCleared(() => others++)
    for (let order = 0; order < 40; order++) await two.clearElsewhere()
    await expect.poll(() => others, SOON).toBeGreaterThan(0)
    // orders are numbered by the milliseconds of Redis
    await sleep(2)
    await joined.clearElsewhere()
    await expect.poll(() => own, SOON).toBeGreaterThan(0)
    expect(own).toBe(1)
  })

  test('counts a long name under its digest, prepared or not', async () => {
    const name = `${consumer}/${'x'.repeat(200)}`
    const limits = { perDay: 3 }
    expect((await spend(joined, { key: joined.key(name), limits }, 1)).granted).toBe(1)
    expect((await spend(joined, { key: name, limits }, 1)).granted).toBe(1)
    await spendAll(one, { key: name, limits }, 1)
    expect((await spend(joined, { key: name, limits })).granted).toBe(0)
    const digest = `sha256:${createHash('sha256').update(name).digest('hex')}`
    expect(await rowOf(one, digest)).toMatchObject({ dailyCount: 3, dailyLimit: 3 })
    expect(await joined.reset(name)).toBe(true)
    await spendAll(joined, { key: joined.key(name), limits }, 3)
  })

  test('shows in the statistics of every instance what all have counted', async () => {
    const limits = { perDay: 50, perMonth: 500 }
    const second = `${consumer}-second`
    await spend(joined, { limits }, 4)
    await spend(two, { limits }, 2)
    await spend(two, { key: second, limits }, 1)
    const row = { dailyLimit: 50, monthlyLimit: 500 }
    for (const quota of [joined, one, two, three]) {
      await expect
        .poll(() => rowOf(quota), SOON)
        .toEqual({ ...row, key: consumer, dailyCount: 6, monthlyCount: 6 })
      await expect
        .poll(() => rowOf(quota, second), SOON)
        .toEqual({ ...row, key: second, dailyCount: 1, monthlyCount: 1 })
      expect(await quota.statisticsOf(second)).toMatchObject({ ...row, dailyCount: 1 })
      expect(await quota.statisticsOf(`${second}-unknown`)).toBeUndefined()
    }
    // what the others used arrives with the next response of Redis
    await expect
      .poll(() => two.usage().find(({ key }) => key === consumer)!.dailyCount, SOON)
      .toBeGreaterThanOrEqual(2)
  })

  test('gets units that another instance holds idle', async () => {
    const limits = { perDay: 12 }
    expect((await spend(two, { limits }, 1)).granted).toBe(1)
    await spendAll(joined, { limits }, 11)
    expect((await spend(two, { limits })).granted).toBe(0)
  })

  test('leaves the others as they are when it closes', async () => {
    const limits = { perDay: 6 }
    await spend(joined, { limits }, 1)
    await joined.close()
    await spendAll(one, { limits }, 5)
  })

  test('reports that Redis is unavailable, refuses what is not held, and goes on when Redis is back', async () => {
    const limits = { perDay: 1_000 }
    expect((await spend(joined, { limits }, 1)).granted).toBe(1)
    await server.stop()
    await expect.poll(() => joined.health().store, SOON).toBe('down')
    const key = `${consumer}-new`
    const refusal = await ask(joined, { key, limits })
    expect(refusal).toMatchObject({ granted: false, cause: 'store_unavailable', retryAfterSecs: 1 })
    expect(await rowOf(joined)).toMatchObject({ dailyCount: 1 })
    server = await RedisServer.start(server.port)
    await expect.poll(() => joined.health().store, SOON).toBe('up')
    await expect.poll(async () => (await ask(joined, { key, limits })).granted, SOON).toBe(true)
  })

  test('refuses calls, and says so, when its instance has closed; the others get what that has not spent', async () => {
    const limits = { perDay: 40 }
    const thread = join(three)
    expect((await spend(thread, { limits }, 5)).granted).toBe(5)
    await three.close()
    const refusal = await ask(thread, { key: `${consumer}-new`, limits })
    expect(refusal).toMatchObject({ granted: false, cause: 'store_unavailable', kind: 'day', limit: 40 })
    await expect(Promise.resolve(thread.statistics())).rejects.toThrow(
      'the thread that should have responded has ended',
    )
    await thread.close()
    await spendAll(joined, { limits }, 35)
  })

  test('an instance that closes returns the units of a response that came too late for it', async () => {
    const limits = { perDay: 40 }
    const admin = new Redis(server.url)
    // scripts wait, this connection may end it
    await admin.client('PAUSE', 10_000, 'WRITE')
    expect(await ask(four, { limits })).toMatchObject({ granted: false, cause: 'store_unavailable' })
    const closed = four.close()
    await admin.client('UNPAUSE')
    await closed
    admin.disconnect()
    await spendAll(joined, { limits }, 40)
  })
})

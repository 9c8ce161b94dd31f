/** Units leased from a real Redis: spent while the lease lasts, also without Redis, and never after it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRedisQuota } from '../../../src/data-plane/quota/redis/redis-quota.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'
import { passMidnight } from '../../fixtures/same-day.ts'

const LEASE_MS = 2_000
const limits = { perDay: 1_000 }

describe.skipIf(!hasRedis())(`leases from Redis (${REDIS_HINT})`, () => {
  let server: RedisServer
  beforeAll(async () => {
    // a lease ends with its day
    await passMidnight(20_000)
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  /** An instance whose clock stands still unless a test moves it: nothing is given back or leased ahead meanwhile. */
  async function instance() {
    const clock = { ms: 1_000_000 }
    const quota = openRedisQuota({
      redis: server.url,
      consumers: 16,
      toolBuckets: 16,
      leaseMs: LEASE_MS,
      monotonicMs: () => clock.ms,
    })
    await quota.ready
    return { quota, clock, take: () => quota.take({ key: 'acme/app', limits, nowMs: Date.now() }) }
  }

  test('units of an expired lease are not spent', async () => {
    const { quota, clock, take } = await instance()
    expect(await take()).toMatchObject({ granted: true })
    await server.stop()
    // far from the limit a lease is five times as long
    clock.ms += LEASE_MS * 4
    expect(await take()).toMatchObject({ granted: true })
    clock.ms += LEASE_MS
    expect(await take()).toMatchObject({ granted: false, cause: 'store_unavailable' })
    await quota.close()
  })
})

/** The quota contract on a real Redis, the clock that tests move, and a restart after a reset. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRedisQuota, type RedisQuota } from '../../src/data-plane/quota/redis/redis-quota.ts'
import { quotaContract } from '../contract/quota/quota-contract.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'

const SOON = { timeout: 20_000 }

quotaContract(
  `redis${SKIPPED_HINT}`,
  async () => {
    const server = await RedisServer.start()
    const quota = openRedisQuota({ redis: server.url, consumers: 256, toolBuckets: 64 })
    await quota.ready
    return {
      quota,
      async close() {
        await quota.close()
        await server.stop()
      },
    }
  },
  { skip: withoutRedis },
)

describe.skipIf(withoutRedis)(`the clock of tests${SKIPPED_HINT}`, () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  test('moves minutes and days for every instance', async () => {
    const open = () => openRedisQuota({ redis: server.url, consumers: 64, toolBuckets: 8 })
    const [one, two] = [open(), open()]
    await Promise.all([one.ready, two.ready])
    const key = 'tenant/consumer'
    const take = async (quota: typeof one, limits: { perMinute: number } | { perDay: number }) =>
      (await quota.take({ key, limits, nowMs: Date.now() })).granted
    const spent = (quota: typeof one, limits: Parameters<typeof take>[1]) =>
      expect.poll(() => take(quota, limits), SOON).toBe(false)
    const free = (quota: typeof one, limits: Parameters<typeof take>[1]) =>
      expect.poll(() => take(quota, limits), SOON).toBe(true)

    await spent(one, { perMinute: 3 })
    await spent(two, { perMinute: 3 })
    one.advance(62_000)
    await free(one, { perMinute: 3 })
    await free(two, { perMinute: 3 })

    await spent(one, { perDay: 10 })
    await spent(two, { perDay: 10 })
    two.advance(86_400_000)
    await free(two, { perDay: 10 })
    await free(one, { perDay: 10 })
    await Promise.all([one.close(), two.close()])
  }, 60_000)
})

describe.skipIf(withoutRedis)(`a restart${SKIPPED_HINT}`, () => {
  test('after a reset neither restores earlier counts nor loses later ones', async () => {
    const server = await RedisServer.start()
    const dir = mkdtempSync(join(tmpdir(), 'quota-restart-'))
    const key = 'tenant/consumer'
    const open = async () => {
      const quota = openRedisQuota({ redis: server.url, dir, consumers: 64, toolBuckets: 8 })
      await quota.ready
      return quota
    }
    async function granted(quota: RedisQuota, calls: number): Promise<number> {
      let count = 0
      for (let i = 0; i < calls; i++) {
        const response = await quota.take({ key, limits: { perDay: 20 }, nowMs: Date.now() })
        if (response.granted) count++
        // Redis did not respond in time, on a busy machine
        else if (response.cause !== undefined) i--
      }
      return count
    }

    /** What is leased but was not reported in time comes back later: until so many are granted. */
    async function spend(quota: RedisQuota, units: number): Promise<void> {
      let left = units
      await expect
        .poll(async () => {
          left -= await granted(quota, left)
          return left
        }, SOON)
        .toBe(0)
    }

    const first = await open()
    await spend(first, 15)
    expect(await first.reset(key)).toBe(true)
    await spend(first, 12)
    await first.close()
    const second = await open()
    await spend(second, 8)
    expect(await granted(second, 30)).toBe(0)
    expect(second.usage()).toMatchObject([{ key, dailyCount: 20, dailyLimit: 20 }])
    await second.close()
    await server.stop()
    rmSync(dir, { recursive: true })
  }, 60_000)
})

/** The keys that sign session ids, shared through a Redis that is slow at the start or restarts empty, and the sessions that another instance signed. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyRing, RingKey } from '../../src/data-plane/sessions/key-ring.ts'
import { type RedisKeyRing, redisKeyRing } from '../../src/data-plane/sessions/redis/key-ring.ts'
import { connectRedis, type RedisConnection } from '../../src/data-plane/sessions/redis/session-connection.ts'
import { RedisSessionStore } from '../../src/data-plane/sessions/redis/store.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { type FaultyLink, startFaultyLink } from '../fixtures/faulty-link.ts'
import { RedisServer, SKIPPED_HINT, withoutRedis } from '../fixtures/redis-server.ts'

const OWN: RingKey = { id: 0, secret: new Uint8Array(32), createdAtMs: Date.now() }
const fallback: KeyRing = { current: () => OWN, find: id => (id === 0 ? OWN : undefined) }
const textOf = (ring: KeyRing): string => Buffer.from(ring.current().secret).toString('hex')
/** A connection is retried after a second at the latest, and the ring as well. */
const SOON = { timeout: 10_000, interval: 20 }

describe.skipIf(withoutRedis)(`keys of sessions in Redis${SKIPPED_HINT}`, () => {
  let server: RedisServer
  let link: FaultyLink
  const opened: { ring: RedisKeyRing; redis: RedisConnection }[] = []

  beforeEach(async () => {
    server = await RedisServer.start()
    link = await startFaultyLink(server.url)
  })
  afterEach(async () => {
    for (const { ring, redis } of opened.splice(0)) {
      ring.close()
      redis.disconnect()
    }
    await link.close()
    await server.stop()
  })

  async function open(url: string): Promise<RedisKeyRing> {
    const redis = connectRedis(url, SILENT)
    const ring = redisKeyRing(redis, fallback)
    opened.push({ ring, redis })
    await ring.ready
    return ring
  }
  const throughLink = () => open(`redis://127.0.0.1:${link.port}`)

  it('are the same for every instance', async () => {
    const rings = await Promise.all([open(server.url), open(server.url), open(server.url)])
    await expect.poll(() => new Set(rings.map(textOf)).size, SOON).toBe(1)
    expect(textOf(rings[0]!)).not.toBe(textOf(fallback))
  })

  it('are read soon after Redis was too slow at the start', async () => {
    const one = await open(server.url)
    await expect.poll(() => textOf(one), SOON).not.toBe(textOf(fallback))
    // only commands are late: the connection is there, and no further `ready` comes
    link.delay(200, 'get')
    const other = await throughLink()
    expect(textOf(other)).toBe(textOf(fallback))
    link.delay(0)
    await expect.poll(() => textOf(other), SOON).toBe(textOf(one))
  })

  describe('and a session of another instance', () => {
    const FACTS = {
      protocolVersion: '2025-11-25',
      origin: 'initialize',
      elicitation: false,
      owner: '0123456789abcdef',
      createdAtMs: Date.now(),
    } as const
    const storeOf = async (url: string) => {
      const ring = await open(url)
      const { redis } = opened.at(-1)!
      const subscriber = connectRedis(server.url, SILENT)
      const store = new RedisSessionStore({
        redis,
        subscriber,
        keys: ring,
        ttlMs: 60_000,
        log: SILENT,
        now: Date.now,
      })
      return { ring, store, close: () => Promise.resolve(store.close()).then(() => subscriber.disconnect()) }
    }

    it('are not said to be unknown before the keys could be read', async () => {
      const one = await storeOf(server.url)
      await expect.poll(() => textOf(one.ring), SOON).not.toBe(textOf(fallback))
      const { id } = await one.store.create(FACTS)
      // the commands of a busy Redis are late, its connection is there
      link.delay(200, 'get')
      const other = await storeOf(`redis://127.0.0.1:${link.port}`)
      expect(await other.store.find(id, Date.now())).toBe('unavailable')
      expect(await other.store.find('not an id', Date.now())).toBeUndefined()
      link.delay(0)
      await expect.poll(() => other.store.find(id, Date.now()), SOON).toMatchObject({ id })
      await Promise.all([one.close(), other.close()])
    })

    it('are known at once although its key was added after the last read', async () => {
      const other = await storeOf(server.url)
      await expect.poll(() => textOf(other.ring), SOON).not.toBe(textOf(fallback))
      const ring = await server.command(redis => redis.get('toolgate:{session-keys}'))
      const added = { id: 1, secret: Buffer.alloc(32, 7).toString('base64url'), createdAtMs: Date.now() }
      await server.command(redis =>
        redis.set('toolgate:{session-keys}', JSON.stringify([added, ...(JSON.parse(ring!) as object[])])),
      )
      const one = await storeOf(server.url)
      await expect.poll(() => one.ring.current().id, SOON).toBe(1)
      const { id } = await one.store.create(FACTS)
      await expect.poll(() => other.store.find(id, Date.now()), { timeout: 3_000 }).toMatchObject({ id })
      await Promise.all([one.close(), other.close()])
    })
  })

  it('outlive a Redis that restarts empty', async () => {
    const one = await open(server.url)
    const other = await open(server.url)
    await expect.poll(() => textOf(other), SOON).toBe(textOf(one))
    const before = textOf(one)
    expect(before).not.toBe(textOf(fallback))
    await server.kill()
    await server.start()
    await expect.poll(() => server.command(redis => redis.exists('toolgate:{session-keys}')), SOON).toBe(1)
    const third = await open(server.url)
    await expect.poll(() => [one, other, third].map(textOf), SOON).toEqual([before, before, before])
  })
})

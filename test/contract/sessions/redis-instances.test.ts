/** What instances with one Redis share: sessions, their owners, streams and keys; and what each does after a lost subscription, or without Redis. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { fileKeyRing } from '../../../src/data-plane/sessions/key-ring.ts'
import { openSessions } from '../../../src/data-plane/sessions/open-sessions.ts'
import { type RedisKeyRing, redisKeyRing } from '../../../src/data-plane/sessions/redis/key-ring.ts'
import { connectRedis, connectSubscriber } from '../../../src/data-plane/sessions/redis/session-connection.ts'
import { RedisSessionStore } from '../../../src/data-plane/sessions/redis/store.ts'
import type { Session, SessionFacts, SessionSignal } from '../../../src/data-plane/sessions/session-store.ts'
import type { RedisConnection } from '../../../src/net/redis/redis-connection.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { noDamage } from '../../fixtures/no-damage.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'

const TTL_MS = 30 * 60_000
const DAY_MS = 86_400_000
const T0 = 1_700_000_000_000
const FACTS: SessionFacts = {
  protocolVersion: '2025-06-18',
  origin: 'initialize',
  elicitation: true,
  owner: '00112233445566ff',
  createdAtMs: T0,
}
const dir = mkdtempSync(join(tmpdir(), 'rings-'))
let rings = 0

interface Instance {
  readonly store: RedisSessionStore
  readonly redis: RedisConnection
  readonly subscriber: RedisConnection
  readonly keys: RedisKeyRing
}

describe.skipIf(!hasRedis())(`instances with one Redis (${REDIS_HINT})`, () => {
  const clock = { ms: T0 }
  const now = () => clock.ms
  let server: RedisServer
  let one: Instance
  let two: Instance

  async function open(): Promise<Instance> {
    // not the connection with a limit of 50 ms for each command: a busy machine must not decide
    const redis = connectSubscriber(server.url, SILENT)
    const subscriber = connectSubscriber(server.url, SILENT)
    const keys = redisKeyRing(redis, fileKeyRing(join(dir, `ring-${rings++}.json`), now), now)
    await keys.ready
    const store = new RedisSessionStore({ redis, subscriber, keys, ttlMs: TTL_MS, log: SILENT, now })
    return { store, redis, subscriber, keys }
  }
  /** Until both receive what the other publishes. */
  const subscribed = () => expect.poll(() => two.store.signal('x', { kind: 'end' })).toBe(2)

  async function lose(connection: RedisConnection): Promise<void> {
    connection.disconnect()
    await expect.poll(() => connection.status).toBe('end')
  }
  const loseSubscription = ({ subscriber }: Instance) => lose(subscriber)

  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(async () => {
    await server.stop()
    rmSync(dir, { recursive: true })
  })
  beforeEach(async () => {
    // heartbeats, refreshes and sweeps come when the test says so
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    clock.ms = T0
    one = await open()
    two = await open()
    await one.redis.flushall()
    await subscribed()
  })
  afterEach(() => {
    for (const { store, keys } of [one, two]) {
      store.close()
      keys.close()
    }
    vi.useRealTimers()
  })

  describe('after a lost subscription', () => {
    it('an instance hears which of its sessions have ended meanwhile', async () => {
      const ids = await Promise.all(
        Array.from({ length: 120 }, async () => (await one.store.create(FACTS)).id),
      )
      const ended: number[] = []
      for (const [n, id] of ids.entries()) one.store.listen(id, ({ kind }) => kind === 'end' && ended.push(n))
      await loseSubscription(one)
      for (const n of [0, 50, 119]) expect(await two.store.end(ids[n]!)).toBe(true)
      expect(ended).toEqual([])
      await one.subscriber.connect()
      await expect.poll(() => ended).toEqual([0, 50, 119])
    })

    it('an instance hears the events of the streams that are resumed on it', async () => {
      const [open_, complete] = ['open', 'complete'].map(streamId => ({ sessionId: 's', streamId }))
      const heard: [string, SessionSignal][] = []
      one.store.listen(open_!, signal => heard.push(['open', signal]))
      one.store.listen(complete!, signal => heard.push(['complete', signal]))
      one.store.listen({ sessionId: 's', streamId: 'unknown' }, signal => heard.push(['unknown', signal]))
      await loseSubscription(one)
      for (const stream of [open_!, complete!])
        for (const n of [0, 1]) two.store.append(stream, { n, data: `a:${n}` })
      two.store.finish(complete!)
      await expect.poll(async () => (await two.store.replay(complete!, 0))?.complete).toBe(true)
      await one.subscriber.connect()
      await expect.poll(() => heard.length).toBe(4)
      const event = (n: number, last: boolean) => ({ kind: 'event', event: { n, data: `a:${n}` }, last })
      expect(heard).toEqual([
        ['open', event(0, false)],
        ['open', event(1, false)],
        ['complete', event(0, false)],
        ['complete', event(1, true)],
      ])
    })
  })

  it('an instance finds sessions expired that Redis no longer has, unless they are stored again when they are used', async () => {
    const idle = await one.store.create(FACTS)
    const open_ = await one.store.create(FACTS)
    await one.store.setStreaming(open_.id, 'standalone', true)
    const ids = [idle.id, open_.id]
    expect(await one.store.findExpired(ids, T0 + TTL_MS + 1)).toEqual([])
    await one.redis.flushall()
    expect(await one.store.findExpired(ids, T0 + TTL_MS)).toEqual([])
    expect(await one.store.findExpired(ids, T0 + TTL_MS + 1)).toEqual([idle.id])
    expect(await two.store.find(idle.id, T0 + TTL_MS + 1)).toBeUndefined()
    await lose(one.redis)
    expect(await one.store.findExpired(ids, T0 + TTL_MS + 1)).toEqual([])
  })

  it('a session is ended once when the first response of Redis was lost', async () => {
    const { id } = await one.store.create(FACTS)
    let sent = 0
    vi.spyOn(one.redis, 'eval').mockImplementationOnce(async (...command) => {
      sent++
      await two.redis.eval(...(command as Parameters<typeof two.redis.eval>))
      throw new Error('Command timed out')
    })
    expect(await one.store.end(id)).toBe(true)
    expect(sent).toBe(1)
    expect(await two.store.end(id)).toBe(false)
  })

  it('a listener hears a signal of the same instance once', async () => {
    const heard: SessionSignal[] = []
    two.store.listen('a', signal => heard.push(signal))
    await two.store.signal('a', { kind: 'cancel', requestId: 1 })
    // published later and received: the first one would have been received before
    await one.store.signal('a', { kind: 'cancel', requestId: 2 })
    await expect.poll(() => heard.at(-1)).toEqual({ kind: 'cancel', requestId: 2 })
    expect(heard).toHaveLength(2)
  })

  describe('a stream that is open on one instance', () => {
    it('is not said to have ended by an instance that cannot reach Redis', async () => {
      const stream = await one.store.create({ ...FACTS, origin: 'stream' })
      const initialized = await one.store.create(FACTS)
      await one.store.setStreaming(stream.id, 'legacy', true)
      await lose(two.redis)
      expect(await two.store.find(stream.id, T0 + 1)).toBe('unavailable')
      expect(await two.store.find(stream.id, T0 + TTL_MS + 1)).toBeUndefined()
      expect(await two.store.find(initialized.id, T0 + 1)).toMatchObject({ id: initialized.id })
      await two.redis.connect()
      expect(await two.store.find(stream.id, T0 + 1)).toMatchObject({ legacyStream: true })
    })

    it('is known to the other soon after a heartbeat that was not stored', async () => {
      const { id } = await one.store.create({ ...FACTS, origin: 'stream' })
      await lose(one.redis)
      await one.store.setStreaming(id, 'legacy', true)
      await one.redis.connect()
      expect(await two.store.find(id, T0 + 1)).toBeUndefined()
      await expect.poll(() => two.store.find(id, T0 + 1)).toMatchObject({ legacyStream: true })
    })

    it('is known to the other as long as heartbeats come', async () => {
      const { id } = await one.store.create({ ...FACTS, origin: 'stream' })
      await one.store.setStreaming(id, 'legacy', true)
      expect(await two.store.find(id, T0 + 29_999)).toMatchObject({ legacyStream: true })
      clock.ms = T0 + 20_000
      vi.advanceTimersByTime(10_000)
      await expect.poll(() => two.store.find(id, T0 + 49_999)).toMatchObject({ legacyStream: true })
      // three heartbeats are missing
      expect(await two.store.find(id, T0 + 50_000)).toBeUndefined()
    })

    it('keeps its session active, though no call comes', async () => {
      const { id } = await one.store.create(FACTS)
      await one.store.setStreaming(id, 'standalone', true)
      clock.ms = T0 + 2 * TTL_MS
      vi.advanceTimersByTime(10_000)
      await expect.poll(async () => (await two.store.statistics(clock.ms))?.active_sessions).toBe(1)
      expect(await one.store.find(id, clock.ms)).toMatchObject({ id, legacyStream: false })
    })

    it('does not revive a session that has ended', async () => {
      const { id } = await one.store.create(FACTS)
      expect(await two.store.end(id)).toBe(true)
      await one.store.setStreaming(id, 'legacy', true)
      expect(await two.store.find(id, T0)).toBeUndefined()
      expect((await two.store.statistics(T0))?.active_sessions).toBe(0)
    })

    it('ends its session when it was the reason for it, and no other session', async () => {
      for (const [origin, found] of [
        ['stream', false],
        ['initialize', true],
      ] as const) {
        const { id } = await one.store.create({ ...FACTS, origin })
        const heard: string[] = []
        one.store.listen(id, ({ kind }) => heard.push(kind))
        await one.store.setStreaming(id, 'legacy', true)
        await one.store.setStreaming(id, 'legacy', false)
        expect((await two.store.find(id, T0)) !== undefined).toBe(found)
        expect(heard).toEqual(found ? [] : ['end'])
      }
    })
  })

  it('sessions past their TTL leave the index of all sessions with the next sweep', async () => {
    await one.store.create(FACTS)
    clock.ms = T0 + TTL_MS - 1
    vi.advanceTimersByTime(60_000)
    await one.redis.ping()
    expect(await one.redis.zcard('toolgate:{sessions}:index')).toBe(1)
    clock.ms = T0 + TTL_MS
    vi.advanceTimersByTime(60_000)
    await expect.poll(() => one.redis.zcard('toolgate:{sessions}:index')).toBe(0)
  })

  it('counts a session as a zombie after a third of its TTL, and not at all after the TTL', async () => {
    await one.store.create(FACTS)
    const counts = async (ms: number) => {
      const { active_sessions, zombie_sessions, total_created } = (await two.store.statistics(T0 + ms))!
      return [active_sessions, zombie_sessions, total_created]
    }
    expect(await counts(TTL_MS / 3)).toEqual([1, 0, 1])
    expect(await counts(TTL_MS / 3 + 1)).toEqual([1, 1, 1])
    expect(await counts(TTL_MS + 1)).toEqual([0, 0, 1])
  })

  it('a session that Redis has lost is stored again, unless it is older than its TTL', async () => {
    const { id } = await one.store.create(FACTS)
    await one.redis.flushall()
    expect(await two.store.find(id, T0 + TTL_MS + 1)).toBeUndefined()
    expect(await two.store.find(id, T0 + TTL_MS)).toMatchObject({ id, owner: FACTS.owner })
    // it lives on by its use
    expect(await two.store.find(id, T0 + TTL_MS + 1)).toMatchObject({ id })
  })

  describe('the owner of a session', () => {
    const OTHER = 'ffffffffffffffff'

    it.each([
      ['is in its id', FACTS.owner],
      ['has claimed it', ''],
    ])('who %s stays after Redis lost its data while a stream is open', async (_, owner) => {
      const session = await one.store.create({ ...FACTS, owner })
      expect(await one.store.claim(session, FACTS.owner)).toBe(true)
      await one.store.setStreaming(session.id, 'standalone', true)
      await one.redis.flushall()
      vi.advanceTimersByTime(10_000)
      await expect.poll(() => one.redis.exists(`toolgate:{s:${session.id}}`)).toBe(1)
      // both before and after the session is found by its other owner
      expect(await two.store.claim({ ...session, owner: '' }, OTHER)).toBe(false)
      const found = (await two.store.find(session.id, T0)) as Session
      expect(found.owner).toBe(FACTS.owner)
      expect(await two.store.claim(found, OTHER)).toBe(false)
      expect(await two.store.claim(found, FACTS.owner)).toBe(true)
    })

    it('who is in its id is not replaced by another one that Redis has', async () => {
      const session = await one.store.create(FACTS)
      await one.redis.hset(`toolgate:{s:${session.id}}`, 'owner', OTHER)
      expect(await one.store.find(session.id, T0)).toMatchObject({ owner: FACTS.owner })
      expect(await one.store.claim({ ...session, owner: '' }, OTHER)).toBe(false)
      expect(await one.store.claim({ ...session, owner: '' }, FACTS.owner)).toBe(true)
    })

    it('who claimed it just after Redis lost its data stays', async () => {
      const session = await one.store.create({ ...FACTS, owner: '' })
      await one.redis.flushall()
      expect(await one.store.claim(session, FACTS.owner)).toBe(true)
      await one.store.update(session.id, { protocolVersion: '2025-11-25', elicitation: false })
      expect(await one.redis.pttl(`toolgate:{s:${session.id}}`)).toBeGreaterThan(0)
      expect(await two.store.find(session.id, T0)).toMatchObject({ owner: FACTS.owner })
      expect(await two.store.claim(session, OTHER)).toBe(false)
    })

    it('is not set once the session has ended', async () => {
      const session = await one.store.create({ ...FACTS, owner: '' })
      await two.store.end(session.id)
      expect(await one.store.claim(session, OTHER)).toBe(false)
    })
  })

  it('ends no session by an id that is not signed', async () => {
    const { id } = await one.store.create(FACTS)
    expect(await one.store.end(`${id}A`)).toBe(false)
    expect(await two.store.find(id, T0)).toMatchObject({ id })
  })

  describe('without Redis, an instance', () => {
    it('finds a session by the facts in its id, until its TTL', async () => {
      const session = await one.store.create(FACTS)
      const { id } = session
      expect(session).toEqual({ id, ...FACTS, legacyStream: false })
      one.redis.disconnect()
      expect(await one.store.find(id, T0 + TTL_MS)).toEqual(session)
      expect(await one.store.find(id, T0 + TTL_MS + 1)).toBeUndefined()
    })

    it('finds a session of a stream only where the stream is', async () => {
      const { id } = await one.store.create({ ...FACTS, origin: 'stream' })
      await one.store.setStreaming(id, 'legacy', true)
      for (const { redis } of [one, two]) redis.disconnect()
      expect(await one.store.find(id, T0 + 2 * TTL_MS)).toMatchObject({ legacyStream: true })
      expect(await two.store.find(id, T0)).toBe('unavailable')
    })

    it('creates sessions, gives none to a second owner, and ends none', async () => {
      one.redis.disconnect()
      const session = await one.store.create(FACTS)
      expect(await one.store.find(session.id, T0)).toMatchObject({ id: session.id })
      expect(await one.store.claim(session, FACTS.owner)).toBe(true)
      expect(await one.store.claim(session, 'ffffffffffffffff')).toBe(false)
      const unowned = await one.store.create({ ...FACTS, owner: '' })
      expect(await one.store.claim(unowned, 'ffffffffffffffff')).toBe(true)
      expect(await one.store.end(session.id)).toBe('unavailable')
    })

    it('says of no task that it is unknown', async () => {
      one.redis.disconnect()
      expect(await one.store.tasks.get('ann', 'a')).toBe('unavailable')
      expect(await one.store.tasks.list('ann')).toBe('unavailable')
      expect(await two.store.tasks.get('ann', 'a')).toBeUndefined()
      expect(await two.store.tasks.list('ann')).toEqual([])
    })

    it('delivers signals to its own listeners, and counts no sessions: its own are not all', async () => {
      const { id } = await one.store.create(FACTS)
      await one.store.setStreaming(id, 'standalone', true)
      one.redis.disconnect()
      const heard: SessionSignal[] = []
      one.store.listen(id, signal => heard.push(signal))
      expect(await one.store.signal(id, { kind: 'cancel', requestId: 7 })).toBe(1)
      expect(heard).toEqual([{ kind: 'cancel', requestId: 7 }])
      expect(await one.store.statistics(T0)).toBeUndefined()
      expect(await one.store.replay({ sessionId: id, streamId: 's' }, 0)).toBeUndefined()
    })
  })

  it('open by their URL, two instances serve the same sessions', async () => {
    const opened = await Promise.all(
      ['a', 'b'].map(name =>
        openSessions({
          dataDir: join(dir, name),
          redis: server.url,
          ttlMs: TTL_MS,
          max: 10,
          log: SILENT,
          onDamage: noDamage,
          now,
        }),
      ),
    )
    const { id } = await opened[0]!.sessions.create(FACTS)
    await expect.poll(() => opened[1]!.sessions.find(id, T0)).toMatchObject({ id, owner: FACTS.owner })
    for (const { sessions } of opened) await sessions.close()
  })

  it('a connection reports once that Redis cannot be reached, and again after it could be', async () => {
    const own = await RedisServer.start()
    const warnings: object[] = []
    const log = { ...SILENT, warn: (fields: object) => void warnings.push(fields) }
    await own.stop()
    const redis = connectRedis(own.url, log)
    let errors = 0
    redis.on('error', () => errors++)
    await expect.poll(() => errors).toBeGreaterThan(2)
    expect(warnings).toEqual([{ reason: expect.stringContaining('ECONNREFUSED') }])
    const again = await RedisServer.start(own.port)
    await expect.poll(() => redis.status).toBe('ready')
    await again.stop()
    await expect.poll(() => warnings.length).toBe(2)
    redis.disconnect()
  })

  describe('the keys', () => {
    it('are the same on all instances, and after a day all take the same new one', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
      const all = [await open(), await open(), await open()]
      const [first, second] = all as [Instance, Instance]
      const before = first.keys.current()
      const secrets = () => new Set(all.map(({ keys }) => Buffer.from(keys.current().secret).toString('hex')))
      vi.advanceTimersByTime(30_000)
      await expect.poll(() => secrets().size).toBe(1)
      clock.ms = T0 + DAY_MS
      vi.advanceTimersByTime(30_000)
      await expect.poll(() => first.keys.current().createdAtMs).toBe(clock.ms)
      await expect.poll(() => secrets().size).toBe(1)
      // what the old one signed is still verified
      expect(Buffer.from(second.keys.find(before.id)!.secret)).toEqual(Buffer.from(before.secret))
      for (const { store, keys } of all) {
        store.close()
        keys.close()
      }
    })

    it('are those of the instance itself while Redis has never responded', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
      const redis = connectSubscriber('redis://127.0.0.1:1', SILENT)
      redis.disconnect()
      const fallback = fileKeyRing(join(dir, `ring-${rings++}.json`), now)
      const keys = redisKeyRing(redis, fallback, now)
      expect(keys.current()).toBe(fallback.current())
      expect(keys.find(fallback.current().id)).toBe(fallback.current())
      await vi.advanceTimersByTimeAsync(1000)
      await keys.ready
      expect(keys.current()).toBe(fallback.current())
      keys.close()
    })
  })
})

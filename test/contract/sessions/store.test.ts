/** What every session store promises, on each adapter; also what two threads, or two instances with one Redis, promise together. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { PortLine } from '../../../src/base/threads/port-line.ts'
import { fileKeyRing } from '../../../src/data-plane/sessions/key-ring.ts'
import { MemorySessionStore } from '../../../src/data-plane/sessions/memory/store.ts'
import { redisKeyRing } from '../../../src/data-plane/sessions/redis/key-ring.ts'
import { connectRedis, connectSubscriber } from '../../../src/data-plane/sessions/redis/session-connection.ts'
import { RedisSessionStore } from '../../../src/data-plane/sessions/redis/store.ts'
import type {
  SessionFacts,
  SessionSignal,
  SessionStore,
  StreamRef,
} from '../../../src/data-plane/sessions/session-store.ts'
import type { TaskRecord } from '../../../src/data-plane/sessions/task-store.ts'
import { JoinedSessionStore } from '../../../src/data-plane/sessions/threads/joined-store.ts'
import { SessionThreadServer } from '../../../src/data-plane/sessions/threads/thread-server.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'

const TTL_MS = 30 * 60_000
const FACTS: SessionFacts = {
  protocolVersion: '2025-06-18',
  origin: 'initialize',
  elicitation: true,
  owner: '',
  createdAtMs: 1_700_000_000_000,
}

function streamOf(sessionId: string, name = 'stream'): StreamRef {
  return { sessionId, streamId: `${name}-${Math.random()}` }
}

class Clock {
  nowMs = FACTS.createdAtMs
  readonly now = () => this.nowMs
}

function ringFile(): string {
  return join(mkdtempSync(join(tmpdir(), 'ring-')), 'keys.json')
}

function contract(make: (clock: Clock) => Promise<SessionStore>): void {
  const clock = new Clock()
  let store: SessionStore
  beforeEach(async () => {
    store = await make(clock)
  })
  afterEach(() => store.close())

  it('finds what it created, with the facts that stand in the id', async () => {
    const { id } = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    expect(id).toMatch(/^[\x21-\x7e]+$/)
    expect(await store.find(id, clock.nowMs)).toEqual({
      ...FACTS,
      createdAtMs: clock.nowMs,
      id,
      legacyStream: false,
    })
  })

  it('keeps tasks of each owner apart, as many as are allowed', async () => {
    const { tasks } = store
    const task = (id: string, owner: string): TaskRecord => ({
      id,
      owner,
      createdAtMs: clock.nowMs,
      updatedAtMs: clock.nowMs,
      ttlMs: 60_000,
      aliveUntilMs: clock.nowMs,
      status: 'working',
    })
    const [ann, bob] = [`ann-${Math.random()}`, `bob-${Math.random()}`]
    expect(await tasks.create(task('a', ann), 2)).toBe('created')
    expect(await tasks.create(task('b', ann), 2)).toBe('created')
    expect(await tasks.create(task('c', ann), 2)).toBe('too_many')
    expect(await tasks.create(task('d', bob), 2)).toBe('created')
    expect(await tasks.get(bob, 'a')).toBeUndefined()
    const listed = async () => (await tasks.list(ann)) as readonly TaskRecord[]
    expect((await listed()).map(({ id }) => id).sort()).toEqual(['a', 'b'])
    const ended: TaskRecord = { ...task('a', ann), status: 'completed', outcome: '"result":{"n":1.0}' }
    expect(await tasks.put(ended)).toBe(true)
    expect(await tasks.put(task('unknown', ann))).toBe(false)
    expect(await tasks.get(ann, 'a')).toEqual(ended)
    expect((await listed()).every(({ outcome }) => outcome === undefined)).toBe(true)
  })

  it('knows no id it has not signed', async () => {
    const { id } = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    for (const forged of [
      '',
      'x',
      id.slice(0, -1),
      `${id}A`,
      `${id.slice(0, 20)}A${id.slice(21)}`,
      `A${id.slice(1)}`,
      '../../etc',
      '\u0000'.repeat(58),
    ]) {
      if (forged !== id) expect([forged, await store.find(forged, clock.nowMs)]).toEqual([forged, undefined])
    }
  })

  it('keeps a session for longer than its TTL while it is used', async () => {
    const { id } = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    for (let round = 0; round < 3; round++) {
      clock.nowMs += TTL_MS - 1000
      expect(await store.find(id, clock.nowMs)).toMatchObject({ id })
    }
  })

  it('belongs to the first principal that claimed it', async () => {
    const session = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    expect(await store.claim(session, '00112233445566ff')).toBe(true)
    expect(await store.claim(session, '00112233445566ff')).toBe(true)
    expect(await store.claim(session, 'ffffffffffffffff')).toBe(false)
    expect(await store.find(session.id, clock.nowMs)).toMatchObject({ owner: '00112233445566ff' })
  })

  it('keeps an owner whose hash ends or begins with zeros', async () => {
    for (const owner of ['aabbccddeeff0000', '0000aabbccddeeff']) {
      const { id } = await store.create({ ...FACTS, owner, createdAtMs: clock.nowMs })
      expect(await store.find(id, clock.nowMs)).toMatchObject({ owner })
    }
  })

  it('keeps what initialize settles, whatever it was before', async () => {
    const { id } = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    for (const settled of [
      { protocolVersion: '2025-03-26', elicitation: false },
      { protocolVersion: '2025-11-25', elicitation: true },
    ]) {
      await store.update(id, settled)
      expect(await store.find(id, clock.nowMs)).toMatchObject(settled)
    }
  })

  it('goes on when one of its streams is closed', async () => {
    for (const [origin, kinds] of [
      ['initialize', ['legacy']],
      ['initialize', ['standalone']],
      ['stream', ['legacy', 'legacy']],
      ['stream', ['legacy', 'standalone']],
    ] as const) {
      const { id } = await store.create({ ...FACTS, origin, createdAtMs: clock.nowMs })
      for (const kind of kinds) await store.setStreaming(id, kind, true)
      await store.setStreaming(id, kinds.at(-1)!, false)
      expect([kinds, await store.find(id, clock.nowMs)]).toMatchObject([kinds, { id }])
    }
  })

  it('ends once, permanently, and notifies its listeners', async () => {
    const { id } = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    const seen: SessionSignal[] = []
    store.listen(id, signal => seen.push(signal))
    expect(await store.end(id)).toBe(true)
    expect(await store.end(id)).toBe(false)
    expect(await store.find(id, clock.nowMs)).toBeUndefined()
    expect(seen).toEqual([{ kind: 'end' }])
  })

  it('lets a session of a stream live exactly as long as its stream', async () => {
    const { id } = await store.create({ ...FACTS, origin: 'stream', createdAtMs: clock.nowMs })
    expect(await store.find(id, clock.nowMs)).toBeUndefined()
    const { id: second } = await store.create({ ...FACTS, origin: 'stream', createdAtMs: clock.nowMs })
    store.setStreaming(second, 'legacy', true)
    expect(await store.find(second, clock.nowMs)).toMatchObject({ legacyStream: true })
    await store.update(second, { protocolVersion: '2025-03-26', elicitation: false })
    expect(await store.find(second, clock.nowMs)).toMatchObject({
      protocolVersion: '2025-03-26',
      elicitation: false,
    })
    store.setStreaming(second, 'legacy', false)
    await expect.poll(() => store.find(second, clock.nowMs)).toBeUndefined()
  })

  it('delivers signals to the listeners of that session alone, until they stop', async () => {
    const seen: string[] = []
    const stop = store.listen('a', signal => seen.push(`a ${signal.kind}`))
    store.listen('b', signal => seen.push(`b ${signal.kind}`))
    await store.signal('a', { kind: 'cancel', requestId: 7 })
    stop()
    await store.signal('a', { kind: 'cancel', requestId: 8 })
    expect(seen).toEqual(['a cancel'])
  })

  it('delivers a signal to each listener of a session, and to those left when one stops', async () => {
    const { id } = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    const seen: string[] = []
    const stops = ['one', 'two', 'three'].map(name => store.listen(id, () => seen.push(name)))
    await store.signal(id, { kind: 'cancel', requestId: 1 })
    await expect.poll(() => seen, { timeout: 15_000 }).toEqual(['one', 'two', 'three'])
    stops[1]!()
    await store.signal(id, { kind: 'cancel', requestId: 2 })
    await expect.poll(() => seen.slice(3), { timeout: 15_000 }).toEqual(['one', 'three'])
    for (const stop of stops) stop()
  })

  it('replays what came after an event, and knows when a stream is complete', async () => {
    const stream = streamOf('a')
    for (let n = 0; n < 4; n++) store.append(stream, { n, data: `{"n":${n}}` })
    await expect
      .poll(() => store.replay(stream, 1))
      .toEqual({
        events: [
          { n: 2, data: '{"n":2}' },
          { n: 3, data: '{"n":3}' },
        ],
        complete: false,
      })
    store.finish(stream)
    await expect.poll(() => store.replay(stream, 3)).toEqual({ events: [], complete: true })
    expect(await store.replay({ sessionId: 'a', streamId: 'never-opened' }, 0)).toBeUndefined()
  })

  it('finds a stream through its own session only', async () => {
    const own = streamOf('owner')
    const foreign: StreamRef = { ...own, sessionId: 'attacker' }
    const seen: string[] = []
    store.listen(own, signal => seen.push(`own ${signal.kind}`))
    store.listen(foreign, signal => seen.push(`foreign ${signal.kind}`))
    store.append(own, { n: 0, data: '{"secret":0}' })
    await store.signal(own, { kind: 'event', event: { n: 0, data: '{"secret":0}' }, last: false })
    await expect.poll(async () => (await store.replay(own, -1))?.events.length, { timeout: 15_000 }).toBe(1)
    expect(await store.replay(foreign, -1)).toBeUndefined()
    await expect.poll(() => seen, { timeout: 15_000 }).toEqual(['own event'])
    // what the other session writes under the same stream id goes to a separate stream
    store.append(foreign, { n: 1, data: '{}' })
    store.finish(foreign)
    await expect.poll(async () => (await store.replay(foreign, 0))?.complete, { timeout: 15_000 }).toBe(true)
    expect(await store.replay(own, -1)).toEqual({ events: [{ n: 0, data: '{"secret":0}' }], complete: false })
  })

  it('would rather not know a stream than leave a gap in it', async () => {
    const stream = streamOf('a', 'long')
    for (let n = 0; n < 400; n++) store.append(stream, { n, data: '{}' })
    await expect.poll(async () => (await store.replay(stream, 300))?.events.length).toBe(99)
    expect(await store.replay(stream, 3)).toBeUndefined()
  })

  it('keeps at most 256 KiB of a stream, and always its last event', async () => {
    const stream = streamOf('a', 'wide')
    const data = JSON.stringify('x'.repeat(32 * 1024))
    for (let n = 0; n < 20; n++) store.append(stream, { n, data })
    const kept = async () => (await store.replay(stream, 18))?.events.map(event => event.n)
    await expect.poll(kept, { timeout: 15_000 }).toEqual([19])
    expect(await store.replay(stream, 5)).toBeUndefined()
    const last = JSON.stringify('y'.repeat(300 * 1024))
    store.append(stream, { n: 20, data: last })
    await expect
      .poll(async () => (await store.replay(stream, 19))?.events, { timeout: 15_000 })
      .toEqual([{ n: 20, data: last }])
    expect(await store.replay(stream, 18)).toBeUndefined()
  })

  it('knows which sessions have ended, and renews none of those in use', async () => {
    const facts = { ...FACTS, createdAtMs: clock.nowMs }
    const [used, ended] = [await store.create(facts), await store.create(facts)]
    await store.end(ended.id)
    expect(await store.findExpired([used.id, ended.id, 'forged'], clock.nowMs)).toEqual([ended.id, 'forged'])
    await store.setStreaming(used.id, 'standalone', true)
    expect(await store.findExpired([used.id], clock.nowMs + 2 * TTL_MS)).toEqual([])
    await store.setStreaming(used.id, 'standalone', false)
  })

  it('counts sessions, and zombies among them after a third of the TTL', async () => {
    const before = await store.statistics(clock.nowMs)
    await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    const after = await store.statistics(clock.nowMs)
    expect(after!.total_created).toBe(before!.total_created + 1)
    expect(after!.active_sessions).toBe(before!.active_sessions + 1)
    const later = await store.statistics(clock.nowMs + TTL_MS / 3 + 1)
    expect(later!.zombie_sessions).toBeGreaterThanOrEqual(1)
  })
}

describe('memory', () => {
  const make = async (clock: Clock) =>
    new MemorySessionStore({
      keys: fileKeyRing(ringFile(), clock.now),
      ttlMs: TTL_MS,
      maxSessions: 1000,
      now: clock.now,
    })
  contract(make)

  it('takes up ids again after a restart, because they prove themselves', () => {
    const file = ringFile()
    const clock = new Clock()
    const open = () =>
      new MemorySessionStore({
        keys: fileKeyRing(file, clock.now),
        ttlMs: TTL_MS,
        maxSessions: 10,
        now: clock.now,
      })
    const { id } = open().create({ ...FACTS, owner: '00112233445566ff' })
    const restarted = open()
    expect(restarted.find(id, clock.nowMs + 1000)).toMatchObject({ id, owner: '00112233445566ff' })
    expect(restarted.find(id, clock.nowMs + 3 * TTL_MS)).toBeUndefined()
  })

  it('finds sessions expired after a TTL without use, and does not renew them by the question', () => {
    const clock = new Clock()
    const keys = fileKeyRing(ringFile(), clock.now)
    const store = new MemorySessionStore({ keys, ttlMs: TTL_MS, maxSessions: 10, now: clock.now })
    const { id } = store.create(FACTS)
    expect(store.findExpired([id], clock.nowMs + TTL_MS)).toEqual([])
    expect(store.findExpired([id], clock.nowMs + TTL_MS + 1)).toEqual([id])
    expect(store.find(id, clock.nowMs + TTL_MS + 1)).toBeUndefined()
    store.close()
  })

  it('evicts a session when it is full, not one with a stream', async () => {
    const clock = new Clock()
    const store = new MemorySessionStore({
      keys: fileKeyRing(ringFile(), clock.now),
      ttlMs: TTL_MS,
      maxSessions: 2,
      now: clock.now,
    })
    const first = store.create(FACTS)
    store.setStreaming(first.id, 'standalone', true)
    store.create(FACTS)
    store.create(FACTS)
    expect(store.statistics(clock.nowMs).active_sessions).toBe(2)
    expect(store.find(first.id, clock.nowMs)).toBeDefined()
    store.close()
  })
})

describe('threads of one process', () => {
  function serverOn(clock: Clock): SessionThreadServer {
    return new SessionThreadServer(
      new MemorySessionStore({
        keys: fileKeyRing(ringFile(), clock.now),
        ttlMs: TTL_MS,
        maxSessions: 1000,
        now: clock.now,
      }),
    )
  }
  /** A thread's view, over a real port. */
  function join(at: SessionThreadServer): { store: JoinedSessionStore; line: PortLine } {
    const { port1, port2 } = new MessageChannel()
    at.serve(new PortLine(port1))
    const line = new PortLine(port2)
    return { store: new JoinedSessionStore(line), line }
  }
  contract(async clock => join(serverOn(clock)).store)

  it('lets one thread serve what the other opened: session, signal, replay, end', async () => {
    const clock = new Clock()
    const at = serverOn(clock)
    const [one, two] = [join(at).store, join(at).store]
    const session = await one.create({ ...FACTS, createdAtMs: clock.nowMs })
    const { id } = session
    expect(await two.find(id, clock.nowMs)).toMatchObject({ id, owner: '' })
    // found again without a question, until something about it changes
    expect(two.find(id, clock.nowMs)).not.toBeInstanceOf(Promise)
    expect(await one.claim(session, '00112233445566ff')).toBe(true)
    expect(await two.find(id, clock.nowMs)).toMatchObject({ owner: '00112233445566ff' })
    await one.setStreaming(id, 'legacy', true)
    expect(await two.find(id, clock.nowMs)).toMatchObject({ legacyStream: true })

    const heard: SessionSignal[] = []
    const stop = one.listen(id, signal => heard.push(signal))
    expect(await two.signal(id, { kind: 'message', message: '{"x":1}' })).toBe(1)
    await expect.poll(() => heard).toEqual([{ kind: 'message', message: '{"x":1}' }])
    stop()
    await expect.poll(() => two.signal(id, { kind: 'message', message: '{"x":2}' })).toBe(0)
    expect(heard).toHaveLength(1)
    const shared = streamOf(id)
    one.append(shared, { n: 0, data: '{}' })
    await one.signal(shared, { kind: 'end' })
    expect(await two.replay(shared, -1)).toMatchObject({ events: [{ n: 0 }] })

    expect(await one.find(id, clock.nowMs)).toBeDefined()
    expect(await two.end(id)).toBe(true)
    expect(await one.find(id, clock.nowMs)).toBeUndefined()
  })

  it('keeps a session whose every call is served from the cache of a thread', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const clock = new Clock()
      const at = serverOn(clock)
      const [one, two] = [join(at).store, join(at).store]
      const { id } = await one.create({ ...FACTS, createdAtMs: clock.nowMs })
      expect(await one.find(id, clock.nowMs)).toMatchObject({ id })
      clock.nowMs += 999
      expect(one.find(id, clock.nowMs)).not.toBeInstanceOf(Promise)
      vi.advanceTimersByTime(10_000)
      // counted from the call that only the cache has seen
      await expect
        .poll(async () => (await two.statistics(clock.nowMs + TTL_MS))?.active_sessions, { timeout: 15_000 })
        .toBe(1)
      expect((await two.statistics(clock.nowMs + TTL_MS + 1))?.active_sessions).toBe(0)
      // a second later the session itself is asked again
      expect(one.find(id, clock.nowMs + 1)).toBeInstanceOf(Promise)
      one.close()
      two.close()
    } finally {
      vi.useRealTimers()
    }
  })

  it('ends the streams of a thread that has gone, and nothing else', async () => {
    const clock = new Clock()
    const at = serverOn(clock)
    const [one, two] = [join(at), join(at)]
    const minted = await one.store.create({ ...FACTS, origin: 'stream', createdAtMs: clock.nowMs })
    await one.store.setStreaming(minted.id, 'legacy', true)
    const kept = await one.store.create({ ...FACTS, createdAtMs: clock.nowMs })
    expect(await two.store.find(minted.id, clock.nowMs)).toBeDefined()
    one.line.close()
    await expect.poll(() => two.store.find(minted.id, clock.nowMs + 2000)).toBeUndefined()
    expect(await two.store.find(kept.id, clock.nowMs)).toMatchObject({ id: kept.id })
    await expect(one.store.create(FACTS)).rejects.toThrow('ended')
  })
})

describe.skipIf(!hasRedis())(`redis (${REDIS_HINT})`, () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  async function open(clock: Clock): Promise<SessionStore> {
    // not the connection with a limit of 50 ms for each command: a busy machine must not decide
    const redis = connectSubscriber(server.url, SILENT)
    const subscriber = connectSubscriber(server.url, SILENT)
    const keys = redisKeyRing(redis, fileKeyRing(ringFile(), clock.now), clock.now)
    await keys.ready
    const store = new RedisSessionStore({
      redis,
      subscriber,
      keys,
      ttlMs: TTL_MS,
      log: SILENT,
      now: clock.now,
    })
    await expect.poll(() => subscriber.status).toBe('ready')
    // responses come in order: the store has subscribed before
    await subscriber.subscribe('another')
    return store
  }
  contract(open)

  it('lets one instance serve what the other opened: session, signal, replay, end', async () => {
    const clock = new Clock()
    const [one, two] = await Promise.all([open(clock), open(clock)])
    const { id } = await one.create({ ...FACTS, createdAtMs: clock.nowMs })
    expect(await two.find(id, clock.nowMs)).toMatchObject({ id })
    const heard = new Promise<SessionSignal>(resolve => one.listen(id, resolve))
    await two.signal(id, { kind: 'message', message: '{"x":1}' })
    expect(await heard).toEqual({ kind: 'message', message: '{"x":1}' })
    const shared = streamOf(id)
    one.append(shared, { n: 0, data: '{}' })
    await expect.poll(() => two.replay(shared, -1)).toMatchObject({ events: [{ n: 0 }] })
    expect(await two.end(id)).toBe(true)
    expect(await one.find(id, clock.nowMs)).toBeUndefined()
    await Promise.all([one.close(), two.close()])
  })

  it('continues with the facts in the ids while Redis is unavailable, and responds within 100 ms', async () => {
    const clock = new Clock()
    const own = await RedisServer.start()
    const redis = connectRedis(own.url, SILENT)
    const subscriber = connectSubscriber(own.url, SILENT)
    const keys = redisKeyRing(redis, fileKeyRing(ringFile(), clock.now), clock.now)
    await keys.ready
    const store = new RedisSessionStore({
      redis,
      subscriber,
      keys,
      ttlMs: TTL_MS,
      log: SILENT,
      now: clock.now,
    })
    const { id } = await store.create({ ...FACTS, createdAtMs: clock.nowMs })
    own.process.kill('SIGSTOP')
    // a wait of the store itself would occur in every round; a delay of a busy machine does not
    const took: number[] = []
    for (let n = 0; n < 5; n++) {
      const startedAt = performance.now()
      expect(await store.find(id, clock.nowMs)).toMatchObject({ id })
      took.push(performance.now() - startedAt)
    }
    expect(Math.min(...took)).toBeLessThan(100)
    store.close()
    own.process.kill('SIGCONT')
    await own.stop()
  })
})

/** What every store of sessions with MCP servers promises, run on files and on Redis. It connects to no MCP server. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileServerSessions } from '../../../src/mcp/client/file-server-sessions.ts'
import {
  callerKey,
  type ServerSessionStore,
  serverKey,
  sessionPlace,
} from '../../../src/mcp/client/server-session-store.ts'
import { redisServerSessions } from '../../../src/mcp/client/server-sessions.ts'
import { openConnection, type RedisConnection } from '../../../src/net/redis/redis-connection.ts'
import { failingPromise } from '../../fixtures/failing-disk.ts'
import { hasRedis, REDIS_HINT, RedisServer } from '../../fixtures/redis-server.ts'

const TTL_MS = 60_000
let placed = 0
const newPlace = () => sessionPlace(`caller ${++placed}`, 'server', 'rest')
const session = (id: string) => ({ id, version: '2025-11-25', logging: true })

/** @param pass lets time pass for what is stored */
function storeSuite(open: () => ServerSessionStore, pass: (ms: number) => Promise<void>): void {
  let store: ServerSessionStore
  beforeAll(() => {
    store = open()
  })

  it('keeps the first session of a place', async () => {
    const place = newPlace()
    expect(await store.get(place)).toBeUndefined()
    expect(await store.settle(place, session('a'))).toEqual(session('a'))
    expect(await store.settle(place, session('b'))).toEqual(session('a'))
    expect(await store.get(place)).toEqual(session('a'))
    expect(await store.get(newPlace())).toBeUndefined()
  })

  it('gives one session to all that store one at the same time', async () => {
    const place = newPlace()
    const each = Array.from({ length: 20 }, (_, n) => store.settle(place, session(`s${n}`)))
    const ids = new Set((await Promise.all(each)).map(stored => stored?.id))
    expect(ids.size).toBe(1)
    expect(await store.get(place)).toMatchObject({ id: [...ids][0] })
  })

  it('removes one by its id, for one of all that ask', async () => {
    const place = newPlace()
    await store.settle(place, session('a'))
    expect(await store.remove(place, 'b')).toBe(false)
    const removed = await Promise.all(Array.from({ length: 10 }, () => store.remove(place, 'a')))
    expect(removed.filter(one => one === true)).toHaveLength(1)
    expect(await store.get(place)).toBeUndefined()
    expect(await store.remove(place, 'a')).toBe(false)
  })

  it('does not remove one as unused that was settled since', async () => {
    const place = newPlace()
    await store.settle(place, session('a'))
    await pass(20_000)
    expect(await store.remove(place, 'a', 40_000)).toBe(false)
    expect(await store.remove(place, 'a', 10_000)).toBe(true)
  })

  it('drops one that is not settled again', async () => {
    const place = newPlace()
    await store.settle(place, session('a'))
    await pass(TTL_MS * 0.7)
    await store.settle(place, session('a'))
    await pass(TTL_MS * 0.7)
    expect(await store.get(place)).toEqual(session('a'))
    await pass(TTL_MS)
    expect(await store.get(place)).toBeUndefined()
  })

  it('lists those of a caller with the key of their server', async () => {
    const places = ['one', 'two'].map(server => sessionPlace('lister', server, 'rest'))
    for (const [n, place] of places.entries()) await store.settle(place, session(`l${n}`))
    const listed = (await store.list(callerKey('lister')))!
    expect(listed.map(([, { id }]) => id).sort()).toEqual(['l0', 'l1'])
    const keys = listed.map(([{ server }]) => server.split('.')[0])
    expect(keys.sort()).toEqual([serverKey('one'), serverKey('two')].sort())
    expect(await store.list(callerKey('another'))).toEqual([])
  })

  it('lets one of all claim a name', async () => {
    const place = newPlace()
    await store.settle(place, session('a'))
    const claimed = await Promise.all(Array.from({ length: 10 }, () => store.claim(place, 'question-1')))
    expect(claimed.filter(Boolean)).toHaveLength(1)
    expect(await store.claim(place, 'question-2')).toBe(true)
  })
}

describe('files', () => {
  const directory = join(mkdtempSync(join(tmpdir(), 'server-sessions-')), 'sessions')
  let passedMs = 0
  const pass = async (ms: number): Promise<void> => {
    passedMs += ms
  }
  const files = new FileServerSessions({ directory, ttlMs: TTL_MS, now: () => Date.now() + passedMs })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  storeSuite(() => files, pass)
  /** For the same folder; its sessions outlast a test on a slow machine. */
  const lasting = new FileServerSessions({ directory, ttlMs: 600_000, now: Date.now })

  it('are removed by a sweep when they have expired', async () => {
    await files.settle(newPlace(), session('a'))
    await pass(TTL_MS)
    await files.sweep()
    const left = readdirSync(directory, { recursive: true }).filter(name => String(name).endsWith('.session'))
    expect(left).toEqual([])
  })

  it('are replaced when they are damaged', async () => {
    const place = newPlace()
    // as young as the damage, which has the time of the file system
    const store = new FileServerSessions({ directory, ttlMs: TTL_MS, now: Date.now })
    await store.settle(place, session('a'))
    writeFileSync(join(directory, place.caller, `${place.server}.session`), '{"id"')
    expect(await store.get(place)).toBeUndefined()
    expect(await store.settle(place, session('b'))).toEqual(session('b'))
  })

  it.each([
    ['stat', 'EIO'],
    ['readFile', 'EMFILE'],
  ] as const)('that cannot be read for a moment (%s: %s) stay', async (call, code) => {
    const place = newPlace()
    await lasting.settle(place, session('a'))
    const end = failingPromise(call, code, path => String(path).includes(place.server))
    try {
      expect(await lasting.get(place)).toBe('unavailable')
      expect(await lasting.settle(place, session('b'))).toBeUndefined()
      expect(await lasting.remove(place, 'a')).toBeUndefined()
      expect(await lasting.list(place.caller)).toEqual([])
    } finally {
      end()
    }
    expect(await lasting.get(place)).toEqual(session('a'))
  })

  it('that can no longer be read when they were taken for removal are put back', async () => {
    const place = newPlace()
    await lasting.settle(place, session('a'))
    // the removal first reads the file in its place
    const end = failingPromise('readFile', 'EMFILE', path => !String(path).endsWith('.session'))
    try {
      expect(await lasting.remove(place, 'a')).toBeUndefined()
    } finally {
      end()
    }
    expect(await lasting.get(place)).toEqual(session('a'))
    expect(await lasting.remove(place, 'a')).toBe(true)
  })

  it('that cannot be written leave the session to its thread', async () => {
    const store = new FileServerSessions({ directory: '/dev/null/x', ttlMs: TTL_MS, now: Date.now })
    expect(await store.settle(newPlace(), session('a'))).toBeUndefined()
  })
})

describe.skipIf(!hasRedis())(`Redis (${REDIS_HINT})`, () => {
  let server: RedisServer
  let redis: RedisConnection
  beforeAll(async () => {
    server = await RedisServer.start()
    const wait = { commandTimeoutMs: 2_000, firstRetryMs: 50, maxRetryMs: 100 }
    redis = openConnection(server.url, { ...wait, onError() {} })
    await new Promise<void>(resolve => redis.once('ready', () => resolve()))
  }, 30_000)
  afterAll(async () => {
    redis?.disconnect()
    await server?.stop()
  })
  async function pass(ms: number): Promise<void> {
    const client = new Redis(server.url)
    for (const key of await client.keys('*')) await client.pexpire(key, (await client.pttl(key)) - ms)
    client.disconnect()
  }
  storeSuite(() => redisServerSessions(redis, TTL_MS), pass)

  it('that does not respond is named, and removes nothing', async () => {
    const store = redisServerSessions(
      openConnection('redis://127.0.0.1:1', {
        commandTimeoutMs: 50,
        firstRetryMs: 50,
        maxRetryMs: 100,
        onError() {},
      }),
      TTL_MS,
    )
    const place = newPlace()
    expect(await store.get(place)).toBe('unavailable')
    expect(await store.settle(place, session('a'))).toBeUndefined()
    expect(await store.remove(place, 'a')).toBeUndefined()
  })
})

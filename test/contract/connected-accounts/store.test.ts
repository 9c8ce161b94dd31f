/** What every store of connected accounts promises about changes at the same time, run on files and on Redis. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConnectionStore } from '../../../src/net/egress/oauth/connection-store.ts'
import { fileConnections } from '../../../src/net/egress/oauth/file-connections.ts'
import { redisConnections } from '../../../src/net/redis/connections-of-users.ts'
import { openConnection, type RedisConnection } from '../../../src/net/redis/redis-connection.ts'
import { neededProgram } from '../../fixtures/needed-program.ts'
import { hasRedis, RedisServer } from '../../fixtures/redis-server.ts'

const MKFIFO = neededProgram('mkfifo', 'coreutils')

let keys = 0
const newKey = () => `key${++keys}`

/** @param open another instance with the same data */
function storeSuite(open: () => ConnectionStore): void {
  it('stores, replaces and removes', async () => {
    const [store, key] = [open(), newKey()]
    expect(await store.read(key)).toBeUndefined()
    expect(await store.remove(key)).toBeUndefined()
    await store.write(key, 'a')
    await store.write(key, 'b')
    expect(await store.replace(key, 'a', 'c')).toBe(false)
    expect(await open().read(key)).toBe('b')
    expect(await store.replace(key, 'b', 'c')).toBe(true)
    expect(await open().read(key)).toBe('c')
    expect(await store.remove(key, 'b')).toBeUndefined()
    expect(await store.remove(key, 'c')).toBe('c')
    expect(await open().read(key)).toBeUndefined()
    expect(await store.replace(key, 'c', 'd')).toBe(false)
    expect(await open().read(key)).toBeUndefined()
  })

  it('reports that a text is stored already', async () => {
    const [store, key] = [open(), newKey()]
    await store.write(key, 'a')
    expect(await store.replace(key, 'a', 'b')).toBe(true)
    expect(await store.replace(key, 'a', 'b')).toBe(true)
    await store.remove(key)
    expect(await store.replace(key, 'a', 'b')).toBe(false)
  })

  it('lets one of all replace a text', async () => {
    const key = newKey()
    await open().write(key, 'a')
    const replaced = await Promise.all(
      Array.from({ length: 8 }, (_, n) => open().replace(key, 'a', `next ${n}`)),
    )
    expect(replaced.filter(Boolean)).toHaveLength(1)
    expect(await open().read(key)).toBe(`next ${replaced.indexOf(true)}`)
  })

  it('keeps a text removed that is replaced at the same time, and returns what was removed', async () => {
    for (let round = 0; round < 40; round++) {
      const key = newKey()
      await open().write(key, 'a')
      const [replaced, removed] = await Promise.all([open().replace(key, 'a', 'b'), open().remove(key)])
      expect(removed).toBe(replaced ? 'b' : 'a')
      expect(await open().read(key)).toBeUndefined()
    }
  })
}

describe('files', () => {
  const directory = mkdtempSync(join(tmpdir(), 'connected-accounts-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const open = () => fileConnections(directory)
  storeSuite(open)

  function age(path: string): void {
    const past = new Date(Date.now() - 60_000)
    for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
      utimesSync(join(path, name), past, past)
  }

  it('leave nothing beside the connections', async () => {
    const apart = join(directory, 'apart')
    const store = fileConnections(apart)
    await store.write('k', 'a')
    await store.replace('k', 'a', 'b')
    expect(readdirSync(apart)).toEqual(['k.sealed'])
    await store.remove('k')
    expect(readdirSync(apart)).toEqual([])
  })

  it.skipIf(MKFIFO.isMissing).each(['replaces', 'removes'])(
    `change nothing for a process that %s and is stopped while it compares${MKFIFO.hint}`,
    async kind => {
      const key = newKey()
      const [path, pipe] = [join(directory, `${key}.sealed`), join(directory, 'pipe')]
      execFileSync('mkfifo', [path])
      // reads the pipe, until the other end is closed
      const store = open()
      const stopped = kind === 'replaces' ? store.replace(key, 'a', 'late') : store.remove(key, 'a')
      const end = await writingEnd(path)
      renameSync(path, pipe)
      writeFileSync(path, 'a')
      age(join(directory, `${key}.writing`))
      // by a process that takes the change for one whose process has ended
      expect(await open().remove(key)).toBe('a')
      if (kind === 'removes') await open().write(key, 'b')
      writeFileSync(end, 'a')
      closeSync(end)
      expect(await stopped).toBe(kind === 'replaces' ? false : undefined)
      expect(await open().read(key)).toBe(kind === 'replaces' ? undefined : 'b')
      rmSync(pipe)
    },
  )
})

/** For a pipe, as soon as a process reads it. */
async function writingEnd(path: string): Promise<number> {
  for (;;) {
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
}

describe.skipIf(!hasRedis())('Redis', () => {
  const clients: RedisConnection[] = []
  let redis: RedisServer
  beforeAll(async () => {
    redis = await RedisServer.start()
    for (let n = 0; n < 2; n++) {
      const client = openConnection(redis.url, {
        commandTimeoutMs: 5_000,
        firstRetryMs: 50,
        maxRetryMs: 500,
        onError: () => {},
      })
      clients.push(client)
      await new Promise(resolve => client.once('ready', resolve))
    }
  })
  afterAll(async () => {
    for (const client of clients) client.disconnect()
    await redis?.stop()
  })
  let opened = 0
  storeSuite(() => redisConnections(clients[opened++ % 2]!))
})

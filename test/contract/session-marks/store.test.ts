/** What every store of marks on sessions promises, run on files, on Redis and on the database of a control plane. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileMarks } from '../../../src/console/file-marks.ts'
import type { SessionMarks } from '../../../src/console/session-marks.ts'
import { openMigratedStore } from '../../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT, type Store } from '../../../src/control-plane/store/store.ts'
import { openConnection, type RedisConnection } from '../../../src/net/redis/redis-connection.ts'
import { redisMarks } from '../../../src/net/redis/session-marks.ts'
import { hasRedis, RedisServer } from '../../fixtures/redis-server.ts'
import { copyTemplate } from '../store/pglite-template.ts'
import { type Cluster, POSTGRES_HINT, startCluster, WITHOUT_POSTGRES } from '../store/postgres-cluster.ts'

let aheadMs = 0
const now = (): number => Date.now() + aheadMs
let marks = 0
const newMark = (): string => `ended:${++marks}`

/** @param open another thread or instance with the same data */
function markSuite(open: () => SessionMarks): void {
  it('shows a mark to all at once, until its time', async () => {
    const mark = newMark()
    expect(await open().has(mark)).toBe(false)
    expect(await open().put(mark, now() + 60_000)).toBe(true)
    expect([await open().has(mark), await open().has(newMark())]).toEqual([true, false])
    expect(await open().put(mark, now() + 60_000)).toBe(false)
  })

  it('lets one of all put it', async () => {
    const mark = newMark()
    const put = await Promise.all(Array.from({ length: 8 }, () => open().put(mark, now() + 60_000)))
    expect(put.filter(Boolean)).toHaveLength(1)
  })

  // the work of eight puts is interleaved otherwise each time
  it('lets one of all put each of many', { timeout: 20_000 }, async () => {
    for (let round = 0; round < 40; round++) {
      const mark = newMark()
      const put = await Promise.all(Array.from({ length: 8 }, () => open().put(mark, now() + 60_000)))
      expect(put.filter(Boolean)).toHaveLength(1)
    }
  })
}

function expirySuite(open: () => SessionMarks): void {
  it('lets one of all put it again after its time', { timeout: 20_000 }, async () => {
    for (let round = 0; round < 20; round++) {
      const mark = newMark()
      await open().put(mark, now() + 1_000)
      aheadMs += 1_001
      const put = await Promise.all(Array.from({ length: 8 }, () => open().put(mark, now() + 60_000)))
      expect(put.filter(Boolean)).toHaveLength(1)
    }
  })

  it('has no mark after its time, which may then be put again', async () => {
    const mark = newMark()
    await open().put(mark, now() + 60_000)
    aheadMs += 60_001
    expect(await open().has(mark)).toBe(false)
    expect(await open().put(mark, now() + 60_000)).toBe(true)
    expect(await open().has(mark)).toBe(true)
  })
}

describe('in files', () => {
  const directory = mkdtempSync(join(tmpdir(), 'session-marks-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const open = (): SessionMarks => fileMarks(join(directory, 'marks'), now)
  markSuite(open)
  expirySuite(open)

  it('removes the files of marks whose time is over', async () => {
    await open().put(newMark(), now() + 60_000)
    aheadMs += 120_000
    await open().put(newMark(), now() + 60_000)
    expect(readdirSync(join(directory, 'marks'))).toHaveLength(1)
  })
})

describe.skipIf(!hasRedis())('in Redis', () => {
  let redis: RedisServer
  const clients: RedisConnection[] = []
  beforeAll(async () => {
    redis = await RedisServer.start()
    const options = { commandTimeoutMs: 5_000, firstRetryMs: 50, maxRetryMs: 500, onError: () => {} }
    for (let client = 0; client < 2; client++) {
      clients.push(openConnection(redis.url, options))
      await new Promise(resolve => clients[client]!.once('ready', resolve))
    }
  })
  afterAll(async () => {
    for (const client of clients) client.disconnect()
    await redis?.stop()
  })
  let opened = 0
  const open = (): SessionMarks => redisMarks(clients[opened++ % 2]!, now)
  markSuite(open)

  it('expires by itself, and is not known when the server is gone', async () => {
    const mark = newMark()
    await open().put(mark, now() + 300)
    await expect.poll(() => open().has(mark), { timeout: 5_000 }).toBe(false)
    await redis.stop()
    await expect(open().has(mark)).rejects.toThrow()
  })
})

interface Server {
  readonly url: string
  readonly dataDir: string
  stop(): Promise<void>
}

function databaseSuite(start: () => Promise<Server>): void {
  const stores: Store[] = []
  let server: Server
  beforeAll(async () => {
    server = await start()
    for (let instance = 0; instance < (server.url === 'pglite:' ? 1 : 2); instance++)
      stores.push(await openMigratedStore({ ...server, now, onFault: () => {} }))
  }, 120_000)
  afterAll(async () => {
    for (const store of stores) await store.close()
    await server?.stop()
  })
  let opened = 0
  const open = (): SessionMarks => {
    const store = stores[opened++ % stores.length]!
    return {
      put: (mark, untilMs) => store.write(EVERY_TENANT, tx => tx.sessionMarks.put(mark, new Date(untilMs))),
      has: mark => store.read(EVERY_TENANT, tx => tx.sessionMarks.has(mark)),
    }
  }
  markSuite(open)
  expirySuite(open)

  it('keeps a mark over a restart', async () => {
    const mark = newMark()
    await open().put(mark, now() + 60_000)
    for (const store of stores.splice(0)) await store.close()
    stores.push(await openMigratedStore({ ...server, now, onFault: () => {} }))
    expect(await open().has(mark)).toBe(true)
  })

  it('hides the marks from the transactions of a tenant', async () => {
    const mark = newMark()
    await open().put(mark, now() + 60_000)
    expect(await stores[0]!.read('ten_other', tx => tx.sessionMarks.has(mark))).toBe(false)
    const foreign = stores[0]!.write('ten_other', tx => tx.sessionMarks.put(newMark(), new Date(now() + 1)))
    await expect(foreign).rejects.toThrow()
  })
}

describe('in the embedded database', () => {
  databaseSuite(async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'session-marks-'))
    await copyTemplate(join(dataDir, 'postgres'))
    return { url: 'pglite:', dataDir, stop: async () => rmSync(dataDir, { recursive: true, force: true }) }
  })
})

describe.skipIf(WITHOUT_POSTGRES)(`in PostgreSQL, of two instances${POSTGRES_HINT}`, () => {
  databaseSuite(async () => {
    const cluster: Cluster = await startCluster()
    const url = await cluster.database('toolgate')
    return { url, dataDir: tmpdir(), stop: () => cluster.stop() }
  })
})

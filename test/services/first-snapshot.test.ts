/** A control-plane process whose PostgreSQL is slow at start-up: gateways get 503 until the first snapshot is published, and keep their last one. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { type FixedBackend, startFixedBackend } from '../fixtures/fixed-backend.ts'
import { type Planes, type Published, publishApi, startPlanes } from '../fixtures/planes.ts'

/** Generous: the machine may be busy. */
const SOON = { timeout: 30_000, interval: 50 }
/** Responses before the first snapshot, of each route. */
const ENOUGH = 10

interface Seen {
  readonly way: string
  readonly status: number
  readonly retryAfter: string | null
  readonly text: string
}

describe.skipIf(WITHOUT_POSTGRES)(`the first snapshot of a control plane${POSTGRES_HINT}`, () => {
  let cluster: Cluster
  let database: pg.Client
  let planes: Planes
  let upstream: FixedBackend
  let echo: Published

  beforeAll(async () => {
    upstream = await startFixedBackend('echo')
    cluster = await startCluster()
    const url = await cluster.database('first')
    planes = await startPlanes({ DATABASE_URL: url, LOG_LEVEL: 'silent' })
    echo = await publishApi(planes, 'slow', upstream.url)
    database = new pg.Client({ connectionString: url })
    await database.connect()
  }, 180_000)
  afterAll(async () => {
    await database?.end().catch(() => {})
    await planes?.stop()
    await cluster?.stop()
    upstream?.close()
  })

  const call = async () => (await fetch(echo.publicUrl, { headers: { 'x-api-key': echo.key } })).status

  /** Sends requests until `stopped`; failed connections to a control plane that does not listen yet are ignored. */
  async function poll(way: string, path: string, token: string, seen: Seen[], stopped: () => boolean) {
    const url = `${planes.control.addresses.api_url}/v1/gateways${path}`
    for (; !stopped(); await sleep(20)) {
      const aborter = new AbortController()
      try {
        const response = await fetch(url, {
          headers: { authorization: `Bearer ${token}` },
          signal: aborter.signal,
        })
        const isStream = response.status === 200 && way === 'stream'
        const text = isStream ? 'a stream' : await response.text()
        seen.push({ way, status: response.status, retryAfter: response.headers.get('retry-after'), text })
      } catch (error) {
        if ((error as Error).message !== 'fetch failed') throw error
      } finally {
        aborter.abort()
      }
    }
  }

  it('is preceded by 503 with Retry-After, while gateways serve the last one', async () => {
    await expect.poll(call, SOON).toBe(200)
    const token = await planes.token('gateway')
    await planes.control.end('SIGTERM')
    // the publisher reads this table; nothing else that a start needs does
    await database.query('begin')
    await database.query('lock table apis in access exclusive mode')

    const seen: Seen[] = []
    const calls: number[] = []
    let stopped = false
    const running = [
      poll('snapshot', '/snapshot', token, seen, () => stopped),
      poll('from', `/snapshot?from=${'a'.repeat(64)}`, token, seen, () => stopped),
      poll('stream', '/stream?name=edge-2', token, seen, () => stopped),
      (async () => {
        for (; !stopped; await sleep(20)) calls.push(await call())
      })(),
    ]
    for (const each of running) each.catch(() => {})
    const refused = (way: string) =>
      seen.filter(each => each.way === way && each.status === 503 && each.text.includes('"unavailable"'))
        .length
    try {
      // it is ready after its first publication
      const starting = planes.control.start()
      starting.catch(() => {})
      for (const way of ['snapshot', 'from', 'stream'])
        await expect
          .poll(() => seen.some(each => each.status === 200) || refused(way) >= ENOUGH, SOON)
          .toBe(true)
      // the first publication fails and is retried
      const terminate = `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'toolgate' and wait_event_type = 'Lock'`
      await expect
        .poll(async () => {
          // within a transaction, the view stays as it was read first
          await database.query('select pg_stat_clear_snapshot()')
          return (await database.query(terminate)).rowCount
        }, SOON)
        .toBeGreaterThan(0)
      // long enough for the gateway to poll several times
      await sleep(6_000)
      const early = seen.filter(
        ({ status, retryAfter }) => status !== 503 || retryAfter === null || Number(retryAfter) < 1,
      )
      expect(early.map(each => ({ ...each, text: each.text.slice(0, 200) })).slice(0, 3)).toEqual([])
      await database.query('rollback')
      await starting
      await expect
        .poll(() => seen.filter(each => each.status === 200).map(each => each.way), SOON)
        .toEqual(expect.arrayContaining(['snapshot', 'from', 'stream']))
    } finally {
      stopped = true
      await database.query('rollback')
    }
    await Promise.all(running)
    for (const { status, way, text } of seen)
      if (status === 200 && way !== 'stream') expect(JSON.parse(text).version).toMatch(/^[0-9a-f]{64}$/)
    expect(calls.length).toBeGreaterThan(50)
    expect(calls.filter(status => status !== 200)).toEqual([])
  }, 180_000)
})

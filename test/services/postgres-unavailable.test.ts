/** PostgreSQL that drops connections, stops, falls silent or is read-only: the control plane stays up, responds 503 and keeps acknowledged changes. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMigratedStore } from '../../src/control-plane/store/open-store.ts'
import { EVERY_TENANT, StoreUnavailable } from '../../src/control-plane/store/store.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { type ControlProcess, prepareControlProcess } from '../fixtures/control-process.ts'
import type { ReadResponse } from '../fixtures/deployment.ts'
import { startFaultyLink } from '../fixtures/faulty-link.ts'

const ROUNDS = 8
const WRITERS = 3
/** For each writer: a few changes a second. */
const PAUSE_MS = 150
/** Generous: the machine may be busy. */
const SOON = { timeout: 20_000, interval: 50 }

describe.skipIf(WITHOUT_POSTGRES)(`a control plane without its PostgreSQL${POSTGRES_HINT}`, () => {
  let cluster: Cluster
  let url: string
  let control: ControlProcess
  let database: pg.Client

  beforeAll(async () => {
    cluster = await startCluster()
    url = await cluster.database('unavailable')
    control = await prepareControlProcess(url)
    await control.process.start()
    database = await connect()
  })
  afterAll(async () => {
    await database?.end().catch(() => {})
    await control?.stop()
    await cluster?.stop()
  })

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  const isPermitted = ({ status, headers, json }: ReadResponse) =>
    (status >= 200 && status < 300) ||
    (status === 503 &&
      Number(headers.get('retry-after')) >= 1 &&
      json?.error?.code === 'unavailable' &&
      Array.isArray(json.error.details))
  const wrong = () =>
    control.responses
      .filter(response => !isPermitted(response))
      .map(({ status, headers, text }) => [status, headers.get('retry-after'), text])

  /** Creates tenants until instructed to stop; a refused call is repeated under the same Idempotency-Key. @returns name → id of what was acknowledged */
  async function write(writer: string, stopped: () => boolean): Promise<Map<string, string>> {
    const acknowledged = new Map<string, string>()
    for (let step = 0; !stopped(); step++) {
      const name = `${writer}-${step}`
      const key = randomUUID()
      let created: ReadResponse
      do {
        created = await control.call('POST', '/tenants', {
          body: { name, tier: 'enterprise' },
          headers: { 'idempotency-key': key },
        })
        if (created.status === 503) await sleep(PAUSE_MS)
      } while (created.status === 503)
      if (created.status !== 201) break
      acknowledged.set(name, created.json.id)
      await control.call('PATCH', `/tenants/${created.json.id}`, {
        body: { admin_email: `${name}@example.com` },
      })
      await control.call('GET', '/tenants?page_size=5')
      await sleep(PAUSE_MS)
    }
    return acknowledged
  }

  const terminate = () =>
    database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'toolgate'`,
    )

  /** Holds the row that every change writes last, and terminates the connections whose transactions wait for it. */
  async function terminateWithinTransaction(): Promise<void> {
    await database.query('begin')
    await database.query('select * from change_clock for update')
    const waiting = async () =>
      (
        await database.query(
          `select 1 from pg_stat_activity where application_name = 'toolgate' and wait_event_type = 'Lock'`,
        )
      ).rowCount
    await expect.poll(waiting, SOON).toBeGreaterThan(0)
    await terminate()
    await database.query('rollback')
  }

  async function expectExactlyOnce(acknowledged: ReadonlyMap<string, string>): Promise<void> {
    expect(acknowledged.size).toBeGreaterThan(WRITERS)
    const rows = await database.query<{ id: string; name: string; created: string }>(
      `select t.id, t.name, (select count(*) from events e where e.kind = 'tenant.created' and e.resource_id = t.id) as created
         from tenants t where t.name = any($1)`,
      [[...acknowledged.keys()]],
    )
    expect(new Map(rows.rows.map(row => [row.name, row.id]))).toEqual(acknowledged)
    expect(rows.rows.filter(row => row.created !== '1')).toEqual([])
  }

  /** Changes reach the gateways again: the publisher works, and so does the connection on which it receives signals. */
  async function expectPublication(): Promise<void> {
    const name = `published-${randomUUID().slice(0, 8)}`
    expect((await control.call('POST', '/tenants', { body: { name, tier: 'enterprise' } })).status).toBe(201)
    const token = await control.token('gateway')
    const names = async () =>
      (await control.call('GET', '/gateways/snapshot', { token })).json.tenants.map(
        (tenant: { name: string }) => tenant.name,
      )
    await expect.poll(names, SOON).toContain(name)
  }

  it(`survives ${ROUNDS} terminations of all its connections under load, and keeps what it acknowledged`, async () => {
    let stopped = false
    const writers = Array.from({ length: WRITERS }, (_, at) => write(`drop-${at}`, () => stopped))
    // A rejection is reported where it is awaited, after the rounds.
    for (const writer of writers) writer.catch(() => {})
    try {
      for (let round = 0; round < ROUNDS; round++) {
        await sleep(500)
        expect(control.process.running, `the process after ${round} terminations`).toBe(true)
        if (round % 2 === 0) await terminate()
        else await terminateWithinTransaction()
      }
      await sleep(1_000)
    } finally {
      stopped = true
    }
    const acknowledged = new Map((await Promise.all(writers)).flatMap(each => [...each]))
    expect(control.process.running).toBe(true)
    expect(wrong()).toEqual([])
    expect(control.responses.some(response => response.status === 503)).toBe(true)
    await expectExactlyOnce(acknowledged)
    await expectPublication()
  }, 120_000)

  it('responds 503 with Retry-After while the server is stopped, and works again once it is back', async () => {
    let stopped = false
    const writers = Array.from({ length: WRITERS }, (_, at) => write(`stop-${at}`, () => stopped))
    for (const writer of writers) writer.catch(() => {})
    try {
      await sleep(1_000)
      await cluster.crash()
      // Calls that the crash met are over by now; every one from here on meets no server.
      const before = control.responses.length
      const until = performance.now() + 3_000
      while (performance.now() < until) {
        const response = await control.call('GET', '/tenants')
        expect([response.status, response.json?.error?.code]).toEqual([503, 'unavailable'])
        expect((await fetch(`${control.url}/health`)).status).toBe(200)
        await sleep(100)
      }
      expect(control.responses.length).toBeGreaterThan(before + WRITERS)
      await cluster.resume()
      const resumedAt = performance.now()
      const status = async () => (await control.call('GET', '/tenants')).status
      await expect.poll(status, { timeout: 10_000, interval: 50 }).toBe(200)
      console.log(
        `the API responded 200 ${Math.round(performance.now() - resumedAt)} ms after the server was back`,
      )
      await sleep(1_000)
    } finally {
      stopped = true
    }
    const acknowledged = new Map((await Promise.all(writers)).flatMap(each => [...each]))
    expect(control.process.running).toBe(true)
    expect(wrong()).toEqual([])
    database = await connect()
    await expectExactlyOnce(acknowledged)
    await expectPublication()
  }, 120_000)
})

describe.skipIf(WITHOUT_POSTGRES)(`a store whose PostgreSQL falls silent${POSTGRES_HINT}`, () => {
  it('reports it as unavailable, and does not use the silent connection again', async () => {
    const cluster = await startCluster()
    const proxy = await startFaultyLink(await cluster.database('silent'))
    const address = new URL(proxy.url)
    const store = await openMigratedStore({
      url: `postgres://postgres@${address.host}/silent`,
      dataDir: '.',
      now: Date.now,
      onFault: () => {},
    })
    try {
      const count = () => store.read(EVERY_TENANT, tx => tx.tenants.ids())
      await count()
      proxy.mute()
      const failure = await count().catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(StoreUnavailable)
      // The proxy lets new connections through.
      expect(await count()).toEqual([])
    } finally {
      proxy.reset()
      await store.close()
      await proxy.close()
      await cluster.stop()
    }
  }, 120_000)

  it('leaves an error of the statement itself as it is', async () => {
    const cluster = await startCluster()
    const store = await openMigratedStore({
      url: await cluster.database('faulty'),
      dataDir: '.',
      now: Date.now,
      onFault: () => {},
    })
    try {
      // Writing in a read-only transaction is a mistake of the caller, not of a server after a failover.
      const written = store.read(EVERY_TENANT, tx => tx.idempotency.sweep())
      await expect(written).rejects.toMatchObject({ code: '25006' })
      const own = new Error('of the work itself')
      await expect(
        store.write(EVERY_TENANT, async () => {
          throw own
        }),
      ).rejects.toBe(own)
    } finally {
      await store.close()
      await cluster.stop()
    }
  })

  it('reports a server that is read-only after a failover as unavailable', async () => {
    const cluster = await startCluster()
    const url = await cluster.database('standby')
    const store = await openMigratedStore({ url, dataDir: '.', now: Date.now, onFault: () => {} })
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    const readOnly = async (value: 'on' | 'off') => {
      await admin.query(`alter database standby set default_transaction_read_only = ${value}`)
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'toolgate'`,
      )
    }
    const sweep = () => store.write(EVERY_TENANT, tx => tx.idempotency.sweep())
    try {
      await readOnly('on')
      await expect
        .poll(() => sweep().catch((error: Error) => error.message), SOON)
        .toContain('read-only transaction')
      await expect(sweep()).rejects.toBeInstanceOf(StoreUnavailable)
      await admin.query('set default_transaction_read_only = off')
      // No connection is terminated here: the ones that were read-only are not used again.
      await admin.query('alter database standby set default_transaction_read_only = off')
      await expect(sweep()).resolves.toBeUndefined()
    } finally {
      await admin.end()
      await store.close()
      await cluster.stop()
    }
  })
})

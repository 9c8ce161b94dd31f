/** PostgreSQL behind the fault proxy: the control plane stays up, responds 503 meanwhile, and keeps every change that it acknowledged. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect } from 'vitest'
import { startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { POSTGRES_HINT, startCluster, WITHOUT_POSTGRES } from '../contract/store/postgres-cluster.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { ServeProcess } from '../fixtures/planes.ts'
import { clientToken } from '../fixtures/tokens.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { runTable } from './run-table.ts'
import { fetchIn } from './subject.ts'
import { POSTGRES } from './tables/postgres.ts'
import { breakProxy, type Called, type World } from './world.ts'

const SOON = { timeout: 15_000, interval: 50 }
/** For so many calls one is a change. */
const CHANGE_EVERY = 3

async function open(): Promise<World> {
  const root = mkdtempSync(join(tmpdir(), 'toolgate-faults-pg-'))
  const cluster = await startCluster()
  const direct = await cluster.database('faults')
  const proxy = await startFaultProxy(direct.replace('postgres://', 'http://'))
  const provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: root, log: SILENT })
  const [apiPort, metricsPort] = await freePorts(2)
  const url = `http://127.0.0.1:${apiPort}`
  const subject = new ServeProcess({
    ROLE: 'control-plane',
    AUTH_ISSUER: provider.issuer,
    API_PORT: String(apiPort),
    METRICS_PORT: String(metricsPort),
    GATEWAY_URL: 'http://gateway.example',
    DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/faults`,
    DATA_DIR: join(root, 'control'),
    LOG_LEVEL: 'silent',
    DRAIN_TIMEOUT: '5s',
  })
  const [admin, gateway] = await Promise.all([
    clientToken(provider.issuer, 'demo-admin'),
    clientToken(provider.issuer, 'gateway'),
  ])
  const database = new pg.Client({ connectionString: direct })
  await database.connect()
  const acknowledged = new Map<string, string>()
  let calls = 0
  let pending: Promise<Called> | undefined

  const get = (path: string, token = admin): Promise<Called> =>
    fetchIn(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })

  async function change(): Promise<Called> {
    const name = `t-${randomUUID()}`
    const called = await fetchIn(`${url}/v1/tenants`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${admin}`,
        'content-type': 'application/json',
        'idempotency-key': name,
      },
      body: JSON.stringify({ name, tier: 'enterprise' }),
    })
    if (called.status === 201) acknowledged.set(name, JSON.parse(called.text).id)
    return called
  }

  return {
    subject,
    dependency: breakProxy(proxy),
    // a query without a response for 1.5 s is checked, and its connection is given up within 1.5 s more
    maxCallMs: 6_000,
    call: () => (calls++ % CHANGE_EVERY === 0 ? change() : get('/v1/tenants?page_size=1')),
    longCall: change,
    isFine: ({ status }) => status === 200 || status === 201,
    async see() {
      const [ready, health, metrics] = await Promise.all([
        fetchIn(`${url}/ready`),
        fetchIn(`${url}/health`),
        fetchIn(`http://127.0.0.1:${metricsPort}/metrics`),
      ])
      const isCounted = metrics.text.includes('platform_degraded{part="database"} 1')
      return {
        ready: ready.status,
        isDegraded: ready.status !== 200,
        isCounted,
        text: `${ready.text} ${health.text} ${/^platform_degraded.*$/gm.exec(metrics.text)?.join(' ')}`,
      }
    },
    async begin() {
      acknowledged.clear()
      pending = undefined
    },
    async enter({ moment }) {
      if (moment === 'transaction') {
        // every change writes this row last: its transaction waits here
        await database.query('begin')
        await database.query('select * from change_clock for update')
        pending = change()
        const waiting = `select 1 from pg_stat_activity where application_name = 'toolgate' and wait_event_type = 'Lock'`
        await expect.poll(async () => (await database.query(waiting)).rowCount, SOON).toBeGreaterThan(0)
        return async () => void (await database.query('rollback'))
      }
      // the listening connection is lost, and the next one subscribes while the fault lasts
      if (moment === 'subscribing')
        await database.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'toolgate' and query ilike 'listen%'`)
      return async () => {}
    },
    async verify() {
      const inTransaction = await pending
      if (inTransaction !== undefined) expect([201, 503]).toContain(inTransaction.status)
      while ((await change()).status !== 201) expect(subject.running).toBe(true)
      const { rows } = await database.query<{ id: string; name: string; created: string }>(
        `select t.id, t.name, (select count(*) from events e where e.kind = 'tenant.created' and e.resource_id = t.id) as created
           from tenants t where t.name = any($1)`,
        [[...acknowledged.keys()]],
      )
      expect(new Map(rows.map(({ name, id }) => [name, id]))).toEqual(acknowledged)
      expect(rows.filter(({ created }) => created !== '1')).toEqual([])
      const published = async () => (await get('/v1/gateways/snapshot', gateway)).text
      await expect.poll(published, SOON).toContain([...acknowledged.keys()].at(-1))
    },
    async close() {
      await subject.end('SIGTERM')
      await database.end()
      await proxy.close()
      await provider.close()
      await cluster.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

runTable(POSTGRES, { skip: WITHOUT_POSTGRES ? POSTGRES_HINT : undefined, open })

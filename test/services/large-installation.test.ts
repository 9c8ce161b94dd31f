/**
 * A large installation on PostgreSQL with gateways apart: how long a change takes until the gateways serve it, and the memory of a worker.
 * LARGE=1: 50,000 subscriptions and 2,000 APIs, with the bounds; to be set on an unloaded machine only.
 */
import { readFileSync } from 'node:fs'
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
import { freePorts } from '../fixtures/free-ports.ts'
import { largeInstallation } from '../fixtures/large-installation.ts'
import { gatewayEnv, type Planes, ServeProcess, startPlanes } from '../fixtures/planes.ts'

const LARGE = process.env.LARGE === '1'
const ROWS = LARGE ? 50_000 : 2_000
const CHANGES = LARGE ? 30 : 5
/** From the response to a change until a gateway serves it. */
const MAX_PUBLISH_MS = LARGE ? 1_000 : Number.POSITIVE_INFINITY
/** Resident memory that a second worker adds. */
const MAX_WORKER_MIB = LARGE ? 256 : Number.POSITIVE_INFINITY
const SEEN_MS = 60_000

describe.skipIf(WITHOUT_POSTGRES)(`${ROWS} subscriptions${POSTGRES_HINT}`, { timeout: 300_000 }, () => {
  let cluster: Cluster
  let planes: Planes
  let second: ServeProcess
  let backends: Record<'one' | 'two', FixedBackend>

  beforeAll(async () => {
    cluster = await startCluster()
    backends = { one: await startFixedBackend('one'), two: await startFixedBackend('two') }
    const url = await cluster.database('large')
    planes = await startPlanes({ DATABASE_URL: url, WORKERS: '1' })
    const [port] = await freePorts(1)
    second = new ServeProcess({
      ...gatewayEnv(port!, planes.control.addresses.api_url!, planes.dataDir),
      AUTH_ISSUER: planes.provider.issuer,
      METRICS_PORT: '0',
      GATEWAY_URL: planes.url,
      WORKERS: '2',
    })
    await second.start()
    const db = new pg.Client({ connectionString: url })
    await db.connect()
    await db.query(`select set_config('toolgate.tenant', '*', false)`)
    for (const statement of largeInstallation(ROWS, backends.one.url).statements) await db.query(statement)
    await db.end()
  }, 300_000)
  afterAll(async () => {
    await second?.end('SIGTERM')
    await planes?.stop()
    await cluster?.stop()
    for (const backend of Object.values(backends ?? {})) backend.close()
  })

  const residentMiB = (of: ServeProcess) =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${of.pid}/status`, 'utf8'))![1]) / 1024
  const call = async (address: string, path: string, key: string) => {
    const response = await fetch(`${address}/t/tenant-3/${path}`, { headers: { 'x-api-key': key } })
    const text = await response.text()
    return response.status === 200 ? text : String(response.status)
  }
  /** Milliseconds until the gateway responds so. */
  const untilServed = async (respond: () => Promise<string>, expected: string): Promise<number> => {
    const startedAt = performance.now()
    while ((await respond()) !== expected) {
      if (performance.now() - startedAt > SEEN_MS) throw new Error(`not served within ${SEEN_MS} ms`)
      await sleep(5)
    }
    return performance.now() - startedAt
  }

  it('are served by gateways after each change, with LARGE=1 within the bounds of time and memory', async () => {
    const gateways = [planes.gateway, second]
    const before = gateways.map(residentMiB)
    // rows that no control plane wrote are read at the start
    await planes.control.end('SIGTERM')
    await planes.control.start()
    const own = '/tenants/tenant-3'
    const made = async (method: string, path: string, body: object) => {
      const reply = await planes.api(method, path, body)
      if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
      return reply.json
    }
    const [{ id, path }] = (await planes.api('GET', `${own}/apis?limit=1`)).json.items
    const request = { api_id: id, plan: 'enterprise', application: 'measured' }
    const { id: subscription } = await made('POST', `${own}/subscriptions`, request)
    const { api_key: key } = await made('POST', `${own}/subscriptions/${subscription}/approve`, {})
    const addresses = gateways.map(({ addresses: { gateway_url: url } }) => url!)
    const served = (expected: string) =>
      Promise.all(addresses.map(at => untilServed(() => call(at, path.slice(1), key), expected)))
    const firstMs = Math.max(...(await served('one')))
    const tookMs: number[] = []
    for (let change = 0; change < CHANGES; change++) {
      const to = change % 2 === 0 ? 'two' : 'one'
      await made('PATCH', `${own}/apis/${id}`, { upstream_url: backends[to].url })
      tookMs.push(...(await served(to)))
    }
    tookMs.sort((a, b) => a - b)
    await sleep(LARGE ? 10_000 : 500)
    const after = gateways.map(residentMiB)
    const rounded = (values: readonly number[]) => values.map(value => Math.round(value))
    console.info(
      `${ROWS} subscriptions: first change ${Math.round(firstMs)} ms after its response; ${CHANGES} changes on 2 gateways: p50 ` +
        `${Math.round(tookMs[tookMs.length >> 1]!)} ms, p95 ${Math.round(tookMs[Math.floor(tookMs.length * 0.95)]!)} ms, most ${Math.round(tookMs.at(-1)!)} ms; ` +
        `resident with 1 and 2 workers ${rounded(before)} MiB empty, ${rounded(after)} MiB then`,
    )
    expect(tookMs.at(-1)).toBeLessThan(MAX_PUBLISH_MS)
    expect(after[1]! - after[0]!).toBeLessThan(MAX_WORKER_MIB)
  })
})

/** A gateway process whose control plane sends invalid snapshots, by poll and by stream: the last good one stays in service, also after a restart. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevProvider, startDevProvider } from '../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { type FakeControlPlane, startFakeControlPlane, wholeUpdate } from '../fixtures/fake-control-plane.ts'
import { type FixedBackend, startFixedBackend } from '../fixtures/fixed-backend.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { ServeProcess } from '../fixtures/planes.ts'

/** Generous: the machine may be busy. */
const SOON = { timeout: 30_000, interval: 25 }

const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-refused-'))
let upstream: FixedBackend
let provider: DevProvider
let control: FakeControlPlane
let gateway: ServeProcess
let url: string
let tenant: ReturnType<typeof tenantOf>

function tenantOf(upstreamUrl: string, path = '/echo') {
  const api = { id: 'api_1', path, upstreamUrl, authRequired: false, requestsPerHour: null }
  return {
    id: 'tenant_1',
    name: 'acme',
    suspended: false,
    plans: [],
    apis: [api],
    subscriptions: [],
    keys: [],
    consumers: [],
    tools: [],
  }
}

beforeAll(async () => {
  upstream = await startFixedBackend('echo')
  tenant = tenantOf(upstream.url)
  provider = await startDevProvider({
    host: '127.0.0.1',
    port: 0,
    dataDir: join(dataDir, 'provider'),
    log: SILENT,
  })
  control = await startFakeControlPlane()
  const [port] = await freePorts(1)
  url = `http://localhost:${port}`
  gateway = new ServeProcess({
    ROLE: 'gateway',
    AUTH_ISSUER: provider.issuer,
    CONTROL_PLANE_URL: control.url,
    GATEWAY_CLIENT_ID: 'gateway',
    GATEWAY_CLIENT_SECRET: 'gateway-secret',
    GATEWAY_NAME: 'edge-1',
    GATEWAY_PORT: String(port),
    METRICS_PORT: '0',
    EXAMPLE_PORT: '0',
    DATA_DIR: join(dataDir, 'gateway'),
    LOG_LEVEL: 'silent',
  })
  control.serve('stream', wholeUpdate([tenant]))
  await gateway.start()
}, 120_000)
afterAll(async () => {
  await gateway?.end('SIGTERM')
  await control?.close()
  await provider?.close()
  upstream?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const call = async (path = '/echo') => (await fetch(`${url}/t/acme${path}`)).status
const kept = () => readFileSync(join(dataDir, 'gateway', 'control-share.ndjson'), 'utf8')

/** Resolves when the gateway reports that it serves it: no earlier refusal is left. */
async function serveGood(): Promise<void> {
  control.serve('stream', wholeUpdate([tenant]))
  await expect.poll(() => control.served.stream > 0 && control.reports.at(-1), SOON).toBeNull()
  await expect.poll(() => call(), SOON).toBe(200)
}

const EMPTY = { base: null, plans: [], tenants: [], removed: [] }
const OTHER = 'f'.repeat(64)
/** Functions, because the address of the upstream is known only once it has started. */
const REFUSED: readonly (readonly [string, () => unknown])[] = [
  ['the empty snapshot without a version', () => ({ version: '', apis: [], ...EMPTY })],
  ['an empty snapshot under the version of another', () => ({ version: OTHER, ...EMPTY })],
  [
    'a version that is not a digest',
    () => ({ ...wholeUpdate([tenantOf('http://127.0.0.1:9')]), version: 'next' }),
  ],
  [
    'a change whose version is not that of its outcome',
    () => ({
      version: OTHER,
      base: wholeUpdate([tenant]).version,
      tenants: [],
      removed: [tenant.id],
    }),
  ],
  ['a tenant without its keys', () => wholeUpdate([{ ...tenant, keys: undefined }])],
  [
    'an API whose address is a number',
    () => wholeUpdate([{ ...tenant, apis: [{ ...tenant.apis[0], upstreamUrl: 1 }] }]),
  ],
  [
    'parts that are not lists',
    () => ({ version: OTHER, base: null, plans: {}, tenants: null, removed: 'all' }),
  ],
  ['a text in place of an object', () => 'oops'],
]

it('serves a good snapshot', async () => {
  await expect.poll(() => call(), SOON).toBe(200)
})

describe.each(['poll', 'stream'] as const)('a gateway that gets an update by %s', way => {
  it.each(REFUSED)('refuses %s', async (_, made) => {
    await serveGood()
    const before = kept()
    control.serve(way, made())
    await expect.poll(() => control.served[way], SOON).toBeGreaterThanOrEqual(way === 'poll' ? 2 : 1)
    // the report of the refusal shows that the update was processed
    await expect.poll(() => control.reports.some(error => error !== null), SOON).toBe(true)
    expect(await call()).toBe(200)
    expect(kept()).toBe(before)
  })

  it('keeps serving the last good one after a restart, and serves the next good one', async () => {
    await gateway.end('SIGKILL')
    control.serve(way, { version: '', apis: [], ...EMPTY })
    await gateway.start()
    // the new process has processed the update: its report or, as it registers by the stream, its next poll shows it
    if (way === 'poll') await expect.poll(() => control.served.poll, SOON).toBeGreaterThanOrEqual(2)
    else await expect.poll(() => control.reports.some(error => error !== null), SOON).toBe(true)
    expect(await call()).toBe(200)

    const path = `/${way}`
    control.serve(way, wholeUpdate([{ ...tenant, apis: [{ ...tenant.apis[0], path }] }]))
    await expect.poll(() => call(path), SOON).toBe(200)
    expect(await call()).toBe(404)
    await serveGood()
    expect(await call()).toBe(200)
  }, 120_000)
})

it('serves the empty snapshot of an installation without tenants, which has a version', async () => {
  control.serve('stream', wholeUpdate([]))
  await expect.poll(() => call(), SOON).toBe(404)
})

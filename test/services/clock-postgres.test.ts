/** Processes whose clock is not that of the database: what expires does so by the clock of the database, and health names the difference. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { type ControlProcess, prepareControlProcess } from '../fixtures/control-process.ts'
import { gatewayEnv, ServeProcess } from '../fixtures/planes.ts'

/** Less than the life of a token, more than that of the subscription. */
const AHEAD_MS = 20 * 60_000
const LIFE_MS = 10 * 60_000
const SOON = { timeout: 20_000, interval: 100 }

/** Preload of a process whose clock shows `aheadMs` more; the `Date` header of its responses does not. */
function aheadBy(aheadMs: number): string {
  const source = `const Right = Date
globalThis.Date = class extends Right {
  constructor(...parts) { if (parts.length === 0) super(Right.now() + ${aheadMs}); else super(...parts) }
  static now() { return Right.now() + ${aheadMs} }
}`
  return `--import=data:text/javascript,${encodeURIComponent(source)}`
}

describe.skipIf(WITHOUT_POSTGRES)(`a control plane whose clock is ahead${POSTGRES_HINT}`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-clock-'))
  let cluster: Cluster
  let control: ControlProcess
  let gateway: ServeProcess

  beforeAll(async () => {
    cluster = await startCluster()
    const env = { NODE_OPTIONS: aheadBy(AHEAD_MS) }
    control = await prepareControlProcess(await cluster.database('clock'), env)
    await control.process.start()
    gateway = new ServeProcess({
      ...gatewayEnv(0, control.url, dir),
      AUTH_ISSUER: control.issuer,
      GATEWAY_HOST: '127.0.0.1',
      LOG_LEVEL: 'silent',
      NODE_OPTIONS: aheadBy(AHEAD_MS),
    })
  }, 60_000)
  afterAll(async () => {
    await gateway?.end('SIGTERM')
    await control?.stop()
    await cluster?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  it('ends no subscription early', async () => {
    const made = async (path: string, body: unknown) => {
      const reply = await control.call('POST', path, { body })
      expect(reply.status, reply.text).toBe(201)
      return reply.json
    }
    const { id: tenant } = await made('/tenants', { name: 'beta', tier: 'enterprise' })
    await made('/plans', {
      slug: 'free',
      name: 'Free',
      requires_approval: false,
      tenant_id: tenant,
    })
    const upstream_url = 'http://127.0.0.1:9'
    const { id: api_id } = await made(`/tenants/${tenant}/apis`, {
      name: 'things',
      path: '/things',
      upstream_url,
    })
    const expiresAtMs = Date.now() + LIFE_MS
    const { id } = await made(`/tenants/${tenant}/subscriptions`, {
      ...{ api_id, plan: 'free', application: 'app' },
      expires_at: new Date(expiresAtMs).toISOString(),
    })
    const { json: before } = await control.call('GET', `/tenants/${tenant}/subscriptions/${id}`)
    expect(before.status).toBe('approved')
    // the database has set it
    expect(Math.abs(Date.parse(before.created_at) - Date.now())).toBeLessThan(60_000)
    // more than two rounds of maintenance
    await sleep(5_000)
    const { json: after } = await control.call('GET', `/tenants/${tenant}/subscriptions/${id}`)
    expect([after.status, after.expires_at]).toEqual(['approved', new Date(expiresAtMs).toISOString()])
  })

  it('says so in its health, and a gateway whose clock is ahead of that of the control plane in its own', async () => {
    const health = await (await fetch(`${control.url}/health`)).json()
    expect(health).toMatchObject({
      status: 'degraded',
      clock: expect.stringMatching(
        /^the clock of this process is 1[12]\d\d s ahead of the clock of the database/,
      ),
    })
    expect((await fetch(`${control.url}/ready`)).status).toBe(200)
    const { gateway_url: url } = await gateway.start()
    const partsOf = async () =>
      ((await (await fetch(`${url}/mcp/health`)).json()) as { parts?: string[] }).parts
    await expect.poll(partsOf, SOON).toEqual(['clock of the control plane'])
  })
})

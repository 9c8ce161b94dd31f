/** Starts and stops the deployment that is profiled: gateway, control plane, identity provider, backend and credentials. `load.ts` sends the load. */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Asked, type DemoExchange, exchange } from '../../src/app/cli/demo/exchange.ts'
import { expect, field, text } from '../../src/app/cli/demo/expect.ts'
import { getToken } from '../../src/app/cli/demo/token.ts'
import { startBackend } from './backend.ts'
import { PACKAGE_DIR, type ServedChild, startServed } from './served-child.ts'
import type { WorkTarget } from './work.ts'

/** The token is demo-admin's, whose plan has no limits. */
export interface BenchDeployment extends WorkTarget {
  readonly gateway: ServedChild
  stop(): Promise<void>
}

const FREE_PORTS = {
  GATEWAY_PORT: '0',
  API_PORT: '0',
  AUTH_PORT: '0',
  METRICS_PORT: '0',
  EXAMPLE: 'false',
  LOG_LEVEL: 'error',
  WORKERS: '1',
}
/** A push reaches a gateway within a second; the machine may be busy. */
const MAX_PROPAGATION_MS = 30_000

/**
 * @param settings of the gateway; they override those of the example
 * @param dataDir of the control plane's database; undefined: a new one in memory
 * @param progress called at the start of each step
 */
export async function startDeployment(
  settings: Readonly<Record<string, string>>,
  dataDir: string | undefined,
  progress: (text: string) => void,
): Promise<BenchDeployment> {
  const stops: (() => Promise<void> | void)[] = []
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).reverse()) await one()
  }
  try {
    const dir = mkdtempSync(join(tmpdir(), 'toolgate-profile-'))
    stops.push(() => rmSync(dir, { recursive: true, force: true }))
    const backend = await startBackend()
    stops.push(() => backend.close())
    progress('starting the control plane and the identity provider')
    const control = await startServed('control plane', {
      ...FREE_PORTS,
      ...(dataDir === undefined
        ? { DATA_DIR: join(dir, 'control'), DATABASE_URL: 'pglite:memory' }
        : { DATA_DIR: dataDir }),
    })
    stops.push(() => control.stop())
    progress('starting the gateway')
    const gateway = await startServed('gateway', {
      ...FREE_PORTS,
      DATA_DIR: join(dir, 'gateway'),
      ROLE: 'gateway',
      CONTROL_PLANE_URL: control.addresses.api_url,
      AUTH_ISSUER: control.addresses.auth_url,
      GATEWAY_NAME: 'profiled',
      GATEWAY_CLIENT_ID: 'gateway',
      GATEWAY_CLIENT_SECRET: 'gateway-secret',
      TOOLSETS: toolSetsFor(backend.url, dir),
      METERING_ENABLED: 'true',
      ...settings,
    })
    stops.push(() => gateway.stop())
    const token = await getToken(
      `${control.addresses.auth_url}/protocol/openid-connect/token`,
      'demo-admin',
      { show() {} },
    )
    const api = await publishApi(control.addresses.api_url, token, backend.url)
    stops.push(() => api.remove())
    await waitUntilServed(`${gateway.addresses.gateway_url}${api.path}/`, { 'x-api-key': api.key })
    return { gateway, token, apiPath: api.path, apiKey: api.key, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Copies the ToolSets of the example, with the given backend. @returns their directory */
function toolSetsFor(backendUrl: string, dir: string): string {
  const folder = join(dir, 'toolsets')
  cpSync(join(PACKAGE_DIR, 'toolsets'), folder, { recursive: true })
  const shop = join(folder, 'shop.yaml')
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of the ToolSet
  writeFileSync(shop, readFileSync(shop, 'utf8').replaceAll('${EXAMPLE_URL}', backendUrl))
  return folder
}

/** Publishes an API with the backend as upstream, and subscribes to it. */
async function publishApi(
  apiUrl: string,
  token: string,
  backendUrl: string,
): Promise<{ readonly path: string; readonly key: string; remove(): Promise<void> }> {
  const headers = { authorization: `Bearer ${token}`, 'x-tenant-id': 'acme' }
  const call = async (method: Asked['method'], path: string, body?: object): Promise<DemoExchange> => {
    const made = await exchange({ method, url: `${apiUrl}/v1${path}`, headers, ...(body && { body }) })
    expect(made.status < 300, `success from ${made.url}`, made.response)
    return made
  }
  const tenants = field(await call('GET', '/tenants'), 'items') as { id: string; name: string }[]
  const acme = tenants.find(({ name }) => name === 'acme')
  if (acme === undefined)
    throw new Error('the example deployment has no tenant "acme": set --data to an empty directory')
  const tenant = `/tenants/${acme.id}`
  // unique: a previous run may have been killed before it deleted its API
  const path = `/bench-${randomBytes(4).toString('hex')}`
  const api = text(
    await call('POST', `${tenant}/apis`, {
      name: 'Bench',
      upstream_url: backendUrl,
      path,
      version: '1',
      auth_required: true,
    }),
    'id',
  )
  const subscription = text(
    await call('POST', `${tenant}/subscriptions`, { api_id: api, plan: 'enterprise', application: 'bench' }),
    'id',
  )
  const approved = await call('POST', `${tenant}/subscriptions/${subscription}/approve`, {})
  return {
    path: `/t/acme${path}`,
    key: text(approved, 'api_key'),
    async remove() {
      await call('DELETE', `${tenant}/subscriptions/${subscription}`)
      await call('DELETE', `${tenant}/apis/${api}`)
    },
  }
}

async function waitUntilServed(url: string, headers: Record<string, string>): Promise<void> {
  const endsAt = performance.now() + MAX_PROPAGATION_MS
  let status = 0
  while (performance.now() < endsAt) {
    const response = await fetch(url, { headers })
    await response.arrayBuffer()
    status = response.status
    if (status === 200) return
    await sleep(50)
  }
  throw new Error(`${url} responds with ${status} after ${MAX_PROPAGATION_MS / 1000} s; 200 was expected`)
}

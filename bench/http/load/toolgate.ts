/** The built gateway as a load run needs it: all checks on, a backend of the run's own, a proxied API with its key. It sends no load. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Child, type Side, startChild } from './child.ts'

export interface Toolgate extends Child {
  readonly url: string
  readonly token: string
  /** Of a subscription without limits to the API at `/t/acme/bench`. */
  readonly apiKey: string
}

interface Ready {
  readonly gateway_url: string
  readonly api_url: string
  readonly auth_url: string
}

const FREE = { GATEWAY_PORT: '0', API_PORT: '0', AUTH_PORT: '0', METRICS_PORT: '0' }
const SERVE = ['dist/cli/index.js', 'serve']

/** A gateway by itself on the server's processor; its control plane and provider are beside the load, idle but for its questions. */
export async function startToolgate(upstream: string, workers: number): Promise<Toolgate> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-load-'))
  const toolSets = join(dir, 'toolsets')
  cpSync('toolsets', toolSets, { recursive: true })
  const shop = join(toolSets, 'shop.yaml')
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the tool-set's own placeholder
  writeFileSync(shop, readFileSync(shop, 'utf8').replaceAll('${EXAMPLE_URL}', upstream))
  const start = async (side: Side, name: string, env: Record<string, string>): Promise<Child & Ready> => {
    const child = await startChild(process.execPath, SERVE, {
      side,
      ready: line => line.startsWith('{"ready":true'),
      env: {
        ...FREE,
        LOG_LEVEL: 'error',
        DECISION_LOG_PERCENT: '1',
        EXAMPLE: 'false',
        DATA_DIR: join(dir, name),
        ...env,
      },
    })
    return { ...child, ...(JSON.parse(child.said) as Ready) }
  }
  const control = await start('load', 'control', { DATABASE_URL: 'pglite:memory', WORKERS: '1' })
  const gateway = await start('server', 'gateway', {
    ROLE: 'gateway',
    CONTROL_PLANE_URL: control.api_url,
    AUTH_ISSUER: control.auth_url,
    GATEWAY_NAME: 'bench',
    GATEWAY_CLIENT_ID: 'gateway',
    GATEWAY_CLIENT_SECRET: 'gateway-secret',
    TOOLSETS: toolSets,
    METERING_ENABLED: 'true',
    WORKERS: String(workers),
  })
  const token = await tokenOf(control)
  return {
    ...gateway,
    url: gateway.gateway_url,
    token,
    apiKey: await subscribe(control.api_url, gateway.gateway_url, token, upstream),
    async stop() {
      await gateway.stop()
      await control.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function tokenOf({ auth_url }: Ready): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-admin',
    client_secret: 'demo-admin-secret',
  })
  const answer = await fetch(`${auth_url}/protocol/openid-connect/token`, { method: 'POST', body })
  return ((await answer.json()) as { access_token: string }).access_token
}

/** @returns the key, once the gateway takes it */
async function subscribe(
  apiUrl: string,
  gatewayUrl: string,
  token: string,
  upstream: string,
): Promise<string> {
  const api = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
    const answer = await fetch(`${apiUrl}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-tenant-id': 'acme',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, string>
  }
  const { items } = (await api('GET', '/tenants')) as unknown as { items: { id: string; name: string }[] }
  const tenant = `/tenants/${items.find(({ name }) => name === 'acme')!.id}`
  const created = await api('POST', `${tenant}/apis`, {
    name: 'Bench',
    upstream_url: upstream,
    path: '/bench',
    version: '1',
    auth_required: true,
  })
  const subscription = await api('POST', `${tenant}/subscriptions`, {
    api_id: created.id,
    plan: 'enterprise',
    application: 'bench',
  })
  const { api_key } = await api('POST', `${tenant}/subscriptions/${subscription.id}/approve`, {})
  for (let attempt = 0; attempt < 100; attempt++) {
    const answer = await fetch(`${gatewayUrl}/t/acme/bench/products/P-1001`, {
      headers: { 'x-api-key': api_key! },
    })
    if (answer.status === 200) return api_key!
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('the gateway does not take the key of the new subscription')
}

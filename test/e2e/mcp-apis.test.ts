/** Control-plane APIs of type mcp: registered, listed by the gateway, called with keys, changed, exported, retired, and served while another server hangs. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, post, read, rpc } from '../fixtures/deployment.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { startOwnTime } from '../fixtures/own-time.ts'

const folder = mkdtempSync(join(tmpdir(), 'mcp-apis-'))
const toolsets = join(folder, 'toolsets')
const VERSION = { 'mcp-protocol-version': '2025-11-25' }
let server: ServedMcp
let closed: ServedMcp
let gateway: Deployment
let admin: string
let agent: string
let apis: string
let id: string

beforeAll(async () => {
  server = await startMcpServer()
  closed = await startMcpServer({ accepts: ({ authorization }) => authorization === 'Bearer token-of-acme' })
  mkdirSync(join(toolsets, 'secrets', 'tenant-acme'), { recursive: true })
  writeFileSync(join(toolsets, 'secrets', 'tenant-acme', 'crm'), 'token-of-acme\n')
  writeFileSync(join(toolsets, 'secrets', 'tenant-acme', 'crm.hosts'), '127.0.0.1\n')
  gateway = await deploy({ TOOLSETS: toolsets, SSE_LIMITER_ENABLED: 'false' })
  admin = await gateway.token('demo-admin')
  agent = await gateway.token('demo-agent')
  const { api_url } = gateway.running.addresses
  const tenants = await read(
    await fetch(`${api_url}/v1/tenants`, { headers: { authorization: `Bearer ${admin}` } }),
  )
  apis = `${api_url}/v1/tenants/${tenants.json.items[0].id}/apis`
})
afterAll(async () => {
  await gateway?.stop()
  await server?.close()
  await closed?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function patch(change: object): Promise<number> {
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
  const response = await fetch(`${apis}/${id}`, { method: 'PATCH', headers, body: JSON.stringify(change) })
  return response.status
}

const names = async (): Promise<string[]> =>
  (await gateway.post('/mcp', rpc('tools/list'), admin, VERSION)).json.result.tools.map(
    (tool: { name: string }) => tool.name,
  )

async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<void> {
  let seen = await look()
  for (let tries = 0; tries < 150 && !holds(seen); tries++) {
    await sleep(200)
    seen = await look()
  }
  if (!holds(seen)) throw new Error(`it did not happen within 30 s: ${JSON.stringify(seen).slice(0, 2000)}`)
}

async function call(name: string, args: object, headers: Record<string, string> = {}, token?: string) {
  const request = rpc('tools/call', { name, arguments: args })
  const { json } = await gateway.post('/mcp', request, token, { ...VERSION, ...headers })
  return json.result ?? json
}

it('serves the tools of the server under the path of the API', async () => {
  const made = await post(apis, { name: 'CRM', type: 'mcp', upstream_url: server.url, path: '/crm' }, admin)
  expect(made.json).toMatchObject({ type: 'mcp', mcp: null, upstream_url: server.url, auth_required: true })
  id = made.json.id
  expect(made.json.public_url).toBe(`${gateway.url}/mcp/${id}`)
  await until(names, seen => seen.includes('crm_echo'))
  const one = await gateway.post(`/mcp/${id}`, rpc('tools/list'), admin, VERSION)
  expect(one.json.result.tools.every(({ name }: { name: string }) => name.startsWith('crm_'))).toBe(true)
})

it('is called with an approved subscription only, with its key', async () => {
  expect(await call('crm_echo', { text: 'no' }, {}, agent)).toMatchObject({ isError: true })
  expect(server.calls).not.toContain('no')
  const base = apis.replace(/\/apis$/, '')
  const asked = await post(`${base}/subscriptions`, { api_id: id, plan: 'silver', application: 'app' }, admin)
  expect(asked.status).toBe(201)
  await post(`${base}/subscriptions/${asked.json.id}/approve`, {}, admin)
  const key = await post(`${base}/apikeys`, { subscription_id: asked.json.id, name: 'test' }, admin)
  expect(key.status).toBe(201)
  const secret: string = key.json.key
  await until(
    () => call('crm_echo', { text: 'with a key' }, { 'x-api-key': secret }),
    result => result.content?.[0]?.text === 'with a key',
  )
  // no proxied address
  const proxied = await fetch(`${gateway.url}/t/acme/crm`, { headers: { 'x-api-key': secret } })
  expect(proxied.status).toBe(404)
})

it('refuses what does not belong together, with the field', async () => {
  const faults = async (change: object): Promise<string[]> => {
    const body = { name: 'X', type: 'mcp', upstream_url: server.url, path: '/x', ...change }
    const { status, json } = await post(apis, body, admin)
    expect(status).toBe(400)
    return json.error.details.map(({ field }: { field: string }) => field)
  }
  expect(await faults({ spec: { openapi: '3.1.0', info: {}, paths: {} } })).toEqual(['spec'])
  expect(await faults({ type: 'http', mcp: {} })).toEqual(['mcp'])
  expect(await faults({ mcp: { authentication: { type: 'bearer' } } })).toEqual(['mcp.authentication.secret'])
  expect(
    await faults({ mcp: { authentication: { type: 'oauth2_client_credentials', secret: 'a' } } }),
  ).toEqual(['mcp.authentication.token_url'])
})

it('takes the credential from the secret of the tenant at the gateway', async () => {
  const authentication = { type: 'bearer', secret: 'crm' }
  expect(await patch({ auth_required: false, upstream_url: closed.url, mcp: { authentication } })).toBe(200)
  await until(
    () => call('crm_echo', { text: 'closed' }, {}, admin),
    result => result.content?.[0]?.text === 'closed' && closed.calls.includes('closed'),
  )
  expect(closed.requests.at(-1)!.authorization).toBe('Bearer token-of-acme')
})

it('is in the configuration as code', async () => {
  const { api_url } = gateway.running.addresses
  const tree = await read(
    await fetch(`${api_url}/v1/config`, { headers: { authorization: `Bearer ${admin}` } }),
  )
  const found = JSON.stringify(tree.json)
  expect(found).toContain('"type":"mcp"')
  expect(found).toContain('"secret":"crm"')
  expect(found).not.toContain('token-of-acme')
})

it('ends with the API', async () => {
  expect(await patch({ status: 'retired' })).toBe(200)
  await until(names, seen => !seen.includes('crm_echo'))
})

it('is served while the server of another API hangs', async () => {
  const silent = createServer(() => {})
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = silent.address() as AddressInfo
    const hanging = `http://127.0.0.1:${port}/mcp`
    await post(apis, { name: 'Silent', type: 'mcp', upstream_url: hanging, path: '/silent' }, admin)
    await sleep(1_000)
    const elapsedMs = startOwnTime()
    await post(apis, { name: 'Other', type: 'mcp', upstream_url: server.url, path: '/other' }, admin)
    await until(names, seen => seen.includes('other_echo'))
    // the request to the server that hangs ends after 10 s at the earliest
    expect(elapsedMs()).toBeLessThan(8_000)
  } finally {
    silent.close()
  }
})

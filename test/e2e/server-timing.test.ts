/** `Server-Timing` on request, over REST, JSON-RPC and proxied calls: who gets it, and what it holds. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Deployment, deploy, post, read, rpc } from '../fixtures/deployment.ts'

const ASKS = { 'x-debug-timing': 'true' }
const PRODUCT = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
const UPSTREAM_MS = 40

let gateway: Deployment
let admin: string
let viewer: string
let upstream: Server
let publicUrl: string
const seen: (string | undefined)[] = []

beforeAll(async () => {
  upstream = createServer((request, response) => {
    seen.push(request.headers['x-debug-timing'] as string | undefined)
    setTimeout(() => response.end('proxied'), UPSTREAM_MS)
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  gateway = await deploy()
  admin = await gateway.token('demo-admin')
  viewer = await gateway.token('demo-viewer')
  const api = async (path: string, body: unknown) => {
    const response = await post(`${gateway.running.addresses.api_url}/v1${path}`, body, admin)
    expect(response.status, response.text).toBe(201)
    return response.json
  }
  const tenant = await api('/tenants', { name: 'timed', tier: 'enterprise' })
  const { public_url } = await api(`/tenants/${tenant.id}/apis`, {
    name: 'Open',
    upstream_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    path: '/open',
    auth_required: false,
  })
  publicUrl = public_url
  // the gateway hears of it a moment later
  await vi.waitUntil(async () => (await fetch(publicUrl)).status === 200, { timeout: 20_000 })
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  upstream.closeAllConnections()
  await new Promise(resolve => upstream.close(resolve))
})

/** Server Timing, §2: entries of a name and parameters. */
function entriesOf(headers: Headers): Map<string, number> {
  const value = headers.get('server-timing')
  expect(value).not.toBeNull()
  return new Map(
    value!.split(', ').map(entry => {
      const [, name, dur] = /^([\w-]+);dur=(\d+(?:\.\d{1,3})?)(?:;desc="[^"]*")?$/.exec(entry) ?? []
      expect(name, entry).toBeDefined()
      return [name!, Number(dur)]
    }),
  )
}

const rest = (token: string | undefined, headers: Record<string, string>) =>
  gateway.post('/mcp/tools/call', PRODUCT, token, headers)
const jsonRpc = (token: string | undefined, headers: Record<string, string>) =>
  gateway.post('/mcp', rpc('tools/call', PRODUCT), token, { accept: 'application/json', ...headers })
const proxied = async (token: string | undefined, headers: Record<string, string>) =>
  read(
    await fetch(publicUrl, {
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    }),
  )

describe.each([
  ['REST', rest, 'invoke-tool'],
  ['JSON-RPC', jsonRpc, 'invoke-tool'],
])('%s', (_, call, invoke) => {
  it('gives an administrator the stages, the upstream and the total', async () => {
    const { status, headers } = await call(admin, ASKS)
    expect(status).toBe(200)
    const entries = entriesOf(headers)
    const names = [...entries.keys()]
    expect(names).toEqual(expect.arrayContaining(['authenticate', 'take-quota', 'authorize', invoke]))
    expect(names.slice(-2)).toEqual(['upstream', 'total'])
    expect(entries.get(invoke)).toBeGreaterThanOrEqual(entries.get('upstream')!)
    // each entry is rounded by itself
    const stages = [...entries].slice(0, -2).reduce((sum, [, ms]) => sum + ms, 0)
    expect(entries.get('total')! + 0.05).toBeGreaterThanOrEqual(stages)
  })

  it('is absent without the request header, and for callers who may not see it', async () => {
    expect((await call(admin, {})).headers.get('server-timing')).toBeNull()
    expect((await call(admin, { 'x-debug-timing': 'false' })).headers.get('server-timing')).toBeNull()
    const agent = await call(await gateway.token('demo-agent'), ASKS)
    expect([agent.status, agent.headers.get('server-timing')]).toEqual([200, null])
    const refused = await call(viewer, ASKS)
    expect([refused.status, refused.headers.get('server-timing')]).toEqual([403, null])
    const unknown = await call(undefined, ASKS)
    expect([unknown.status, unknown.headers.get('server-timing')]).toEqual([401, null])
  })
})

it('reports how far a refused call came', async () => {
  const response = await gateway.post('/mcp/tools/call', { name: 'nobody_has_this' }, admin, ASKS)
  expect(response.status).toBe(404)
  const names = [...entriesOf(response.headers).keys()]
  expect(names).toContain('authenticate')
  expect(names).not.toContain('invoke-tool')
  expect(names).not.toContain('upstream')
})

it('sums up a batch', async () => {
  const response = await gateway.post('/mcp', [rpc('tools/call', PRODUCT), rpc('tools/list')], admin, {
    ...ASKS,
    accept: 'application/json',
    'mcp-protocol-version': '2025-03-26',
  })
  expect(response.status, response.text).toBe(200)
  expect(response.headers.get('server-timing')).toMatch(/total;dur=[\d.]+;desc="2 calls"$/)
})

describe('a proxied call', () => {
  it('reports what is known when its head leaves, and keeps the question from the upstream', async () => {
    const { status, headers, text } = await proxied(admin, ASKS)
    expect([status, text]).toEqual([200, 'proxied'])
    const entries = entriesOf(headers)
    expect([...entries.keys()].slice(-2)).toEqual(['upstream', 'total'])
    expect(entries.has('authenticate')).toBe(true)
    // a timer may fire a millisecond early
    expect(entries.get('upstream')).toBeGreaterThanOrEqual(UPSTREAM_MS - 2)
    expect(entries.get('total')).toBeGreaterThanOrEqual(entries.get('upstream')!)
    expect(seen.every(value => value === undefined)).toBe(true)
  })

  it('is given to no one else', async () => {
    for (const [token, headers] of [
      [admin, {}],
      [viewer, ASKS],
      [undefined, ASKS],
    ] as const) {
      const response = await proxied(token, headers)
      expect([response.status, response.headers.get('server-timing')]).toEqual([200, null])
    }
  })
})

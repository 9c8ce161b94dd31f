/** The walk of a tenant through the control plane, seen at the gateway: from an API to a revoked key; also open APIs, hourly rates, a closed upstream. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, read } from '../fixtures/deployment.ts'
import { startOwnTime } from '../fixtures/own-time.ts'

let gateway: Deployment
let admin: string
let upstream: Server
let upstreamUrl: string
const seen: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = []

beforeAll(async () => {
  upstream = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, body })
      if (request.url!.startsWith('/base/slow')) return
      response.writeHead(request.url!.includes('broken') ? 503 : 200, {
        'content-type': 'text/plain',
        'x-upstream': 'yes',
        connection: 'x-hop',
        'x-hop': '1',
      })
      response.write('first ')
      setTimeout(() => response.end(`${request.method} ${body.length}`), 20)
    })
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  gateway = await deploy()
  admin = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway.stop()
  upstream.closeAllConnections()
  await new Promise(resolve => upstream.close(resolve))
})

async function api(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.running.addresses.api_url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return read(response)
}
const as = (tenant: string) => ({ 'x-tenant-id': tenant })
const call = async (path: string, init: RequestInit = {}) => read(await fetch(`${gateway.url}${path}`, init))

/** The tenant of the demo clients is there from the first start on. */
async function acmeId(): Promise<string> {
  const { items } = (await api('GET', '/tenants')).json as { items: { id: string; name: string }[] }
  return items.find(tenant => tenant.name === 'acme')!.id
}

it('serves health, the OpenAPI document and its pages on the API port', async () => {
  const { api_url } = gateway.running.addresses
  expect((await fetch(`${api_url}/health`)).status).toBe(200)
  expect(((await (await fetch(`${api_url}/openapi.json`)).json()) as { openapi: string }).openapi).toMatch(
    /^3\.1/,
  )
  expect((await fetch(`${api_url}/docs`)).status).toBe(200)
})

it('walks from tenant to revoked key', async () => {
  const other = await api('POST', '/tenants', {
    name: 'globex',
    tier: 'business',
    admin_email: 'ops@globex.example',
  })
  expect([other.status, other.json.gateway_url]).toEqual([201, `${gateway.url}/t/globex`])
  const tenantId = await acmeId()
  const created = await api(
    'POST',
    `/tenants/${tenantId}/apis`,
    {
      name: 'Echo',
      upstream_url: `${upstreamUrl}/base`,
      path: '/echo',
      version: '1',
      auth_required: true,
      spec: {
        openapi: '3.1.0',
        info: { title: 'Echo', version: '1' },
        paths: {
          '/hello': {
            get: {
              operationId: 'sayHello',
              summary: 'Says hello',
              responses: { 200: { description: 'ok' } },
            },
          },
        },
      },
    },
    as('acme'),
  )
  expect([created.status, created.json.public_url]).toEqual([201, `${gateway.url}/t/acme/echo`])
  await expect.poll(async () => (await call('/t/acme/echo')).status, { timeout: 15_000 }).toBe(401)

  const subscription = await api(
    'POST',
    `/tenants/${tenantId}/subscriptions`,
    { api_id: created.json.id, plan: 'gold', application: 'shop-front' },
    as('acme'),
  )
  expect([subscription.status, subscription.json.status, subscription.json.api_key]).toEqual([
    201,
    'pending_approval',
    null,
  ])
  const approved = await api(
    'POST',
    `/tenants/${tenantId}/subscriptions/${subscription.json.id}/approve`,
    {},
    as('acme'),
  )
  const key: string = approved.json.api_key
  expect(key).toMatch(/^tgk_[A-Za-z0-9]{8}_?[A-Za-z0-9]{32}/)

  const withKey = {
    headers: { 'x-api-key': key, authorization: '', 'x-forwarded-for': '6.6.6.6', cookie: 'secret=1' },
  }
  await expect
    .poll(async () => (await call('/t/acme/echo/things?q=a%20b', withKey)).status, { timeout: 15_000 })
    .toBe(200)
  const response = await call('/t/acme/echo/things?q=a%20b', {
    ...withKey,
    method: 'POST',
    body: 'x'.repeat(300_000),
  })
  expect([
    response.status,
    response.text,
    response.headers.get('x-upstream'),
    response.headers.get('x-hop'),
  ]).toEqual([200, 'first POST 300000', 'yes', null])
  expect(response.headers.get('x-ratelimit-limit')).toBe('100')
  const arrived = seen.at(-1)!
  expect(arrived).toMatchObject({
    method: 'POST',
    url: '/base/things?q=a%20b',
    headers: { 'x-forwarded-prefix': '/t/acme/echo', 'x-tenant-id': 'acme' },
  })
  expect(JSON.stringify(arrived.headers)).not.toContain(key)
  expect(arrived.headers.cookie).toBeUndefined()
  expect(arrived.headers['x-forwarded-for']).toBe('127.0.0.1')
  expect(arrived.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect((await call('/t/acme/echo/broken', withKey)).status).toBe(503)
  expect((await call('/t/acme/echo', { headers: { 'x-api-key': `${key.slice(0, -1)}!` } })).status).toBe(401)

  const agent = await gateway.token('demo-agent')
  expect((await call('/t/acme/echo', { headers: { authorization: `Bearer ${agent}` } })).json).toMatchObject({
    error: 'forbidden',
  })
  const names = async (): Promise<string[]> =>
    (await gateway.post('/mcp/v1/tools', {}, admin)).json.tools.map((tool: { name: string }) => tool.name)
  // compiled beside the address, which is served first
  await expect.poll(names).toContain('echo_sayHello')

  await expect
    .poll(
      async () =>
        (
          await api(
            'GET',
            `/tenants/${tenantId}/subscriptions/${subscription.json.id}/usage`,
            undefined,
            as('acme'),
          )
        ).json.requests,
      { timeout: 30_000 },
    )
    .toBeGreaterThanOrEqual(3)

  const statusIs = (status: number, init: RequestInit) =>
    expect
      .poll(async () => (await call('/t/acme/echo', init)).status, { timeout: 15_000, interval: 20 })
      .toBe(status)
  async function revoke(id: string, init: RequestInit): Promise<number> {
    const revoked = await api('DELETE', `/tenants/${tenantId}/apikeys/${id}`, undefined, as('acme'))
    expect(revoked.status).toBe(204)
    const elapsedMs = startOwnTime()
    await statusIs(401, init)
    return elapsedMs()
  }
  const keys = await api('GET', `/tenants/${tenantId}/apikeys`, undefined, as('acme'))
  const tookMs = [await revoke(keys.json.items[0].id, withKey)]
  // the machine may stall during one of them
  for (const name of ['second', 'third']) {
    const body = { subscription_id: subscription.json.id, name }
    const made = await api('POST', `/tenants/${tenantId}/apikeys`, body, as('acme'))
    expect(made.status).toBe(201)
    const init = { headers: { 'x-api-key': made.json.key } }
    await statusIs(200, init)
    tookMs.push(await revoke(made.json.id, init))
  }
  expect(Math.min(...tookMs)).toBeLessThan(1000)
})

it('lets anyone call an API that requires no authentication, and no one call a deleted one', async () => {
  const tenantId = await acmeId()
  const open = await api(
    'POST',
    `/tenants/${tenantId}/apis`,
    { name: 'Open', upstream_url: `${upstreamUrl}/base`, path: '/open', version: '1', auth_required: false },
    as('acme'),
  )
  await expect.poll(async () => (await call('/t/acme/open/x')).status, { timeout: 15_000 }).toBe(200)
  expect(
    (await api('DELETE', `/tenants/${tenantId}/apis/${open.json.id}`, undefined, as('acme'))).status,
  ).toBe(204)
  await expect.poll(async () => (await call('/t/acme/open/x')).status, { timeout: 15_000 }).toBe(404)
})

it('holds the hourly rate of an API for its proxied address and its tools together, and for each caller of an open one', async () => {
  const tenantId = await acmeId()
  const create = (path: string, more: object) =>
    api(
      'POST',
      `/tenants/${tenantId}/apis`,
      {
        name: path,
        upstream_url: `${upstreamUrl}/base`,
        path,
        rate_limit: { requests_per_hour: 3 },
        ...more,
      },
      as('acme'),
    )
  const spec = {
    openapi: '3.1.0',
    info: { title: 'Rated', version: '1' },
    paths: { '/hello': { get: { operationId: 'hello', responses: { 200: { description: 'ok' } } } } },
  }
  const rated = await create('/rated', { auth_required: true, spec })
  const { json: subscription } = await api(
    'POST',
    `/tenants/${tenantId}/subscriptions`,
    { api_id: rated.json.id, plan: 'gold', application: 'rated-app' },
    as('acme'),
  )
  const approved = await api(
    'POST',
    `/tenants/${tenantId}/subscriptions/${subscription.id}/approve`,
    {},
    as('acme'),
  )
  const withKey = { 'x-api-key': approved.json.api_key as string }
  const proxied = () => call('/t/acme/rated', { headers: withKey })
  await expect.poll(async () => (await proxied()).status, { timeout: 15_000 }).toBe(200)
  expect((await proxied()).status).toBe(200)
  const asTool = () =>
    gateway.post('/mcp/v1/tools/invoke', { name: 'rated_hello', arguments: {} }, undefined, withKey)
  // compiled beside the address, which is served first
  const list = async () => (await gateway.post('/mcp/v1/tools', {}, admin)).text
  await expect.poll(list, { timeout: 15_000 }).toContain('"rated_hello"')
  expect((await asTool()).status).toBe(200)
  for (const refused of [await proxied(), await asTool()]) {
    expect([refused.status, refused.json.message]).toEqual([
      429,
      'Hourly limit of 3 requests to this API exceeded.',
    ])
    // one comes back every twenty minutes
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1100)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(1200)
  }

  await create('/rated-open', { auth_required: false })
  await expect.poll(async () => (await call('/t/acme/rated-open')).status, { timeout: 15_000 }).toBe(200)
  const statuses = []
  for (let time = 0; time < 3; time++) statuses.push((await call('/t/acme/rated-open')).status)
  expect(statuses).toEqual([200, 200, 429])
})

it('tries an upstream that is down no more after a while, and says when to come back', async () => {
  const tenantId = await acmeId()
  // no one listens on the port of a server that has gone
  const gone = createServer()
  await new Promise<void>(resolve => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise(resolve => gone.close(resolve))
  await api(
    'POST',
    `/tenants/${tenantId}/apis`,
    { name: 'Gone', upstream_url: `http://127.0.0.1:${port}`, path: '/gone', auth_required: false },
    as('acme'),
  )
  await expect.poll(async () => (await call('/t/acme/gone')).status, { timeout: 15_000 }).toBe(502)
  await expect.poll(async () => (await call('/t/acme/gone')).status, { timeout: 15_000 }).toBe(503)
  const refused = await call('/t/acme/gone')
  expect([refused.status, refused.json.error]).toEqual([503, 'backend_unreachable'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  const metrics = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
  expect(metrics).toMatch(/^platform_upstream_circuits_open 1$/m)
  expect(metrics).toMatch(/^platform_upstream_refused_total [1-9]/m)
  expect(metrics).toMatch(/^platform_upstream_retries_total [1-9]/m)
})

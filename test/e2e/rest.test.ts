/** Tool lists and calls over REST, refusals, discovery, health, metrics and admin endpoints of a running gateway. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'

let gateway: Deployment
let agent: string
let viewer: string
let admin: string
beforeAll(async () => {
  gateway = await deploy()
  ;[agent, viewer, admin] = await Promise.all([
    gateway.token('demo-agent'),
    gateway.token('demo-viewer'),
    gateway.token('demo-admin'),
  ])
})
afterAll(() => gateway.stop())

const get = async (path: string, headers: Record<string, string> = {}) =>
  read(await fetch(`${gateway.url}${path}`, { headers }))
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

describe('tool list', () => {
  it.each(['/mcp/v1/tools', '/mcp/tools/list'])('POST %s gives the tools the caller may call', async path => {
    const response = await gateway.post(path, {}, admin)
    expect(response.status).toBe(200)
    expect(response.json.tools.length).toBeGreaterThanOrEqual(12)
    for (const tool of response.json.tools) {
      expect(tool).toMatchObject({
        name: expect.any(String),
        description: expect.stringMatching(/./),
        inputSchema: { type: 'object' },
      })
    }
    const names = response.json.tools.map((tool: { name: string }) => tool.name)
    expect(names).toEqual([...names].sort())
  })

  it('leaves out what the policy would refuse', async () => {
    const [all, some, few] = await Promise.all(
      [admin, agent, viewer].map(token => gateway.post('/mcp/v1/tools', {}, token)),
    )
    const count = (response: typeof all) => response!.json.tools.length
    expect(count(few)).toBeLessThan(count(some))
    expect(count(some)).toBeLessThan(count(all))
  })

  it('takes an empty body', async () => {
    expect((await gateway.post('/mcp/v1/tools', '', agent)).status).toBe(200)
  })
})

describe('tool call', () => {
  it.each(['/mcp/v1/tools/invoke', '/mcp/tools/call'])(
    'POST %s calls the backend, and names the request and the trace',
    async path => {
      const response = await gateway.post(path, { name: 'shop_listProducts', arguments: {} }, admin)
      expect(response.status).toBe(200)
      expect(response.json).toMatchObject({ isError: false, content: [{ type: 'text' }] })
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
      expect(response.headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/)
    },
  )

  it('shows the limits of the plan', async () => {
    const response = await gateway.post(
      '/mcp/tools/call',
      { name: 'shop_listProducts', arguments: {} },
      agent,
    )
    expect(response.status).toBe(200)
    expect(response.headers.get('x-ratelimit-limit')).toBe('5')
    expect(response.headers.get('x-ratelimit-remaining')).toMatch(/^[0-4]$/)
    expect(Number(response.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 - 2)
  })

  it('gives a sane request id back and makes its own for any other', async () => {
    const call = (id: string) => gateway.post('/mcp/v1/tools', {}, agent, { 'x-request-id': id })
    expect((await call('abc-123')).headers.get('x-request-id')).toBe('abc-123')
    expect((await call('a b<script>')).headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
  })

  it('continues the trace of the caller', async () => {
    const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
    expect((await gateway.post('/mcp/v1/tools', {}, agent, headers)).headers.get('x-trace-id')).toBe(
      '0af7651916cd43dd8448eb211c80319c',
    )
  })

  it.each([
    ['an unknown tool', { name: 'nope', arguments: {} }, 404, 'tool_not_found', /nope/],
    [
      'an argument that does not fit',
      { name: 'shop_getProduct', arguments: { productId: { a: 1 } } },
      400,
      'invalid_arguments',
      /productId/,
    ],
    ['a missing name', { arguments: {} }, 400, 'invalid_request', /name/],
    [
      'arguments that are not an object',
      { name: 'shop_listProducts', arguments: [1] },
      400,
      'invalid_arguments',
      /object/,
    ],
    ['broken JSON', '{"name":', 400, 'invalid_request', /JSON/],
  ])('refuses %s', async (_, body, status, error, message) => {
    const response = await gateway.post('/mcp/tools/call', body, admin)
    expect([response.status, response.json.error]).toEqual([status, error])
    expect(response.json.message).toMatch(message)
    expect(response.json.request_id).toBe(response.headers.get('x-request-id'))
  })

  it('refuses a body over 1 MiB with 413', async () => {
    const response = await gateway.post(
      '/mcp/tools/call',
      { name: 'x', arguments: { pad: 'x'.repeat(1024 * 1024) } },
      admin,
    )
    expect(response.status).toBe(413)
  })

  it('responds with 500 and the result when the backend fails', async () => {
    const response = await gateway.post(
      '/mcp/tools/call',
      { name: 'shop_getProduct', arguments: { productId: 'P-9999' } },
      admin,
    )
    expect(response.json).toMatchObject({
      error: 'tool_execution_failed',
      isError: true,
      content: [{ text: expect.stringMatching(/404/) }],
    })
    expect(response.status).toBe(500)
  })

  it('refuses a viewer with the reasons of the policy', async () => {
    const response = await gateway.post(
      '/mcp/tools/call',
      { name: 'shop_listProducts', arguments: {} },
      viewer,
    )
    expect(response.status).toBe(403)
    expect(response.json).toMatchObject({ error: 'forbidden', decision_id: expect.any(String) })
    expect(response.json.reasons).toContainEqual(expect.objectContaining({ code: 'insufficient_scope' }))
    expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
  })

  it('stops a consumer at its quota, with Retry-After, and lets it go on afterwards', async () => {
    const call = () => gateway.post('/mcp/tools/call', { name: 'shop_listProducts', arguments: {} }, agent)
    const burst = async () => {
      await pause(1100)
      const startedAt = performance.now()
      const responses = await Promise.all(Array.from({ length: 9 }, call))
      return { responses, tookMs: performance.now() - startedAt }
    }
    let { responses, tookMs } = await burst()
    // where nine calls take longer than a second, the last ones belong to the next
    for (let again = 0; again < 4 && tookMs > 1000; again++) ({ responses, tookMs } = await burst())
    expect(responses.filter(response => response.status === 200)).toHaveLength(5)
    const refused = responses.find(response => response.status === 429)!
    expect(refused.json).toEqual({
      error: 'quota_exceeded',
      message: expect.stringMatching(/Per-second limit of 5/),
      retry_after_secs: 1,
    })
    expect(refused.headers.get('retry-after')).toBe('1')
    await pause(1100)
    expect((await call()).status).toBe(200)
  })

  it('shortens results when asked, and says by how much', async () => {
    const call = (level: string) =>
      gateway.post('/mcp/tools/call', { name: 'shop_listProducts', arguments: {} }, admin, {
        'x-token-optimization': level,
      })
    const [plain, short] = [await call('none'), await call('aggressive')]
    expect(short.text.length).toBeLessThan(plain.text.length)
    expect(Number(short.headers.get('x-token-optimization-saved'))).toBeGreaterThan(0)
    expect((await call('most')).status).toBe(400)
  })
})

describe('tenants', () => {
  it('lets only an admin act for another tenant, and shows it nothing of the first', async () => {
    expect((await gateway.post('/mcp/v1/tools', {}, agent, { 'x-tenant-id': 'other' })).status).toBe(403)
    const other = await gateway.post('/mcp/v1/tools', {}, admin, { 'x-tenant-id': 'other' })
    expect([other.status, other.json.tools]).toEqual([200, []])
  })
})

describe('discovery and health', () => {
  it('describes the server at GET /mcp', async () => {
    const response = await get('/mcp')
    expect(response.json).toMatchObject({
      name: 'toolgate',
      supportedVersions: expect.arrayContaining(['2024-11-05', '2026-07-28']),
    })
    expect(Object.keys(response.json.endpoints).sort()).toEqual([
      'authorization_server',
      'capabilities',
      'health',
      'invoke',
      'mcp',
      'protected_resource',
      'sse',
      'tools_call',
      'tools_list',
    ])
  })

  it('reports the same capabilities at GET /mcp/capabilities as initialize does', async () => {
    const document = (await get('/mcp/capabilities')).json
    const initialized = (
      await gateway.post(
        '/mcp',
        rpc('initialize', {
          protocolVersion: '2025-03-26',
          capabilities: {},
          clientInfo: { name: 't', version: '1' },
        }),
      )
    ).json
    expect(document.capabilities).toEqual(initialized.result.capabilities)
    expect(document.features.policy.revision).toMatch(/./)
  })

  it('is healthy and ready, and says how many tools it has', async () => {
    expect((await get('/health')).json).toEqual({ status: 'ok' })
    expect((await get('/ready')).status).toBe(200)
    expect((await get('/mcp/health')).json).toMatchObject({
      status: 'healthy',
      tools: expect.any(Number),
      active_sessions: expect.any(Number),
    })
  })

  it('responds with 404 for an address it does not know and 405 with Allow for a wrong method', async () => {
    expect((await get('/nothing/here')).status).toBe(404)
    const wrong = await get('/mcp/tools/call')
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('normalizes addresses before it matches them and guesses at none', async () => {
    expect((await get('/mcp//health')).status).toBe(200)
    expect((await get('/%6dcp/health')).status).toBe(200)
    expect((await get('/mcp%2Fhealth')).status).toBe(400)
  })

  it('publishes metrics under the specified names', async () => {
    const text = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
    expect(text).toMatch(/platform_requests_total\{consumer="demo-agent",status="200"\} \d+/)
    expect(text).toMatch(/platform_rate_limited_total \d+/)
    expect(text).toMatch(/platform_quota_exceeded_total \d+/)
  })
})

describe('admin', () => {
  const call = async (method: string, path: string, token: string) =>
    read(await fetch(`${gateway.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } }))

  it('is for admins alone', async () => {
    expect((await call('GET', '/admin/quotas', agent)).status).toBe(403)
    expect((await read(await fetch(`${gateway.url}/admin/quotas`))).status).toBe(401)
  })

  it('shows and resets the counters of a consumer', async () => {
    await gateway.post('/mcp/tools/call', { name: 'shop_listProducts', arguments: {} }, agent)
    await call('POST', '/admin/cache/clear', admin)
    const row = (await call('GET', '/admin/quotas/demo-agent', admin)).json
    expect(row).toMatchObject({ consumer_id: 'demo-agent', daily_limit: 10_000, monthly_limit: 100_000 })
    expect(row.plans).toContainEqual(expect.objectContaining({ source: 'plans_file', plan: 'community' }))
    expect(row.plans.at(-1)).toMatchObject({ source: 'default', plan: null })
    expect(row.daily_count).toBeGreaterThan(0)
    expect(row.daily_remaining).toBe(row.daily_limit - row.daily_count)
    expect(row.counters).toEqual([
      {
        tenant: 'acme',
        subscription_id: null,
        plan: 'community',
        limits_known: true,
        second: { count: expect.any(Number), limit: 5 },
        minute: { count: expect.any(Number), limit: 60 },
        day: { count: row.daily_count, limit: 10_000 },
        month: { count: row.monthly_count, limit: 100_000 },
        in_flight: null,
      },
    ])
    expect(row.counters[0].minute.count).toBeGreaterThan(0)
    const reset = (await call('POST', '/admin/quotas/demo-agent/reset', admin)).json
    expect(reset).toMatchObject({ consumer_id: 'demo-agent', daily_count: 0, monthly_count: 0 })
    expect((await call('GET', '/admin/quotas/nobody', admin)).status).toBe(404)
  })

  it('a plan that the control plane assigns decides before that of plans.yaml', async () => {
    const base = `${gateway.running.addresses.api_url}/v1`
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    const get = async (path: string) => (await read(await fetch(`${base}${path}`, { headers }))).json
    const { items: tenants } = await get('/tenants')
    const { id } = tenants.find((tenant: { name: string }) => tenant.name === 'acme')
    const { items } = await get(`/tenants/${id}/consumers`)
    const consumer = items.find((one: { subject: string }) => one.subject === 'demo-agent')
    const assign = async (plan: string | null) => {
      const path = `${base}/tenants/${id}/consumers/${consumer.id}`
      expect((await fetch(path, { method: 'PATCH', headers, body: JSON.stringify({ plan }) })).status).toBe(
        200,
      )
    }
    const limit = async () => {
      const called = { name: 'shop_listProducts', arguments: { limit: 1 } }
      return (await gateway.post('/mcp/tools/call', called, agent)).headers.get('x-ratelimit-limit')
    }
    const soon = { timeout: 15_000, interval: 300 }
    try {
      await assign('gold')
      await expect.poll(limit, soon).toBe('100')
      await assign(null)
      await expect.poll(limit, soon).toBe('5')
    } finally {
      await assign(consumer.plan)
    }
  })

  it('clears caches and says how much', async () => {
    const response = await call('POST', '/admin/cache/clear', admin)
    expect(response.json).toMatchObject({
      status: 'ok',
      cleared: { tokens: expect.any(Number), decisions: expect.any(Number), results: expect.any(Number) },
    })
  })

  it('counts sessions', async () => {
    expect((await call('GET', '/admin/sessions/stats', admin)).json).toEqual({
      active_sessions: expect.any(Number),
      zombie_sessions: expect.any(Number),
      total_created: expect.any(Number),
    })
  })
})

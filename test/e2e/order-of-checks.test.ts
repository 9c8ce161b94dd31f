/** Tokens are checked before bodies, and quota before the name of a tool, seen from raw sockets, clients and records; also sizes and characters of bodies. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, read } from '../fixtures/deployment.ts'

const SERVERS = ['uws', 'node'] as const
const SILENT_MS = 5_000
const CHUNKED = 'Transfer-Encoding: chunked'

/** Sends a head that announces a body, and of the body at most the first chunk. @returns the head of the response, or what arrives in the time */
function headOnly(url: string, path: string, headers: readonly string[], withinMs = 30_000): Promise<string> {
  const { hostname, port, host } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    const end = (): void => {
      socket.destroy()
      resolve(text)
    }
    const timer = setTimeout(end, withinMs)
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      if (!/^HTTP\/1\.1 [2-5]/m.test(text.replace(/^HTTP\/1\.1 100[^\n]*\n\r?\n/, ''))) return
      clearTimeout(timer)
      setTimeout(end, 50)
    })
    socket.on('error', reject)
    const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, 'Content-Type: application/json', ...headers]
    // one listener reports a chunked request with its first chunk
    const chunk = headers.includes(CHUNKED) ? '5\r\n{"nam\r\n' : ''
    socket.write(`${head.join('\r\n')}\r\n\r\n${chunk}`)
  })
}

describe.each(SERVERS)('a body that never arrives, HTTP_SERVER=%s', server => {
  let gateway: Deployment
  beforeAll(async () => {
    gateway = await deploy({ HTTP_SERVER: server, ALLOW_CHUNKED_REQUESTS: 'true' })
  }, 120_000)
  afterAll(() => gateway?.stop())

  const LONG = 'Content-Length: 900000'
  const TOKENS = {
    missing: [],
    bad: ['Authorization: Bearer a.b.c'],
    malformed: ['Authorization: Basic abc'],
  }

  it.each(Object.keys(TOKENS) as (keyof typeof TOKENS)[])(
    'a %s token is refused with 401 before the body, over REST, JSON-RPC and at the control plane',
    async kind => {
      const api = gateway.running.addresses.api_url!
      const rest = ['/mcp/tools/call', '/mcp/v1/tools/invoke', '/mcp/v1/tools', '/mcp/tools/list']
      const asked = [
        ...[...rest, '/mcp', '/mcp/sse'].map(path => [gateway.url, path, [LONG]] as const),
        ...rest.map(path => [gateway.url, path, ['Content-Length: 10', 'Expect: 100-continue']] as const),
        ...rest.map(path => [gateway.url, path, ['Transfer-Encoding: chunked']] as const),
        [api, '/v1/tenants', [LONG]] as const,
        [api, '/v1/tenants', ['Content-Length: 10']] as const,
      ]
      const responses = await Promise.all(
        asked.map(([url, path, headers]) => headOnly(url, path, [...headers, ...TOKENS[kind]])),
      )
      for (const [at, response] of responses.entries())
        expect(response, `${asked[at]![1]} ${asked[at]![2]}`).toMatch(/HTTP\/1\.1 401 /)
    },
  )

  it.each([
    ['/mcp/tools/call', 'tools.call'],
    ['/mcp/v1/tools/invoke', 'tools.call'],
    ['/mcp/tools/list', 'tools.list'],
    ['/mcp/v1/tools', 'tools.list'],
    ['/mcp', 'session'],
  ])('a refusal before the body at %s is recorded and counted as %s', async (path, action) => {
    const requestId = `unread-${path.replaceAll('/', '-')}`
    expect(await headOnly(gateway.url, path, [LONG, `X-Request-ID: ${requestId}`])).toMatch(/ 401 /)
    const token = await gateway.token('demo-admin')
    const headers = { authorization: `Bearer ${token}` }
    const { json } = await read(
      await fetch(`${gateway.url}/admin/calls?request_id=${requestId}`, { headers }),
    )
    expect(json.calls).toMatchObject([{ action, tool: null, kind: 'refused', outcome: 'token_missing' }])
    expect(json.calls[0]).not.toHaveProperty('requested_tool')
    const metrics = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
    expect(metrics).toContain(`platform_outcomes_total{action="${action}",outcome="token_missing"} `)
  })

  it('a valid token waits for the body', async () => {
    const token = await gateway.token('demo-agent')
    const headers = [LONG, `Authorization: Bearer ${token}`]
    expect(await headOnly(gateway.url, '/mcp/tools/call', headers, SILENT_MS)).not.toMatch(/HTTP\/1\.1 [45]/)
  })

  it('a body that is too large for the control plane has the specified form of an error', async () => {
    const token = await gateway.token('demo-admin')
    const api = gateway.running.addresses.api_url!
    const authorization = `Authorization: Bearer ${token}`
    const declared = await headOnly(api, '/v1/tenants', ['Content-Length: 900000000', authorization])
    expect(declared).toMatch(/HTTP\/1\.1 413 /)
    const text = JSON.stringify({ name: 'x'.repeat(9_000_000) })
    const send = async (body: string | ReadableStream) =>
      await read(
        await fetch(`${api}/v1/tenants`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body,
          duplex: 'half',
        } as RequestInit),
      )
    const [sent, chunked] = [await send(text), await send(new Blob([text]).stream())]
    expect([sent.status, chunked.status]).toEqual([413, 413])
    for (const body of [sent.json, chunked.json, JSON.parse(declared.slice(declared.indexOf('{')))])
      expect(body).toEqual({
        error: { code: 'payload_too_large', message: expect.stringContaining('bytes'), details: [] },
      })
  })
})

describe('text and names', () => {
  let gateway: Deployment
  let admin: string
  let agent: string
  beforeAll(async () => {
    gateway = await deploy()
    admin = await gateway.token('demo-admin')
    agent = await gateway.token('demo-viewer')
  }, 120_000)
  afterAll(() => gateway?.stop())

  const control = async (method: string, path: string, body: string) =>
    read(
      await fetch(`${gateway.running.addresses.api_url}/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        body,
      }),
    )

  it.each(['\\ud800', '\\udc00x', 'a\\uD83D', '\\ude00\\ud83d'])(
    'half of a surrogate pair, %s, is refused with 400 that names the field',
    async half => {
      const api = `{"name":"${half}","upstream_url":"https://example.com","path":"/half"}`
      const created = await control('POST', '/tenants/acme/apis', api)
      expect(created.status, created.text).toBe(400)
      expect(created.json.error).toMatchObject({ code: 'validation_error', details: [{ field: 'name' }] })
      const spec = `{"name":"half","upstream_url":"https://example.com","path":"/half","spec":{"openapi":"3.1.0","info":{"title":"${half}","version":"1"},"paths":{}}}`
      const nested = await control('POST', '/tenants/acme/apis', spec)
      expect(nested.json.error).toMatchObject({
        code: 'validation_error',
        details: [{ field: 'spec.info.title' }],
      })
      const call = `{"name":"shop_listProducts","arguments":{"q":"${half}"}}`
      const rest = await gateway.post('/mcp/tools/call', call, admin)
      expect(rest.status).toBe(400)
      expect(rest.json).toMatchObject({ message: expect.stringContaining('/arguments/q') })
      const rpc = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${call}}`
      expect((await gateway.post('/mcp/sse', rpc, admin)).status).toBe(400)
    },
  )

  it('whole pairs are text', async () => {
    const name = '{"name":"\\ud83d\\ude00","upstream_url":"https://example.com","path":"/whole"}'
    const created = await control('POST', '/tenants/acme/apis', name)
    expect([created.status, created.json.name]).toEqual([201, '😀'])
  })

  it('consumers without limits are shown as unlimited', async () => {
    await gateway.post('/mcp/tools/call', { name: 'shop_listProducts', arguments: { limit: 1 } }, admin)
    const headers = { authorization: `Bearer ${admin}` }
    await fetch(`${gateway.url}/admin/cache/clear`, { method: 'POST', headers })
    const row = await read(await fetch(`${gateway.url}/admin/quotas/demo-admin`, { headers }))
    expect(row.json).toMatchObject({
      unlimited: true,
      daily_limit: null,
      daily_remaining: null,
      monthly_limit: null,
      monthly_remaining: null,
    })
    expect(row.json.daily_count).toBeGreaterThan(0)
  })

  it('calls of unknown tools use quota, and are refused when it is used up', async () => {
    const counted = async (): Promise<number> => {
      const response = await fetch(`${gateway.url}/admin/quotas/demo-viewer`, {
        headers: { authorization: `Bearer ${admin}` },
      })
      return response.status === 404 ? 0 : ((await response.json()) as { daily_count: number }).daily_count
    }
    await fetch(`${gateway.url}/admin/cache/clear`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}` },
    })
    const before = await counted()
    const call = () => gateway.post('/mcp/tools/call', { name: 'no_such_tool', arguments: {} }, agent)
    const first = await call()
    expect(first.status).toBe(404)
    expect(first.json).toMatchObject({ error: 'tool_not_found', message: 'Tool not found: no_such_tool' })
    await fetch(`${gateway.url}/admin/cache/clear`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}` },
    })
    expect(await counted()).toBe(before + 1)
    const statuses = (await Promise.all(Array.from({ length: 30 }, call))).map(response => response.status)
    expect(new Set(statuses)).toEqual(new Set([404, 429]))
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'no_such_tool' } }
    await new Promise(resolve => setTimeout(resolve, 1_100))
    const unknown = await gateway.post('/mcp/sse', rpc, agent)
    expect(unknown.json.error).toMatchObject({ code: -32602, message: 'Tool not found: no_such_tool' })
  })
})

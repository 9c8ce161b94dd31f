/** The legacy era on the wire: initialize and requests on both paths, sessions, batches, refusals, HTTP+SSE, streams, resumption, origins. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'

let gateway: Deployment
let admin: string
let viewer: string
beforeAll(async () => {
  gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
  ;[admin, viewer] = await Promise.all([gateway.token('demo-admin'), gateway.token('demo-viewer')])
})
afterAll(() => gateway.stop())

const BOTH = 'application/json, text/event-stream'
const initialize = (protocolVersion: string, capabilities = {}) =>
  rpc('initialize', { protocolVersion, capabilities, clientInfo: { name: 'test', version: '1' } })
const bearer = (token = admin) => ({ authorization: `Bearer ${token}` })

async function open(
  path: string,
  version: string,
  token: string | null = admin,
  capabilities = {},
): Promise<string> {
  const response = await gateway.post(path, initialize(version, capabilities), token ?? undefined, {
    accept: BOTH,
  })
  expect(response.status).toBe(200)
  return response.headers.get('mcp-session-id')!
}
const stream = async (path: string, headers: Record<string, string>) =>
  new EventReader(
    await fetch(`${gateway.url}${path}`, { headers: { accept: 'text/event-stream', ...headers } }),
  )
const CALL = { name: 'shop_listProducts', arguments: {} }

describe.each(['/mcp', '/mcp/sse', '/mcp/', '/mcp/sse/'])('POST %s', path => {
  it.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
  ])('initialize with %s settles on %s and mints a session', async (asked, settled) => {
    const response = await gateway.post(path, initialize(asked))
    expect(response.json.result).toMatchObject({ protocolVersion: settled, serverInfo: { name: 'toolgate' } })
    expect(response.json.result.capabilities).toMatchObject({
      tools: { listChanged: true },
      tokenOptimization: { supported: true, levels: ['none', 'moderate', 'aggressive'] },
      elicitation: {},
    })
    expect(response.headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]+$/)
  })

  it('responds to ping without a token, and not to a notification', async () => {
    expect((await gateway.post(path, rpc('ping'))).json.result).toEqual({})
    const notified = await gateway.post(path, { jsonrpc: '2.0', method: 'notifications/initialized' })
    expect([notified.status, notified.text]).toEqual([202, ''])
  })

  it('lists tools, resources and prompts with a token and challenges without', async () => {
    expect(
      (await gateway.post(path, rpc('tools/list'), admin)).json.result.tools.length,
    ).toBeGreaterThanOrEqual(12)
    expect((await gateway.post(path, rpc('resources/list'), admin)).json.result).toEqual({ resources: [] })
    expect((await gateway.post(path, rpc('prompts/list'), admin)).json.result).toEqual({ prompts: [] })
    const challenged = await gateway.post(path, rpc('tools/list'))
    expect(challenged.status).toBe(401)
    expect(challenged.json.error).toMatchObject({ code: 401, data: { error: 'unauthorized' } })
    expect(challenged.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${gateway.url}/.well-known/oauth-protected-resource${path}", scope="openid platform:read platform:execute"`,
    )
  })

  it('calls a tool', async () => {
    const response = await gateway.post(path, rpc('tools/call', CALL), admin)
    expect(response.json.result).toMatchObject({ isError: false, content: [{ type: 'text' }] })
  })

  it.each([
    ['an unknown tool', rpc('tools/call', { name: 'nope', arguments: {} }), 200, -32602, /nope/],
    ['an unknown method', rpc('no/such'), 200, -32601, /no\/such/],
    ['a removed method of a later era', rpc('server/discover'), 200, -32601, /./],
    ['bad params', rpc('tools/call', { name: 7 }), 200, -32602, /name/],
    ['broken JSON', '{"jsonrpc":', 400, -32700, /JSON/],
    ['no JSON-RPC', { hello: 1 }, 400, -32600, /jsonrpc/],
    ['an empty batch', [], 400, -32600, /empty/],
    ['initialize in a batch', [initialize('2025-03-26')], 400, -32600, /initialize/],
    ['a batch of 101', Array.from({ length: 101 }, () => rpc('ping')), 400, -32600, /100/],
  ])('responds with %s', async (_, body, status, code, message) => {
    const response = await gateway.post(path, body, admin)
    expect([response.status, response.json.error.code]).toEqual([status, code])
    expect(response.json.error.message).toMatch(message)
  })

  it('refuses other content types with 415 and unknown version headers with 400', async () => {
    expect((await gateway.post(path, rpc('ping'), undefined, { 'content-type': 'text/plain' })).status).toBe(
      415,
    )
    expect(
      (await gateway.post(path, rpc('ping'), undefined, { 'mcp-protocol-version': '2020-01-01' })).status,
    ).toBe(400)
  })
})

describe('a batch', () => {
  it('has a response or a refusal for each item that is not a notification', async () => {
    const items = [
      rpc('tools/call', CALL),
      rpc('ping'),
      rpc('tools/call', { name: 'nope' }),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      7,
    ]
    const response = await gateway.post('/mcp/sse', items, viewer)
    expect(response.status).toBe(200)
    expect(response.json).toHaveLength(4)
    expect(response.json.map((item: { error?: { code: number } }) => item.error?.code)).toEqual([
      403,
      undefined,
      -32602,
      -32600,
    ])
  })

  it('of notifications alone has no response, and exists in no later version', async () => {
    expect(
      (await gateway.post('/mcp', [{ jsonrpc: '2.0', method: 'notifications/initialized' }])).status,
    ).toBe(202)
    expect(
      (await gateway.post('/mcp', [rpc('ping')], undefined, { 'mcp-protocol-version': '2025-06-18' })).status,
    ).toBe(400)
  })
})

describe('refusals over JSON-RPC', () => {
  it('that a scope would lift carry status 403, the challenge and the REST body', async () => {
    const response = await gateway.post('/mcp/sse', rpc('tools/call', CALL), viewer)
    expect(response.status).toBe(403)
    expect(response.json.error).toMatchObject({
      code: 403,
      data: { error: 'forbidden', reasons: expect.any(Array), decision_id: expect.any(String) },
    })
    expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
  })

  it('name to the model what was wrong with its arguments from 2025-11-25 on', async () => {
    const bad = rpc('tools/call', { name: 'shop_getProduct', arguments: { productId: {} } })
    expect((await gateway.post('/mcp', bad, admin)).json.error.code).toBe(-32602)
    const late = await gateway.post('/mcp', bad, admin, { 'mcp-protocol-version': '2025-11-25' })
    expect(late.json.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/productId/) }],
    })
  })
})

describe('a session', () => {
  it('belongs to the principal that opened it', async () => {
    const id = await open('/mcp', '2025-06-18')
    const use = (token: string) => gateway.post('/mcp', rpc('tools/list'), token, { 'mcp-session-id': id })
    expect((await use(admin)).status).toBe(200)
    expect((await use(viewer)).status).toBe(404)
  })

  it('of an anonymous initialize belongs to the first who uses it', async () => {
    const id = await open('/mcp', '2025-06-18', null)
    const use = (token: string) => gateway.post('/mcp', rpc('tools/list'), token, { 'mcp-session-id': id })
    expect((await use(viewer)).status).toBe(200)
    expect((await use(admin)).status).toBe(404)
  })

  it.each(['header', 'query'])('named by %s ends by DELETE and is 404 from then on', async how => {
    const id = await open('/mcp/sse', '2025-06-18')
    const [path, headers] =
      how === 'header' ? ['/mcp/sse', { 'mcp-session-id': id }] : [`/mcp/sse?sessionId=${id}`, {}]
    const end = (token: string) =>
      fetch(`${gateway.url}${path}`, { method: 'DELETE', headers: { ...bearer(token), ...headers } })
    expect((await end(viewer)).status).toBe(404)
    expect((await end(admin)).status).toBe(200)
    expect((await end(admin)).status).toBe(404)
    expect((await gateway.post(path, rpc('tools/list'), admin, headers)).status).toBe(404)
    expect((await fetch(`${gateway.url}/mcp/sse`, { method: 'DELETE', headers: bearer() })).status).toBe(400)
  })

  it('named in the query responds in the POST while it has no stream', async () => {
    const id = await open('/mcp/sse', '2025-03-26')
    expect(
      (await gateway.post(`/mcp/sse?sessionId=${id}`, rpc('tools/list'), admin)).json.result.tools.length,
    ).toBeGreaterThan(0)
    expect((await gateway.post('/mcp/sse?sessionId=unknown', rpc('ping'), admin)).status).toBe(404)
  })
})

describe('GET', () => {
  it('is server metadata at /mcp without interest in a stream', async () => {
    expect((await read(await fetch(`${gateway.url}/mcp`))).json).toMatchObject({ name: 'toolgate' })
  })

  it('with a session but without a token is 405, so that no second login starts', async () => {
    const id = await open('/mcp', '2025-06-18')
    const response = await fetch(`${gateway.url}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': id },
    })
    expect(response.status).toBe(405)
    const legacy = await fetch(`${gateway.url}/mcp/sse`, { headers: { accept: 'text/event-stream' } })
    expect([legacy.status, legacy.headers.get('www-authenticate')?.slice(0, 6)]).toEqual([401, 'Bearer'])
  })

  it('opens one standalone stream per session', async () => {
    const id = await open('/mcp', '2025-06-18')
    const first = await stream('/mcp', { ...bearer(), 'mcp-session-id': id })
    expect(first.response.status).toBe(200)
    const second = await stream('/mcp', { ...bearer(), 'mcp-session-id': id })
    expect(second.response.status).toBe(409)
    await first.close()
    await second.close()
  })

  it('is 405 for the modern era', async () => {
    const response = await fetch(`${gateway.url}/mcp`, {
      headers: { ...bearer(), accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' },
    })
    expect(response.status).toBe(405)
  })
})

describe.each(['/mcp/sse', '/mcp'])('HTTP+SSE at %s', path => {
  it('names its endpoint first, responds on the stream, and ends with it', async () => {
    const events = await stream(path, bearer())
    const endpoint = (await events.message())!
    expect(endpoint.event).toBe('endpoint')
    expect(endpoint.data).toMatch(new RegExp(`^${path}\\?sessionId=`))
    const send = (body: unknown) => gateway.post(endpoint.data, body, admin, { accept: '*/*' })

    const accepted = await send(initialize('2024-11-05'))
    expect([accepted.status, accepted.text]).toEqual([202, 'Accepted'])
    expect((await events.json()).result.protocolVersion).toBe('2024-11-05')
    await send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await send(rpc('tools/list'))
    const { tools } = (await events.json()).result
    expect(Object.keys(tools[0]).sort()).toEqual(['description', 'inputSchema', 'name'])
    await send(rpc('tools/call', CALL))
    expect((await events.json()).result.isError).toBe(false)
    await send(rpc('tools/call', { name: 'nope' }))
    expect((await events.json()).error.code).toBe(-32602)

    await events.close()
    await expect.poll(async () => (await send(rpc('ping'))).status).toBe(404)
  })
})

describe('an unknown tool', () => {
  const namesOf = async (token: string): Promise<string[]> =>
    (await gateway.post('/mcp', rpc('tools/list'), token)).json.result.tools.map(
      ({ name }: { name: string }) => name,
    )
  /** An unknown tool takes a unit of the limit, which for the viewer is five a second. */
  const refusal = async (name: string, token: string): Promise<string> => {
    for (;;) {
      const { json } = await gateway.post('/mcp', rpc('tools/call', { name }), token)
      if (json.error !== undefined) return json.error.message
      await sleep(1000)
    }
  }

  it('is refused with near names, of tools that the caller may list only', async () => {
    const [all, seen] = [await namesOf(admin), await namesOf(viewer)]
    expect(await refusal('shop_listProduct', admin)).toBe(
      'Tool not found: shop_listProduct. Similar names: shop_listProducts, shop_getProduct.',
    )
    const hidden = all.filter(name => !seen.includes(name))
    expect(hidden.length).toBeGreaterThan(0)
    await gateway.post('/admin/quotas/demo-viewer/reset', {}, admin)
    for (const name of hidden.slice(0, 4)) {
      expect(await refusal(`${name}s`, admin)).toContain(name)
      expect(await refusal(`${name}s`, viewer)).not.toMatch(new RegExp(`[ ,]${name}[,.]`))
    }
  })
})

describe('a client of both eras over HTTP+SSE', () => {
  const key = 'io.modelcontextprotocol'
  const envelope = { [`${key}/protocolVersion`]: '2026-07-28', [`${key}/clientCapabilities`]: {} }
  const modernHeaders = (method: string) => ({
    accept: '*/*',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
  })

  it.each(['/mcp/sse', '/mcp'])('is notified on the stream of %s to fall back to initialize', async path => {
    const events = await stream(path, bearer())
    const address = (await events.message())!.data
    const probe = rpc('server/discover', { _meta: envelope }) as { id: number }
    const probed = await gateway.post(address, probe, admin, modernHeaders('server/discover'))
    expect([probed.status, probed.text]).toEqual([202, 'Accepted'])
    expect(await events.json()).toMatchObject({ id: probe.id, error: { code: -32601 } })

    expect((await gateway.post(address, initialize('2025-11-25'), admin)).status).toBe(202)
    expect((await events.json()).result.protocolVersion).toBe('2025-11-25')
    for (const [method, params] of [
      ['tools/list', {}],
      ['tools/call', CALL],
    ] as const) {
      // the transport of the session decides, whatever the request says of itself
      const body = rpc(method, { ...params, _meta: envelope }) as { id: number }
      expect((await gateway.post(address, body, admin, modernHeaders(method))).status).toBe(202)
      const message = await events.json(20_000)
      expect(message).toMatchObject({ id: body.id, result: {} })
      expect(message.result).not.toHaveProperty('resultType')
    }
    await events.close()
    await expect
      .poll(async () => (await gateway.post(address, probe, admin, modernHeaders('server/discover'))).status)
      .toBe(404)
  })

  const later = { ...envelope, [`${key}/protocolVersion`]: '2031-01-01' }
  it.each([
    ['_meta alone', { _meta: envelope }, {}, false],
    ['the header alone', {}, modernHeaders('server/discover'), false],
    ['a later version', { _meta: later }, { 'mcp-protocol-version': '2031-01-01' }, false],
    ['a broken _meta', { _meta: { [`${key}/protocolVersion`]: 1 } }, modernHeaders('server/discover'), false],
    ['an id of the session in the header too', { _meta: envelope }, modernHeaders('server/discover'), true],
    ['no sign of an era', {}, {}, false],
  ] as const)('a probe by %s falls back as well', async (_, params, headers, named) => {
    const events = await stream('/mcp/sse', bearer())
    const address = (await events.message())!.data
    const sessionId = new URL(address, gateway.url).searchParams.get('sessionId')!
    const extra = named ? { 'mcp-session-id': sessionId } : {}
    const probe = rpc('server/discover', params) as { id: number }
    const probed = await gateway.post(address, probe, admin, { accept: '*/*', ...headers, ...extra })
    expect(probed.status).toBe(202)
    expect(await events.json()).toMatchObject({ id: probe.id, error: { code: -32601 } })
    expect((await gateway.post(address, initialize('2025-11-25'), admin)).status).toBe(202)
    expect((await events.json()).result.protocolVersion).toBe('2025-11-25')
    await events.close()
  })

  it('is served by the modern era without a stream of that session', async () => {
    const id = await open('/mcp', '2025-11-25')
    const probe = rpc('server/discover', { _meta: envelope })
    const response = await gateway.post(
      `/mcp?sessionId=${id}`,
      probe,
      admin,
      modernHeaders('server/discover'),
    )
    expect([response.status, response.json.result.supportedVersions]).toEqual([200, ['2026-07-28']])
  })
})

describe('progress and resume', () => {
  const SLOW = { name: 'shop_runSalesReport', arguments: {} }

  it('reports progress of a streaming backend on the stream of the POST', async () => {
    const id = await open('/mcp', '2025-06-18')
    const body = rpc('tools/call', { ...SLOW, _meta: { progressToken: 'p' } })
    const response = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { ...bearer(), accept: BOTH, 'content-type': 'application/json', 'mcp-session-id': id },
      body: JSON.stringify(body),
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = new EventReader(response)
    const seen: number[] = []
    for (;;) {
      const message = await events.json()
      if (message.method !== 'notifications/progress') {
        expect(message.result.isError).toBe(false)
        break
      }
      expect(message.params.progressToken).toBe('p')
      seen.push(message.params.progress)
    }
    expect(seen.length).toBeGreaterThanOrEqual(3)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    expect(new Set(seen).size).toBe(seen.length)
  })

  it('hands over what a dropped connection missed, and the rest as it comes', async () => {
    const id = await open('/mcp', '2025-11-25')
    const headers = {
      ...bearer(),
      accept: BOTH,
      'content-type': 'application/json',
      'mcp-session-id': id,
      'mcp-protocol-version': '2025-11-25',
    }
    const body = rpc('tools/call', { ...SLOW, _meta: { progressToken: 1 } }) as { id: number }
    const first = new EventReader(
      await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) }),
    )
    const priming = (await first.message())!
    expect([priming.data, priming.id]).toEqual(['', expect.stringMatching(/_0$/)])
    const one = (await first.message())!
    await first.close()
    await new Promise(resolve => setTimeout(resolve, 100))

    const resumed = await stream('/mcp', {
      ...bearer(),
      'mcp-session-id': id,
      'mcp-protocol-version': '2025-11-25',
      'last-event-id': one.id!,
    })
    expect(resumed.response.status).toBe(200)
    const ids: string[] = []
    for (;;) {
      const event = (await resumed.message())!
      ids.push(event.id!)
      const message = JSON.parse(event.data)
      if (message.id === body.id) {
        expect(message.result.isError).toBe(false)
        break
      }
    }
    expect(ids.map(eventId => Number(eventId.split('_').at(-1)))).toEqual(ids.map((_, at) => at + 2))
    expect(await resumed.message()).toBeUndefined()
    const unknown = await stream('/mcp', {
      ...bearer(),
      'mcp-session-id': id,
      'last-event-id': 'AAAAAAAAAAAA_3',
    })
    expect(unknown.response.status).toBe(404)
    await unknown.close()
  })

  it('ends the stream of a cancelled call without a response, and takes no cancellation of another principal', async () => {
    const id = await open('/mcp', '2025-06-18')
    const headers = { ...bearer(), accept: BOTH, 'content-type': 'application/json', 'mcp-session-id': id }
    const body = rpc('tools/call', { ...SLOW, _meta: { progressToken: 1 } }) as { id: number }
    const events = new EventReader(
      await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) }),
    )
    await events.json()
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: body.id } }
    expect((await gateway.post('/mcp', cancelled, viewer, { 'mcp-session-id': id })).status).toBe(404)
    expect((await gateway.post('/mcp', cancelled, admin, { 'mcp-session-id': id })).status).toBe(202)
    for (;;) {
      const message = await events.json()
      if (message === undefined) break
      expect(message.method).toBe('notifications/progress')
    }
  })
})

describe('origins', () => {
  it('of other pages are refused, the own and listed ones are not', async () => {
    const evil = `https://evil.example/${'x'.repeat(200)}`
    const refused = await gateway.post('/mcp', rpc('ping'), undefined, { origin: evil })
    expect(refused.status).toBe(403)
    expect(refused.json).toMatchObject({
      error: 'forbidden_origin',
      message: `The origin "${evil.slice(0, 128)}" may not use this endpoint. Add the origin to CORS_ORIGINS.`,
    })
    expect(
      (await gateway.post('/mcp', rpc('ping'), undefined, { origin: 'http://localhost:3000' })).status,
    ).toBe(200)
    const own = await gateway.post('/mcp', rpc('ping'), undefined, { origin: new URL(gateway.url).origin })
    expect(own.headers.get('access-control-allow-origin')).toBe(new URL(gateway.url).origin)
  })
})

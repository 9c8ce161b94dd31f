/** The modern era (2026-07-28) on the wire: envelope, headers, results, progress, acknowledged subscriptions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'

const VERSION = '2026-07-28'
const KEY = 'io.modelcontextprotocol'

let gateway: Deployment
let admin: string
beforeAll(async () => {
  gateway = await deploy()
  admin = await gateway.token('demo-admin')
})
afterAll(() => gateway.stop())

let id = 0
function modern(
  method: string,
  params: Record<string, unknown> = {},
  meta: Record<string, unknown> = {},
): Record<string, unknown> {
  id++
  const _meta = { [`${KEY}/protocolVersion`]: VERSION, [`${KEY}/clientCapabilities`]: {}, ...meta }
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } }
}
function headersOf(
  body: Record<string, unknown>,
  extra: Record<string, string> = {},
): Record<string, string> {
  const { name } = (body.params ?? {}) as { name?: string }
  return {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': String(body.method),
    ...(name === undefined ? {} : { 'mcp-name': name }),
    ...extra,
  }
}
const send = (body: Record<string, unknown>, token?: string, extra: Record<string, string> = {}) =>
  gateway.post('/mcp', body, token, headersOf(body, extra))

describe('server/discover', () => {
  it('is public and lists modern versions alone', async () => {
    const response = await send(modern('server/discover'))
    expect(response.status).toBe(200)
    expect(response.json.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: [VERSION],
      capabilities: { tools: { listChanged: true } },
      ttlMs: expect.any(Number),
      cacheScope: 'public',
      _meta: { [`${KEY}/serverInfo`]: { name: 'toolgate' } },
    })
    expect(response.headers.get('mcp-session-id')).toBeNull()
  })
})

describe('results', () => {
  it('of lists are private and say how long they hold', async () => {
    for (const [method, field] of [
      ['tools/list', 'tools'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
      ['prompts/list', 'prompts'],
    ] as const) {
      const { result } = (await send(modern(method), admin)).json
      expect(result).toMatchObject({
        resultType: 'complete',
        ttlMs: expect.any(Number),
        cacheScope: 'private',
        [field]: expect.any(Array),
      })
    }
  })

  it('of calls are complete', async () => {
    const { result } = (await send(modern('tools/call', { name: 'shop_listProducts', arguments: {} }), admin))
      .json
    expect(result).toMatchObject({ resultType: 'complete', isError: false })
  })
})

describe('the ladder', () => {
  const call = () => modern('tools/call', { name: 'shop_listProducts', arguments: {} })
  it.each([
    ['no _meta at all', () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }), {}, 400, -32602],
    [
      'no capabilities',
      () => modern('tools/list', {}, { [`${KEY}/clientCapabilities`]: undefined }),
      {},
      400,
      -32602,
    ],
    [
      'versions that differ',
      () => modern('tools/list'),
      { 'mcp-protocol-version': '2027-01-01' },
      400,
      -32020,
    ],
    [
      'a version not served',
      () => modern('tools/list', {}, { [`${KEY}/protocolVersion`]: '2030-01-01' }),
      { 'mcp-protocol-version': '2030-01-01' },
      400,
      -32022,
    ],
    ['no version header', () => modern('tools/list'), { 'mcp-protocol-version': '' }, 400, -32020],
    ['no method header', () => modern('tools/list'), { 'mcp-method': '' }, 400, -32020],
    ['another method header', () => modern('tools/list'), { 'mcp-method': 'tools/call' }, 400, -32020],
    ['no name header', call, { 'mcp-name': '' }, 400, -32020],
    ['another name header', call, { 'mcp-name': 'other' }, 400, -32020],
    ['a broken base64 name', call, { 'mcp-name': '=?base64?%%?=' }, 400, -32020],
    [
      'initialize with a modern header alone',
      () => ({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } }),
      {},
      400,
      -32020,
    ],
    ['initialize in an envelope', () => modern('initialize'), {}, 404, -32601],
    ['ping', () => modern('ping'), {}, 404, -32601],
    ['an unknown method', () => modern('no/such'), {}, 404, -32601],
    ['an unknown tool', () => modern('tools/call', { name: 'nope', arguments: {} }), {}, 200, -32602],
    [
      'an unknown resource',
      () => modern('resources/read', { uri: 'x:y' }),
      { 'mcp-name': 'x:y' },
      200,
      -32602,
    ],
  ])('responds with %s', async (_, body, headers, status, code) => {
    const response = await send(body(), admin, headers)
    expect([response.status, response.json.error.code]).toEqual([status, code])
    expect(response.json.id).toBeDefined()
  })

  it('names what it serves when a version is not', async () => {
    const body = modern('tools/list', {}, { [`${KEY}/protocolVersion`]: '2030-01-01' })
    const { error } = (await send(body, admin, { 'mcp-protocol-version': '2030-01-01' })).json
    expect(error.data).toEqual({ supported: [VERSION], requested: '2030-01-01' })
  })

  it('takes a name in base64', async () => {
    const name = `=?base64?${Buffer.from('shop_listProducts').toString('base64')}?=`
    expect((await send(call(), admin, { 'mcp-name': name })).json.result.isError).toBe(false)
  })

  it('accepts and drops a notification, and refuses a batch and a posted response', async () => {
    const { id: _, ...notification } = modern('notifications/x')
    expect((await send(notification)).status).toBe(202)
    expect((await gateway.post('/mcp', [modern('tools/list')], admin)).status).toBe(400)
    expect((await send({ jsonrpc: '2.0', id: 1, result: {} }, admin)).status).toBe(400)
  })

  it('refuses a call without token like every era', async () => {
    expect((await send(modern('tools/list'))).status).toBe(401)
  })
})

describe('streams', () => {
  const open = async (body: Record<string, unknown>, signal?: AbortSignal) =>
    new EventReader(
      await fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${admin}`, ...headersOf(body) },
        body: JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    )

  it('have no ids, report progress and end with the result', async () => {
    const body = modern('tools/call', { name: 'shop_runSalesReport', arguments: {} }, { progressToken: 'p' })
    const events = await open(body)
    expect(events.response.headers.get('x-accel-buffering')).toBe('no')
    let progress = 0
    for (;;) {
      const event = (await events.message())!
      expect(event.id).toBeUndefined()
      const message = JSON.parse(event.data)
      if (message.id === body.id) {
        expect(message.result).toMatchObject({ resultType: 'complete', isError: false })
        break
      }
      progress++
    }
    expect(progress).toBeGreaterThanOrEqual(3)
  })

  it('acknowledge a subscription to changed tools, with its id', async () => {
    const body = modern('subscriptions/listen', {
      notifications: { toolsListChanged: true, promptsListChanged: true },
    })
    const events = await open(body)
    const first = await events.json()
    expect(first).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true }, _meta: { [`${KEY}/subscriptionId`]: body.id } },
    })
    await events.close()
  })
})

/** Two written forms of one thing are one thing: members that are left out, null or an empty list, first pages, addresses of resources, dead sessions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'

let gateway: Deployment
let admin: string
let session: Record<string, string>
const VERSION = '2025-06-18'
const initialize = rpc('initialize', {
  protocolVersion: VERSION,
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

beforeAll(async () => {
  gateway = await deploy({ SSE_LIMITER_ENABLED: 'false' })
  admin = await gateway.token('demo-admin')
  const opened = await gateway.post('/mcp', initialize, admin)
  session = { 'mcp-session-id': opened.headers.get('mcp-session-id')!, 'mcp-protocol-version': VERSION }
})
afterAll(() => gateway?.stop())

/** How clients say that there is nothing. */
const NOTHING: readonly (readonly [string, object])[] = [
  ['left out', {}],
  ['{}', { value: {} }],
  ['null', { value: null }],
  ['[]', { value: [] }],
]
const NO_OBJECT: readonly unknown[] = ['', 'x', 0, false, [1], [null]]
const as = (name: string, form: object) => ('value' in form ? { [name]: form.value } : {})

describe.each(NOTHING)('params that are %s', (_, form) => {
  it.each(['ping', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])(
    'are none for %s',
    async method => {
      const body = { jsonrpc: '2.0', id: 1, method, ...as('params', form) }
      const response = await gateway.post('/mcp', body, admin, session)
      expect([response.status, response.json.error]).toEqual([200, undefined])
      expect(response.json).toHaveProperty('result')
    },
  )

  it('are none for a notification', async () => {
    const body = { jsonrpc: '2.0', method: 'notifications/initialized', ...as('params', form) }
    expect((await gateway.post('/mcp', body, admin, session)).status).toBe(202)
  })
})

describe.each(NOTHING)('arguments that are %s', (_, form) => {
  const call = { name: 'shop_listProducts', ...as('arguments', form) }

  it('are none for tools/call', async () => {
    const { json } = await gateway.post('/mcp', rpc('tools/call', call), admin, session)
    expect(json.result).toMatchObject({ isError: false })
  })

  it.each(['/mcp/v1/tools/invoke', '/mcp/tools/call'])('are none for POST %s', async path => {
    const { status, json } = await gateway.post(path, call, admin)
    expect([status, json.isError]).toEqual([200, false])
  })

  it('are none for a simulated call', async () => {
    const body = { consumer: 'demo-admin', tool: call.name, ...as('arguments', form) }
    const { status, text } = await gateway.post('/admin/simulate', body, admin)
    expect(status, text).toBe(200)
  })
})

describe.each(NO_OBJECT)('%j', value => {
  it('is neither params nor arguments', async () => {
    const asParams = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: value }
    expect((await gateway.post('/mcp', asParams, admin, session)).json.error).toMatchObject({ code: -32600 })
    const call = { name: 'shop_listProducts', arguments: value }
    const called = await gateway.post('/mcp', rpc('tools/call', call), admin, session)
    expect(called.json.error).toMatchObject({ code: -32602 })
    expect((await gateway.post('/mcp/v1/tools/invoke', call, admin)).status).toBe(400)
  })
})

describe.each(['tools', 'prompts', 'resources', 'resources/templates', 'tasks'])('%s/list', kind => {
  it.each(['', null])('with the cursor %j is the first page', async cursor => {
    const method = `${kind}/list`
    const whole = await gateway.post('/mcp', rpc(method), admin, session)
    const first = await gateway.post('/mcp', rpc(method, { cursor }), admin, session)
    expect([first.json.result, first.json.error]).toEqual([whole.json.result, whole.json.error])
  })

  it.each([0, false, [], {}])('refuses the cursor %j', async cursor => {
    const { json } = await gateway.post('/mcp', rpc(`${kind}/list`, { cursor }), admin, session)
    expect(json.error.code).toBe(kind === 'tasks' ? -32601 : -32602)
  })
})

describe('initialize', () => {
  it.each(['', 'no-session', 'x'.repeat(500)])('with the dead session %j opens a new one', async id => {
    const { status, json, headers } = await gateway.post('/mcp', initialize, admin, { 'mcp-session-id': id })
    expect([status, json.result?.protocolVersion]).toEqual([200, VERSION])
    expect(headers.get('mcp-session-id')).not.toBe(id)
  })

  it('with a session that was ended opens a new one, and other messages are 404', async () => {
    const opened = await gateway.post('/mcp', initialize, admin)
    const ended = { 'mcp-session-id': opened.headers.get('mcp-session-id')!, 'mcp-protocol-version': VERSION }
    const headers = { authorization: `Bearer ${admin}`, ...ended }
    expect((await fetch(`${gateway.url}/mcp`, { method: 'DELETE', headers })).status).toBeLessThan(300)
    expect((await gateway.post('/mcp', rpc('tools/list'), admin, ended)).status).toBe(404)
    const again = await gateway.post('/mcp', initialize, admin, ended)
    expect(again.status).toBe(200)
    const renewed = { ...ended, 'mcp-session-id': again.headers.get('mcp-session-id')! }
    expect((await gateway.post('/mcp', rpc('tools/list'), admin, renewed)).status).toBe(200)
  })
})

describe('the document on a protected resource', () => {
  it.each(['', '/', '/mcp', '/mcp/', '/mcp/sse', '/mcp/sse/', '/mcp/shop', '/mcp/shop/'])(
    'of %j names the address that its client connects to',
    async path => {
      const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource${path}`)
      expect([response.status, ((await response.json()) as { resource: string }).resource]).toEqual([
        200,
        `${gateway.url}${path}`,
      ])
    },
  )

  it.each(['/mcp', '/mcp/', '/mcp/shop', '/mcp/shop/'])('is where a challenge at %s leads', async path => {
    const response = await gateway.post(path, rpc('tools/list'))
    expect(response.status).toBe(401)
    const url = /resource_metadata="([^"]+)"/.exec(response.headers.get('www-authenticate')!)![1]!
    const document = (await (await fetch(url)).json()) as { resource: string }
    expect(document.resource).toBe(`${gateway.url}${path}`)
  })
})

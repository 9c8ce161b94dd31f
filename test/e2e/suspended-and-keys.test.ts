/** A suspended tenant on both planes, and what an API key opens: REST, JSON-RPC, batch, lists and proxied paths of a running gateway. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rpc } from '../fixtures/deployment.ts'
import { EventReader } from '../fixtures/event-stream.ts'
import { type Subscribed, type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

let world: TwoTenants
let first: Subscribed
let second: Subscribed
let ofAcme: Subscribed
let token: string
let writer: string

/** Publication reaches the gateway within a second; the bound leaves time for a busy machine. */
const REACHES = { timeout: 15_000, interval: 20 }

beforeAll(async () => {
  world = await twoTenants()
  first = await world.subscribe(world.beta, '/first', 'listAll', 'app')
  second = await world.subscribe(world.beta, '/second', 'listAll', 'other-app')
  ofAcme = await world.subscribe(world.acme, '/first', 'listAll', 'app')
  token = await world.token({ id: 'app', tenant: 'beta' })
  writer = await world.token({ id: 'writer', tenant: 'beta', roles: ['tenant-admin'] })
})
afterAll(() => world?.stop())

const rest = (credential: string, name: string) =>
  world.call('POST', '/mcp/tools/call', credential, { name, arguments: {} })
const names = async (credential: string) => {
  const { json } = await world.call('POST', '/mcp/v1/tools', credential, {})
  return json.tools.map((tool: { name: string }) => tool.name)
}
const proxied = (credential: string, path: string) => world.call('GET', path, credential)

describe('an API key', () => {
  it('opens the tool and the path of the API that it was created for', async () => {
    await expect.poll(async () => (await rest(first.key, first.tool)).status, REACHES).toBe(200)
    await expect.poll(async () => (await rest(second.key, second.tool)).status, REACHES).toBe(200)
    expect((await proxied(first.key, '/t/beta/first/x')).status).toBe(200)
  })

  it('lists these tools and no other', async () => {
    expect(await names(first.key)).toEqual([first.tool])
    expect(await names(second.key)).toEqual([second.tool])
    const listed = await world.call('POST', '/mcp', first.key, rpc('tools/list', {}))
    expect(listed.json.result.tools.map((tool: { name: string }) => tool.name)).toEqual([first.tool])
    const ofToken = await names(token)
    expect(ofToken).toEqual(expect.arrayContaining([first.tool, second.tool]))
  })

  it('opens nothing else: REST, JSON-RPC, batch, proxied paths', async () => {
    const refused = await rest(first.key, second.tool)
    expect([refused.status, refused.json.error]).toEqual([403, 'forbidden'])
    const called = rpc('tools/call', { name: second.tool, arguments: {} })
    const single = (await world.call('POST', '/mcp', first.key, called)).json
    expect(single.result.isError).toBe(true)
    expect(single.result._meta['toolgate.dev/error'].error).toBe('forbidden')
    const batch = [called, { ...rpc('tools/call', { name: first.tool, arguments: {} }), id: 2 }]
    const items = (await world.call('POST', '/mcp', first.key, batch)).json
    expect(items.map((item: { result: { isError: boolean } }) => item.result.isError)).toEqual([true, false])
    for (const path of ['/t/beta/second', '/t/beta/second/x', '/t/acme/first'])
      expect((await proxied(first.key, path)).status, path).toBe(403)
    expect((await rest(first.key, 'shop_listProducts')).status).toBeGreaterThanOrEqual(403)
  })

  it('opens no tool that belongs to no API, though its tenant sees it', async () => {
    await expect.poll(async () => (await rest(ofAcme.key, ofAcme.tool)).status, REACHES).toBe(200)
    expect((await rest(ofAcme.key, 'shop_listProducts')).status).toBe(403)
    expect(await names(ofAcme.key)).toEqual([ofAcme.tool])
    const agent = await world.token({ id: 'agent', tenant: 'acme' })
    expect((await rest(agent, 'shop_listProducts')).status).toBe(200)
  })
})

describe('a suspended tenant', () => {
  const suspend = (status: 'suspended' | 'active') =>
    world.api('PATCH', `/tenants/${world.beta}`, world.root, { status })
  const codeOf = async (reply: Promise<{ status: number; json: { error?: unknown } }>) => {
    const { status, json } = await reply
    return [status, json.error]
  }
  let events: EventReader

  beforeAll(async () => {
    const opened = await world.call(
      'POST',
      '/mcp',
      token,
      rpc('initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 't', version: '1' },
      }),
    )
    events = new EventReader(
      await fetch(`${world.gateway.url}/mcp`, {
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'text/event-stream',
          'mcp-session-id': opened.headers.get('mcp-session-id')!,
        },
      }),
    )
  })
  afterAll(() => events?.close())

  it('is refused on calls of its tokens and keys, and its streams are notified and end', async () => {
    expect((await rest(token, first.tool)).status).toBe(200)
    const at = performance.now()
    expect((await suspend('suspended')).status).toBe(200)
    await expect.poll(() => codeOf(rest(token, first.tool)), REACHES).toEqual([403, 'tenant_suspended'])
    console.info(`suspended after ${Math.round(performance.now() - at)} ms`)
    expect(await codeOf(rest(first.key, first.tool))).toEqual([403, 'tenant_suspended'])
    for (const credential of [token, first.key])
      expect(await codeOf(proxied(credential, '/t/beta/first/x'))).toEqual([403, 'tenant_suspended'])
    const { json } = await world.call(
      'POST',
      '/mcp',
      token,
      rpc('tools/call', { name: first.tool, arguments: {} }),
    )
    expect(json.result.isError).toBe(true)
    expect(json.result._meta['toolgate.dev/error'].error).toBe('tenant_suspended')
    expect(await events.json(15_000)).toMatchObject({ method: 'notifications/tools/list_changed' })
    expect(await events.json(15_000)).toBeUndefined()
    expect(await names(token)).toEqual([])
  })

  it('cannot write in the control plane, nor can a platform admin write to it, but reads work', async () => {
    const base = `/tenants/${world.beta}`
    for (const [method, path, body] of [
      ['POST', `${base}/webhooks`, { url: 'https://hooks.example/x', events: ['*'] }],
      ['PATCH', `${base}/apis/${first.apiId}`, { name: 'Other' }],
      ['DELETE', `${base}/subscriptions/${first.subscriptionId}`, undefined],
      ['POST', '/plans', { slug: 'own', name: 'Own', tenant_id: world.beta }],
    ] as const)
      for (const caller of [writer, world.root]) {
        const reply = await world.api(method, path, caller, body)
        expect([reply.status, reply.json.error.code], `${method} ${path}`).toEqual([403, 'tenant_suspended'])
      }
    for (const path of [base, `${base}/apis`, `${base}/subscriptions`, `${base}/webhooks`, '/apis', '/plans'])
      expect((await world.api('GET', path, writer)).status, path).toBe(200)
    const itself = await world.token({ id: 'itself', tenant: 'beta', scope: 'platform:admin' })
    const raised = await world.api('PATCH', base, itself, { status: 'active' })
    expect([raised.status, raised.json.error.code]).toEqual([403, 'tenant_suspended'])
  })

  it('does not affect other tenants', async () => {
    expect((await rest(ofAcme.key, ofAcme.tool)).status).toBe(200)
    expect((await proxied(ofAcme.key, '/t/acme/first/x')).status).toBe(200)
  })

  it('is served again when it is active again', async () => {
    expect((await suspend('active')).status).toBe(200)
    await expect.poll(async () => (await rest(token, first.tool)).status, REACHES).toBe(200)
    expect((await rest(first.key, first.tool)).status).toBe(200)
    expect((await proxied(first.key, '/t/beta/first/x')).status).toBe(200)
    expect(
      (await world.api('PATCH', `/tenants/${world.beta}/apis/${first.apiId}`, writer, { name: 'Other' }))
        .status,
    ).toBe(200)
  })
})

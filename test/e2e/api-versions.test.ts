/** Versions of an API under one path: chosen by callers, announced as deprecated, ended, and their subscriptions migrated; over the wire. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rpc } from '../fixtures/deployment.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

/** Publication reaches the gateway within a second; the bound leaves time for a busy machine. */
const REACHES = { timeout: 15_000, interval: 20 }
const LINK = 'https://docs.example/orders'

let world: TwoTenants
let receiver: { readonly url: string; readonly events: { event: string; data: unknown }[]; close(): void }
/** Version → id of the API, by choice. */
const ids: Record<string, string> = {}
let key: string
let subscriptionId: string

async function made(path: string, body: unknown) {
  const reply = await world.api('POST', `/tenants/${world.beta}${path}`, world.root, body)
  expect(reply.status, reply.text).toBeLessThan(300)
  return reply.json
}

function document(tool: string) {
  const responses = { 200: { description: 'ok' } }
  const paths = { '/things': { get: { operationId: tool, summary: 'Lists things', responses } } }
  return { openapi: '3.1.0', info: { title: tool, version: '1' }, paths }
}

async function version(path: string, label: string, versioning: object) {
  const upstream_url = `${world.upstreamUrl}/${path.slice(1)}-${label}`
  const fields = { name: `${path} ${label}`, path, version: label, upstream_url, versioning }
  ids[`${path}@${label}`] = (await made('/apis', { ...fields, spec: document('listAll') })).id
}

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${world.gateway.url}/t/beta${path}`, {
    headers: { 'x-api-key': key, ...headers },
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    served: text.match(/"path":"([^"]*)"/)?.[1],
  }
}

const patch = async (api: string, body: object) => {
  const reply = await world.api('PATCH', `/tenants/${world.beta}/apis/${ids[api]}`, world.root, body)
  expect(reply.status, reply.text).toBe(200)
  return reply.json
}

beforeAll(async () => {
  world = await twoTenants({ WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' })
  const events: { event: string; data: unknown }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request
      .on('data', part => (text += part))
      .on('end', () => {
        events.push(JSON.parse(text))
        response.end()
      })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    events,
    close: () => server.close(),
  }
  await version('/orders', 'v1', { by: 'header', default: true })
  await version('/orders', 'v2', { by: 'header' })
  await version('/items', 'v1', { by: 'path' })
  await version('/items', 'v2', { by: 'path', default: true })
  const request = { api_id: ids['/orders@v1'], plan: 'gold', application: 'app' }
  subscriptionId = (await made('/subscriptions', request)).id
  key = (await made(`/subscriptions/${subscriptionId}/approve`, {})).api_key
  await made('/webhooks', { url: receiver.url, events: ['subscription.migrated'] })
})
afterAll(async () => {
  receiver?.close()
  await world?.stop()
})

describe('versions of one path', () => {
  it('are chosen by a header, and the default serves requests without one', async () => {
    await expect.poll(async () => (await get('/orders/x')).status, REACHES).toBe(200)
    const unnamed = await get('/orders/x')
    expect(unnamed).toMatchObject({ status: 200, served: '/orders-v1/x' })
    expect(unnamed.headers.get('vary')).toContain('x-api-version')
    expect((await get('/orders/x', { 'x-api-version': 'v1' })).served).toBe('/orders-v1/x')
    const other = await get('/orders/x', { 'x-api-version': 'v2' })
    expect([other.status, JSON.parse(other.text).error]).toEqual([403, 'forbidden'])
    const unknown = await get('/orders/x', { 'x-api-version': 'v9' })
    expect(unknown.status).toBe(400)
    expect(JSON.parse(unknown.text).message).toBe(
      'The request names a version that does not exist. Send the header x-api-version with one of these versions: v1, v2.',
    )
  })

  it('are chosen by the path, of which the default needs no version', async () => {
    await patch('/items@v1', { auth_required: false })
    await patch('/items@v2', { auth_required: false })
    const served = async (path: string) => (await get(path)).served
    await expect.poll(() => served('/items/v1/x'), REACHES).toBe('/items-v1/x')
    await expect.poll(() => served('/items/v2/x'), REACHES).toBe('/items-v2/x')
    expect(await served('/items/x')).toBe('/items-v2/x')
  })

  it('may be asked for by pages: a preflight allows the header', async () => {
    const headers = { origin: world.gateway.url, 'access-control-request-method': 'GET' }
    const response = await fetch(`${world.gateway.url}/t/beta/orders/x`, { method: 'OPTIONS', headers })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-headers')).toContain('x-api-version')
  })

  it('have one default, which moves', async () => {
    await patch('/orders@v2', { versioning: { by: 'header', default: true } })
    const versionings = await Promise.all(
      ['v1', 'v2'].map(async label => {
        const path = `/tenants/${world.beta}/apis/${ids[`/orders@${label}`]}`
        return (await world.api('GET', path, world.root)).json.versioning.default
      }),
    )
    expect(versionings).toEqual([false, true])
    await expect.poll(async () => (await get('/orders/x')).status, REACHES).toBe(403)
    await patch('/orders@v1', { versioning: { by: 'header', default: true } })
    await expect.poll(async () => (await get('/orders/x')).status, REACHES).toBe(200)
  })

  it.each([
    ['the same version twice', { path: '/orders', version: 'v2', versioning: { by: 'header' } }],
    ['a choice by path beside one by header', { path: '/orders', version: 'v3', versioning: { by: 'path' } }],
    ['an API without versions at the path', { path: '/orders', version: 'v3' }],
    ['an API at the path of a version', { path: '/items/v1', version: 'v1' }],
  ])('refuse %s', async (_what, fields) => {
    const body = { name: 'other', upstream_url: world.upstreamUrl, ...fields }
    const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
    expect([reply.status, reply.json.error.code]).toEqual([409, 'conflict'])
  })

  it('refuse a label that cannot be chosen', async () => {
    const body = {
      name: 'o',
      upstream_url: world.upstreamUrl,
      path: '/o',
      version: 'a b',
      versioning: { by: 'path' },
    }
    const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
    expect([reply.status, reply.json.error.details[0].field]).toEqual([400, 'version'])
  })
})

describe('the end of a version', () => {
  const sunset_at = '2099-06-30T22:00:00.000Z'

  it('is announced with every response, refusals included, and in the tools', async () => {
    const changed = await patch('/orders@v1', {
      status: 'deprecated',
      deprecation: { sunset_at, link: LINK },
    })
    const since = Math.floor(Date.parse(changed.deprecated_at) / 1000)
    const notices = (headers: Headers) => ['deprecation', 'sunset', 'link'].map(name => headers.get(name))
    const expected = [
      `@${since}`,
      'Tue, 30 Jun 2099 22:00:00 GMT',
      `<${LINK}>; rel="deprecation sunset"; type="text/html"`,
    ]
    await expect.poll(async () => notices((await get('/orders/x')).headers), REACHES).toEqual(expected)
    const refused = await get('/orders/x', { 'x-api-key': 'tgk_unknown' })
    expect([refused.status, ...notices(refused.headers)]).toEqual([401, ...expected])
    expect(notices((await get('/items/x')).headers)).toEqual([null, null, null])
    const listed = async (name: string): Promise<{ description: string; _meta?: object } | undefined> => {
      const { tools } = (await world.call('POST', '/mcp/v1/tools', key, {})).json
      return tools.find((tool: { name: string }) => tool.name === name)
    }
    // the tools of a document follow when they are compiled
    await expect
      .poll(() => listed('orders_v1_listAll'), REACHES)
      .toMatchObject({
        description: 'Deprecated: the sunset date of the API is 2099-06-30. Lists things',
        _meta: {
          'toolgate.dev/deprecation': { deprecated_at: changed.deprecated_at, sunset_at, link: LINK },
        },
      })
    expect((await listed('orders_v2_listAll'))?._meta).toBeUndefined()
  })

  it('is the end: calls and tools are refused with 410 where the owner chose so', async () => {
    const past = { sunset_at: '2020-01-02T03:04:05+02:00', after_sunset: 'refuse', link: LINK }
    await patch('/orders@v1', { deprecation: past })
    await expect.poll(async () => (await get('/orders/x')).status, REACHES).toBe(410)
    const message = `This API was shut down on 2020-01-02. Call another version of the API. See ${LINK}.`
    expect(JSON.parse((await get('/orders/x')).text)).toMatchObject({ error: 'gone', message })
    const tool = { name: 'orders_v1_listAll', arguments: {} }
    expect((await world.call('POST', '/mcp/tools/call', key, tool)).status).toBe(410)
    const called = await world.call('POST', '/mcp', key, rpc('tools/call', tool))
    expect(called.json.result).toMatchObject({ isError: true })
    expect(called.text).toContain('shut down on 2020-01-02')
    await patch('/orders@v1', { deprecation: { ...past, after_sunset: 'serve' } })
    await expect.poll(async () => (await get('/orders/x')).status, REACHES).toBe(200)
  })

  it('is taken back with the status', async () => {
    await patch('/orders@v1', { status: 'active', deprecation: null })
    await expect.poll(async () => (await get('/orders/x')).headers.get('deprecation'), REACHES).toBeNull()
  })
})

describe('the migration of subscriptions', () => {
  it('moves them with their keys, in one operation with events and audit', async () => {
    const taken = { api_id: ids['/orders@v2'], plan: 'gold', application: 'both' }
    await made('/subscriptions', taken)
    const { id: skipped } = await made('/subscriptions', { ...taken, api_id: ids['/orders@v1'] })
    const body = { to_api_id: ids['/orders@v2'], reason: 'v1 ends' }
    const done = await made(`/apis/${ids['/orders@v1']}/migrate`, body)
    expect(done).toEqual({
      migrated: 1,
      remaining: 0,
      skipped: [{ subscription_id: skipped, application: 'both' }],
    })
    const served = async () => (await get('/orders/x', { 'x-api-version': 'v2' })).served
    await expect.poll(served, REACHES).toBe('/orders-v2/x')
    expect((await get('/orders/x')).status).toBe(403)
    await expect.poll(() => receiver.events.length, REACHES).toBe(1)
    expect(receiver.events[0]).toMatchObject({
      event: 'subscription.migrated',
      data: {
        subscription_id: subscriptionId,
        api_id: ids['/orders@v2'],
        from_api_id: ids['/orders@v1'],
        from_version: 'v1',
        to_version: 'v2',
        reason: 'v1 ends',
      },
    })
    const records = await world.api('GET', `/audit?resource_id=${subscriptionId}&limit=1`, world.root)
    expect(records.json.items[0]).toMatchObject({
      action: 'control.subscriptions.migrate',
      before: { api_id: ids['/orders@v1'] },
      after: { api_id: ids['/orders@v2'] },
    })
    expect(await made(`/apis/${ids['/orders@v1']}/migrate`, body)).toMatchObject({ migrated: 0 })
  })
})

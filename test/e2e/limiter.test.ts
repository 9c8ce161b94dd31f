/** The limits of docs/reference/http.md, SSE connection limits, except IDLE_TIMEOUT, at their border over HTTP; with their defaults, except MAX_TOTAL. */
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { type Deployment, deploy, post, read } from '../fixtures/deployment.ts'
import { type OpenedStream, openStream } from '../fixtures/open-streams.ts'

let gateway: Deployment
let admin: string
let opened: OpenedStream[] = []

async function begin(env: Record<string, string>): Promise<void> {
  gateway = await deploy({ SSE_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8', TEST_HOOKS: '1', ...env })
  admin = await gateway.token('demo-admin')
}

async function open(
  forwardedFor: string,
  tenant = 'acme',
  credential: Record<string, string> = { authorization: `Bearer ${admin}` },
): Promise<OpenedStream> {
  const stream = await openStream(gateway.url, {
    ...credential,
    'x-tenant-id': tenant,
    ...(forwardedFor === '' ? undefined : { 'x-forwarded-for': forwardedFor }),
  })
  opened.push(stream)
  return stream
}

async function openMany(count: number, addressOf: (at: number) => string, tenant?: string): Promise<void> {
  for (let at = 0; at < count; at++) expect((await open(addressOf(at), tenant)).status).toBe(200)
}

function expectRefused(stream: OpenedStream, message: RegExp): void {
  expect(stream).toMatchObject({ status: 429, retryAfter: '60' })
  expect(stream.refusal).toMatchObject({ error: 'too_many_connections' })
  expect(stream.refusal?.message).toMatch(message)
}

async function closeAll(): Promise<void> {
  await Promise.all(opened.map(stream => stream.close()))
  opened = []
  await expect.poll(() => gauge('platform_streams'), { timeout: 20_000 }).toBe(0)
}

async function gauge(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
  const line = text.split('\n').find(row => row.startsWith(`${name} `) || row.startsWith(`${name}{`))
  return Number(line?.split(' ')[1] ?? 0)
}

/** It does not expire, as the tokens of an hour do. */
async function newKey(): Promise<string> {
  const v1 = `${gateway.running.addresses.api_url}/v1`
  const tenants = await read(await fetch(`${v1}/tenants`, { headers: { authorization: `Bearer ${admin}` } }))
  const acme = `${v1}/tenants/${tenants.json.items[0].id}`
  const api = await post(`${acme}/apis`, { name: 'x', path: '/x', upstream_url: gateway.url }, admin)
  const asked = { api_id: api.json.id, plan: 'enterprise', application: 'x' }
  const { json } = await post(`${acme}/subscriptions`, asked, admin)
  const approved = await post(`${acme}/subscriptions/${json.id}/approve`, {}, admin)
  return approved.json.api_key
}

const advance = async (by: string): Promise<void> => {
  const { status } = await post(`${gateway.running.addresses.api_url}/test/clock`, { advance: by })
  expect(status).toBe(200)
}

describe('as specified', () => {
  afterAll(() => gateway?.stop())
  afterEach(closeAll)

  it('RATE_LIMIT_PER_MIN: 5 new connections of an address in a minute, whether they are still open or not', async () => {
    await begin({})
    for (let at = 0; at < 5; at++) {
      const stream = await open('192.0.2.1')
      expect(stream.status).toBe(200)
      await stream.close()
    }
    expectRefused(await open('192.0.2.1'), /within a minute/)
    expect((await open('192.0.2.2')).status).toBe(200)
    await advance('40s')
    expectRefused(await open('192.0.2.1'), /within a minute/)
    await advance('20s')
    expect((await open('192.0.2.1')).status).toBe(200)
  })

  it('counts the standalone stream of a session like any other', async () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    }
    const session = (await gateway.post('/mcp', initialize, admin)).headers.get('mcp-session-id')!
    await openMany(5, () => '192.0.2.3')
    const standalone = await openStream(gateway.url, {
      authorization: `Bearer ${admin}`,
      'mcp-session-id': session,
      'x-forwarded-for': '192.0.2.3',
    })
    expectRefused(standalone, /within a minute/)
  })

  it('takes the rightmost address that no trusted proxy vouches for, and the connection where there is none', async () => {
    await openMany(5, at => `203.0.113.${at}, 192.0.2.4, 10.1.2.3`)
    expectRefused(await open('192.0.2.4'), /within a minute/)
    expect((await open('203.0.113.1')).status).toBe(200)
    await openMany(5, () => '')
    expectRefused(await open('127.0.0.1'), /within a minute/)
  })

  it('never rejects a request that does not open a stream', async () => {
    await openMany(5, () => '192.0.2.5')
    const headers = { 'x-forwarded-for': '192.0.2.5', accept: 'application/json, text/event-stream' }
    for (let at = 0; at < 10; at++) {
      const response = await gateway.post(
        '/mcp',
        { jsonrpc: '2.0', id: at, method: 'tools/list' },
        admin,
        headers,
      )
      expect(response.status).toBe(200)
    }
  })

  it('asks for a token before it counts', async () => {
    const anonymous = () =>
      fetch(`${gateway.url}/mcp/sse`, {
        headers: { accept: 'text/event-stream', 'x-forwarded-for': '192.0.2.6' },
      })
    for (let at = 0; at < 7; at++) expect((await anonymous()).status).toBe(401)
    await openMany(5, () => '192.0.2.6')
  })

  it('MAX_DURATION: an hour, then the stream is closed', async () => {
    const key = { 'x-api-key': await newKey() }
    await expect.poll(async () => (await open('192.0.2.8', 'acme', key)).status).toBe(200)
    const stream = await open('192.0.2.7', 'acme', key)
    let ended = false
    void stream.ended.then(() => {
      ended = true
    })
    await advance('59m')
    await new Promise(resolve => setTimeout(resolve, 2500))
    expect(ended).toBe(false)
    await advance('1m1s')
    await stream.ended
    await expect.poll(() => gauge('platform_streams_ended_total{reason="max_duration"}')).toBe(2)
  })
})

describe('with capacity for many new connections', () => {
  afterAll(() => gateway?.stop())

  it('MAX_PER_IP 10, MAX_PER_TENANT 100, MAX_TOTAL: each at its border, and free again when one closes', async () => {
    await begin({ RATE_LIMIT_PER_MIN: '1000', MAX_TOTAL: '112' })
    await openMany(10, () => '192.0.2.1')
    expectRefused(await open('192.0.2.1'), /from this IP address/)
    await openMany(90, at => `192.0.2.${10 + Math.floor(at / 10)}`)
    expectRefused(await open('192.0.2.99'), /for this tenant/)
    await openMany(12, at => `198.51.100.${at}`, 'other')
    expectRefused(await open('198.51.100.99', 'other'), /streams are open\./)

    await opened[0]!.close()
    await expect.poll(() => gauge('platform_streams'), { timeout: 20_000 }).toBe(111)
    expect((await open('192.0.2.1')).status).toBe(200)
    for (const [reason, count] of [
      ['ip', 1],
      ['tenant', 1],
      ['total', 1],
    ])
      expect(await gauge(`platform_streams_refused_total{reason="${reason}"}`)).toBe(count)
    await closeAll()
  })
})

describe.each(['1', '2'])('consumers of a tenant, with %s threads', workers => {
  afterAll(() => gateway?.stop())

  async function subscribe(credential: Record<string, string>): Promise<Response> {
    const method = 'subscriptions/listen'
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const params = { notifications: { toolsListChanged: true }, _meta }
    return fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        ...credential,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'x-forwarded-for': '192.0.2.1',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
    })
  }

  it('one with all streams loses its newest to one that has none, until both have as many; streams opened by POST count', async () => {
    await begin({ MAX_PER_TENANT: '4', MAX_PER_IP: '1000', RATE_LIMIT_PER_MIN: '100', WORKERS: workers })
    const key = { 'x-api-key': await newKey() }
    await openMany(4, () => '192.0.2.1')
    const [, , third, fourth] = opened
    expectRefused(await open('192.0.2.1'), /for this tenant/)
    await expect.poll(async () => (await open('192.0.2.2', 'acme', key)).status).toBe(200)
    await fourth!.ended
    const listening = await subscribe(key)
    expect(listening.status).toBe(200)
    await third!.ended
    expectRefused(await open('192.0.2.2', 'acme', key), /for this tenant/)
    const refused = await subscribe(key)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(await refused.json()).toMatchObject({
      id: 7,
      error: { code: -32_000, data: { error: 'too_many_connections' } },
    })
    await expect.poll(() => gauge('platform_streams_ended_total{reason="share_exceeded"}')).toBe(2)
    await listening.body!.cancel()
    await expect.poll(async () => (await open('192.0.2.2', 'acme', key)).status).toBe(200)
    await closeAll()
  })
})

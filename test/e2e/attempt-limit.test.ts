/** Failed and unauthenticated attempts of one address over HTTP: what counts, who is refused, when the limit ends; and the bound of registrations. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, post, type ReadResponse, read } from '../fixtures/deployment.ts'

const PER_MINUTE = 5
let gateway: Deployment
let admin: string

beforeAll(async () => {
  gateway = await deploy({
    SSE_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8',
    PRE_AUTH_RATE_PER_MIN: String(PER_MINUTE),
    REGISTRATION_RATE_PER_MIN: '2',
    TEST_HOOKS: '1',
  })
  admin = await gateway.token('demo-admin')
}, 120_000)
afterAll(() => gateway?.stop())

const from = (address: string) => ({ 'x-forwarded-for': address })
const get = async (path: string, address: string) =>
  read(await fetch(`${gateway.url}${path}`, { headers: from(address) }))
const list = (address: string, token?: string) => gateway.post('/mcp/v1/tools', {}, token, from(address))

async function times(count: number, attempt: () => Promise<{ readonly status: number }>): Promise<number[]> {
  const statuses: number[] = []
  for (let at = 0; at < count; at++) statuses.push((await attempt()).status)
  return statuses
}

const LIST = { jsonrpc: '2.0', id: 7, method: 'tools/list' }

describe('an address with failed logins', () => {
  const address = '192.0.2.1'

  it('is refused before authentication, over REST and JSON-RPC, with the time to wait', async () => {
    const begunAtMs = performance.now()
    /** 12 s, less what has passed since the first attempt. */
    function expectWait({ status, headers }: ReadResponse): void {
      expect(status).toBe(429)
      const leastSecs = Math.ceil(12 - (performance.now() - begunAtMs) / 1000)
      const secs = Number(headers.get('retry-after'))
      expect(secs).toBeLessThanOrEqual(12)
      expect(secs).toBeGreaterThanOrEqual(leastSecs)
    }
    expect(await times(PER_MINUTE, () => list(address))).toEqual(Array(PER_MINUTE).fill(401))
    const rest = await list(address, admin)
    expectWait(rest)
    expect(rest.json).toEqual({
      error: 'too_many_attempts',
      message: expect.any(String),
      request_id: expect.any(String),
    })
    const rpc = await gateway.post('/mcp', LIST, admin, from(address))
    expectWait(rpc)
    expect(rpc.json).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: 429, data: { error: 'too_many_attempts' } },
    })
  })

  it('still reaches the health addresses, and does not affect another address', async () => {
    for (const path of ['/health', '/ready', '/mcp/health'])
      expect((await get(path, address)).status).toBe(200)
    expect((await list('192.0.2.2', admin)).status).toBe(200)
  })

  it('gets one attempt back after a fifth of a minute', async () => {
    await post(`${gateway.running.addresses.api_url}/test/clock`, { advance: '13s' })
    expect((await list(address, admin)).status).toBe(200)
    expect((await list(address)).status).toBe(401)
    expect((await list(address)).status).toBe(429)
  })
})

it('a recorded call has the address of the client, not that of the trusted proxy', async () => {
  const headers = { ...from('192.0.2.77'), 'x-request-id': 'through-a-proxy' }
  expect((await gateway.post('/mcp/v1/tools', {}, undefined, headers)).status).toBe(401)
  const asked = { headers: { authorization: `Bearer ${admin}` } }
  const show = async (path: string) =>
    (await read(await fetch(`${gateway.url}/admin/calls${path}`, asked))).json
  const { calls } = await show('?request_id=through-a-proxy')
  expect((await show(`/${calls[0].id}`)).client_address).toBe('192.0.2.77')
})

describe('what counts', () => {
  it('does not include successful calls', async () => {
    const statuses = await times(4 * PER_MINUTE, () => list('192.0.2.3', admin))
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  it.each([
    [
      'unknown tools',
      '192.0.2.4',
      (address: string) =>
        gateway.post('/mcp/tools/call', { name: 'no_such_tool', arguments: {} }, admin, from(address)),
    ],
    [
      'discovery documents',
      '192.0.2.5',
      (address: string) => get('/.well-known/oauth-protected-resource', address),
    ],
    [
      'failed token requests',
      '192.0.2.7',
      async (address: string) =>
        read(
          await fetch(`${gateway.url}/oauth/token`, {
            method: 'POST',
            body: new URLSearchParams({
              grant_type: 'client_credentials',
              client_id: 'x',
              client_secret: 'y',
            }),
            headers: from(address),
          }),
        ),
    ],
    ['tokens that are not valid', '2001:db8::1', (address: string) => list(address, 'a.b.c')],
  ])('includes %s', async (_, address, attempt) => {
    const statuses = await times(PER_MINUTE + 1, () => attempt(address))
    expect(statuses.slice(0, -1)).not.toContain(429)
    expect(statuses.at(-1)).toBe(429)
    expect((await list(address, admin)).status).toBe(429)
  })

  it('counts an IPv6 /64 as one client', async () => {
    expect((await list('2001:db8:0:0:ffff::2', admin)).status).toBe(429)
    expect((await list('2001:db8:0:1::1', admin)).status).toBe(200)
  })
})

it('does not limit loopback or trusted addresses', async () => {
  for (const address of ['10.1.2.3', '127.0.0.1'])
    expect(new Set(await times(3 * PER_MINUTE, () => list(address)))).toEqual(new Set([401]))
})

it('counts the refused requests', async () => {
  const text = await (await fetch(`${gateway.running.addresses.metrics_url}/metrics`)).text()
  expect(Number(/^platform_attempts_refused_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(5)
})

describe('an address that registers clients', () => {
  const register = (address: string) =>
    gateway.post('/oauth/register', { redirect_uris: ['https://a.example/cb'] }, undefined, from(address))

  it('is refused beyond its own bound, which is smaller, and affects neither its calls nor other addresses', async () => {
    const address = '192.0.2.77'
    expect(await times(2, () => register(address))).toEqual([201, 201])
    const refused = await register(address)
    expect([refused.status, refused.json.error]).toEqual([429, 'temporarily_unavailable'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await list(address, admin)).status).toBe(200)
    expect((await register('192.0.2.78')).status).toBe(201)
  })
})

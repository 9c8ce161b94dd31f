/** Rules of one API for its proxied calls, over the wire: methods, size, timeout and headers. Other APIs have none of them. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

/** Publication reaches the gateway within a second; the bound leaves time for a busy machine. */
const REACHES = { timeout: 15_000, interval: 20 }
const MAX_BYTES = 1000

let world: TwoTenants
let upstream: Server
let seen: { method: string; headers: IncomingHttpHeaders; bytes: number }[] = []

beforeAll(async () => {
  // the older native parser accepts no chunked requests
  world = await twoTenants({ HTTP_SERVER: 'node' })
  upstream = createServer((request, response) => {
    let bytes = 0
    request.on('error', () => {})
    request.on('data', part => (bytes += part.length))
    request.on('end', () => {
      seen.push({ method: request.method!, headers: request.headers, bytes })
      if (request.url!.endsWith('/slow')) return
      response
        .writeHead(200, { 'x-powered-by': 'old', 'cache-control': 'no-store', 'x-kept': 'yes' })
        .end('ok')
    })
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  const upstream_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const traffic = {
    methods: ['GET', 'POST'],
    max_request_bytes: MAX_BYTES,
    timeout_ms: 60_000,
    request_headers: { set: { 'x-team': 'orders' }, remove: ['x-debug'] },
    response_headers: { set: { 'cache-control': 'private, max-age=60' }, remove: ['x-powered-by'] },
  }
  for (const [path, rules] of [
    ['/ruled', traffic],
    ['/free', null],
    ['/timed', { ...traffic, timeout_ms: 300 }],
  ] as const) {
    const body = { name: path, path, upstream_url, auth_required: false, traffic: rules }
    const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
    expect(reply.status, reply.text).toBe(201)
    if (rules !== null) expect(reply.json.traffic).toMatchObject(rules)
  }
})
afterAll(async () => {
  await world?.stop()
  upstream?.closeAllConnections()
  upstream?.close()
})

async function call(path: string, init: RequestInit = {}) {
  seen = []
  const headers = { authorization: `Bearer ${world.root}`, ...(init.headers as object) }
  const response = await fetch(`${world.gateway.url}/t/beta${path}`, { ...init, headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

it('an API without rules is called with every method and size', async () => {
  await expect.poll(async () => (await call('/free')).status, REACHES).toBe(200)
  await expect.poll(async () => (await call('/ruled')).status, REACHES).toBe(200)
  await expect.poll(async () => (await call('/timed/slow')).status, REACHES).toBe(504)
  expect((await call('/free', { method: 'DELETE' })).status).toBe(200)
  expect((await call('/free', { method: 'POST', body: 'x'.repeat(MAX_BYTES + 1) })).status).toBe(200)
  expect(seen).toMatchObject([{ method: 'POST', bytes: MAX_BYTES + 1 }])
})

it('other methods are refused with 405 and Allow, before the upstream', async () => {
  const refused = await call('/ruled', { method: 'DELETE' })
  expect([refused.status, refused.headers.get('allow'), seen]).toEqual([405, 'GET, POST', []])
  expect((await call('/ruled', { method: 'HEAD' })).status).toBe(200)
})

it('larger bodies are refused with 413, by their declared length and without one', async () => {
  expect((await call('/ruled', { method: 'POST', body: 'x'.repeat(MAX_BYTES) })).status).toBe(200)
  const declared = await call('/ruled', { method: 'POST', body: 'x'.repeat(MAX_BYTES + 1) })
  expect([declared.status, seen]).toEqual([413, []])
  expect(JSON.parse(declared.text).message).toBe(
    'The body is larger than the 1000 bytes that this API accepts.',
  )
  expect(await chunked(MAX_BYTES)).toContain('200')
  expect(await chunked(MAX_BYTES + 1)).toContain('413')
  expect(seen).toEqual([])
})

/** @returns the status line */
async function chunked(bytes: number): Promise<string> {
  seen = []
  const { host, hostname, port } = new URL(world.gateway.url)
  const socket = connect(Number(port), hostname)
  const half = Math.floor(bytes / 2)
  const piece = (length: number) => `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`
  const head = [
    'POST /t/beta/ruled HTTP/1.1',
    `Host: ${host}`,
    'Transfer-Encoding: chunked',
    'Connection: close',
  ]
  socket.write(`${[...head, `Authorization: Bearer ${world.root}`].join('\r\n')}\r\n\r\n${piece(half)}`)
  socket.write(`${piece(bytes - half)}0\r\n\r\n`)
  let text = ''
  for await (const part of socket) text += part
  return text.split('\r\n')[0]!
}

it('an upstream that is slower than the timeout is 504', async () => {
  const since = performance.now()
  expect((await call('/timed/slow')).status).toBe(504)
  expect(performance.now() - since).toBeGreaterThanOrEqual(250)
})

it('headers are set and removed on both ways', async () => {
  const sent = { 'x-team': 'forged', 'x-debug': '1', 'x-other': 'kept' }
  const { headers } = await call('/ruled', { headers: sent })
  expect(seen[0]!.headers).toMatchObject({ 'x-team': 'orders', 'x-other': 'kept' })
  expect(seen[0]!.headers).not.toHaveProperty('x-debug')
  const returned = ['cache-control', 'x-powered-by', 'x-kept'].map(name => headers.get(name))
  expect(returned).toEqual(['private, max-age=60', null, 'yes'])
})

it.each([
  ['request_headers', { set: { authorization: 'x' } }],
  ['request_headers', { remove: ['x-forwarded-for'] }],
  ['response_headers', { set: { 'access-control-allow-origin': '*' } }],
  ['response_headers', { set: { 'set-cookie': 'a=b' } }],
  ['request_headers', { set: { 'x-a': 'line\r\nbreak' } }],
])('%s %j is refused', async (field, rules) => {
  const body = { name: 'no', path: '/no', upstream_url: 'http://127.0.0.1:9', traffic: { [field]: rules } }
  const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
  expect([reply.status, reply.json.error.details[0].field]).toEqual([
    400,
    expect.stringContaining(`traffic.${field}`),
  ])
})

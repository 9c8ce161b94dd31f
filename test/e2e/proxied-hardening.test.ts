/** Headers, paths and documents of proxied APIs: withheld, refused or sandboxed by default, allowed for one API by its `passthrough` or by the operator; nosniff on both planes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Deployment, deploy, read } from '../fixtures/deployment.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'proxied-hardening-'))
let gateway: Deployment
let admin: string
let upstream: Server
const seen: { url: string; headers: Record<string, unknown> }[] = []

const HOSTILE_RESPONSE: readonly (readonly [string, string])[] = [
  ['Set-Cookie', 'session=evil; Path=/; Domain=gw.example; HttpOnly'],
  ['Service-Worker-Allowed', '/'],
  ['Clear-Site-Data', '"*"'],
  ['Alt-Svc', 'h2="evil.example:443"; ma=2592000'],
  ['Strict-Transport-Security', 'max-age=63072000; includeSubDomains'],
  ['Public-Key-Pins', 'pin-sha256="AAAA"; max-age=5184000'],
  ['Public-Key-Pins-Report-Only', 'pin-sha256="AAAA"; max-age=5184000'],
  ['Expect-CT', 'max-age=86400, enforce'],
  ['Refresh', '0; url=https://evil.example/'],
  ['NEL', '{"report_to":"evil","max_age":2592000}'],
  ['Report-To', '{"group":"evil","max_age":2592000,"endpoints":[]}'],
  ['Accept-CH', 'Sec-CH-UA-Full-Version-List'],
  ['X-Accel-Redirect', '/internal/secrets'],
  ['X-Sendfile', '/etc/passwd'],
  ['X-Accel-Buffering', 'no'],
  ['X-Accel-Limit-Rate', '1'],
  ['X-Envoy-Immediate-Health-Check-Fail', 'true'],
  ['X-LiteSpeed-Location', '/internal'],
  ['X-Reproxy-URL', 'http://internal.example/'],
  ['Critical-CH', 'Sec-CH-UA'],
  ['Use-As-Dictionary', 'match="/*"'],
  ['Set-Login', 'logged-in'],
  [
    'WWW-Authenticate',
    'Bearer resource_metadata="https://evil.example/.well-known/oauth-protected-resource"',
  ],
]
/** Those that an API may allow. */
const ALLOWABLE = ['Set-Cookie', 'Refresh']
const NEVER_ALLOWED = HOSTILE_RESPONSE.map(([name]) => name).filter(name => !ALLOWABLE.includes(name))
/** Names of the gateway: what an upstream sends would stand beside ours. */
const OURS_IN_RESPONSES: readonly (readonly [string, string])[] = [
  ['X-RateLimit-Limit', '1'],
  ['X-RateLimit-Remaining', '0'],
  ['X-RateLimit-Reset', '1'],
  ['X-Policy-Revision', 'forged'],
  ['X-Token-Optimization-Saved', '1'],
  ['X-Content-Type-Options', 'sniff'],
]
const HOSTILE_REQUEST: readonly (readonly [string, string])[] = [
  ['X_Forwarded_For', '6.6.6.6'],
  ['X_Tenant_ID', 'other'],
  ['Content_Length', '0'],
  ['My_Name', 'x'],
  ['Proxy', 'http://evil.example'],
  ['X-Original-URL', '/admin'],
  ['X-Rewrite-URL', '/admin'],
  ['X-Original-Host', 'evil.example'],
  ['X-Host', 'evil.example'],
  ['X-HTTP-Host-Override', 'evil.example'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-HTTP-Method', 'DELETE'],
  ['X-Method-Override', 'DELETE'],
  ['X-Forwarded-Port', '1'],
  ['X-Forwarded-Server', 'evil.example'],
  ['X-Forwarded-User', 'root'],
  ['X-Forwarded-Anything', 'x'],
  ['X-Forwarded', 'for=6.6.6.6'],
  ['X-Real-IP', '6.6.6.6'],
  ['X-Client-IP', '6.6.6.6'],
  ['X-Cluster-Client-IP', '6.6.6.6'],
  ['True-Client-IP', '6.6.6.6'],
  ['CF-Connecting-IP', '6.6.6.6'],
  ['Forwarded', 'for=6.6.6.6;proto=https'],
  ['Via', '1.1 evil'],
]
const HOSTILE_PATHS: readonly string[] = [
  '/..;/admin',
  '/..;x=1/admin',
  '/a/..;/..;/admin',
  '/.;/admin',
  '/%2e%2e;/admin',
  '/..%3B/admin',
  '/..%3bx/admin',
  '/;/admin',
  '/;x=1/admin',
  '/a/..;',
  '/%252e%252e/admin',
  '/%252E%252E/admin',
  '/.%252e/admin',
  '/%252e./admin',
  '/%25%32%65%25%32%65/admin',
  '/a%252fb',
  '/a%255cb',
  '/a%253bb',
  '/a%2500',
  '/a%250d%250a',
  '/a%257f',
  '/a%25252e',
  '/a%25252525',
  '/a%25252fb',
  '/a%25c0%25ae',
  '/a%25u002e',
]
const PLAIN_PATHS: readonly string[] = [
  '/a;v=1/b',
  '/items;color=red',
  '/a%3Bb',
  '/100%25',
  '/100%25/x',
  '/a%2541',
  '/a%2520b',
  '/.well-known/x',
  '/..x/y',
  '/a...b',
]

beforeAll(async () => {
  upstream = createServer((request, response) => {
    seen.push({ url: request.url!, headers: request.headers })
    const asked = new URL(request.url!, 'http://up.example').searchParams
    if (request.url!.startsWith('/base/document')) {
      for (const [name, value] of asked) if (name !== 'status') response.appendHeader(name, value)
      return void response.writeHead(Number(asked.get('status') ?? 200)).end('{}')
    }
    if (request.url === '/base/status-700') response.statusCode = 700
    for (const [name, value] of [...HOSTILE_RESPONSE, ...OURS_IN_RESPONSES]) response.setHeader(name, value)
    response.setHeader('X-Kept', 'yes')
    response.end('{}')
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  // the parser of uWS does not accept a name with `_` at all
  gateway = await deploy({ HTTP_SERVER: 'node', DATA_DIR: dataDir, UNSANDBOXED_APIS: '/t/acme/excepted' })
  admin = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway.stop()
  rmSync(dataDir, { recursive: true, force: true })
  upstream.closeAllConnections()
  await new Promise(resolve => upstream.close(resolve))
})

async function api(method: string, path: string, body?: unknown) {
  const response = await fetch(`${gateway.running.addresses.api_url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return read(response)
}

/** Registers an API of the upstream and waits until the gateway serves it. @returns its path on the gateway and its resource */
async function register(
  path: string,
  passthrough?: object,
  traffic?: object,
): Promise<{ at: string; resource: string }> {
  const listed = await api('GET', '/tenants')
  expect(listed.status, listed.text).toBe(200)
  const { items } = listed.json as { items: { id: string; name: string }[] }
  const tenant = items.find(one => one.name === 'acme')!.id
  const created = await api('POST', `/tenants/${tenant}/apis`, {
    name: path.slice(1),
    path,
    upstream_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/base`,
    auth_required: false,
    ...(passthrough === undefined ? {} : { passthrough }),
    ...(traffic === undefined ? {} : { traffic }),
  })
  expect(created.status, created.text).toBe(201)
  await vi.waitUntil(async () => (await fetch(`${gateway.url}/t/acme${path}`)).status === 200, 10_000)
  return { at: `/t/acme${path}`, resource: `/tenants/${tenant}/apis/${created.json.id}` }
}

/** Sends one request as written. @returns status and headers of the response, names in lower case */
async function send(target: string, headers: readonly (readonly [string, string])[] = []) {
  const lines = [
    `GET ${target} HTTP/1.1`,
    'Host: localhost',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ]
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', chunk => {
      received += chunk
    })
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
    socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
    socket.setTimeout(10_000, () => socket.destroy())
    // the servers may keep the connection open: the head is all that is looked at
    const poll = setInterval(() => {
      if (!received.includes('\r\n\r\n') && !socket.destroyed) return
      clearInterval(poll)
      socket.destroy()
    }, 5)
  })
  const [status, ...rest] = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n')
  const received = rest.map(line => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return { status: Number(status?.split(' ')[1]), headers: received }
}

describe('a proxied API by default', () => {
  let at: string
  beforeAll(async () => {
    ;({ at } = await register('/strict'))
  })

  it.each(HOSTILE_PATHS)('refuses %s, which an upstream may read as another path', async path => {
    const before = seen.length
    expect((await send(at + path)).status).toBe(400)
    expect(seen.slice(before)).toEqual([])
  })

  it.each(PLAIN_PATHS)('forwards %s', async path => {
    expect((await send(at + path)).status).toBe(200)
    expect(seen.at(-1)!.url).toBe(`/base${path}`)
  })

  it('forwards the bytes of a header value beyond ASCII', async () => {
    // written as UTF-8, and shown by the upstream as one character for each byte
    expect((await send(at, [['X-Name', 'Łukasz é']])).status).toBe(200)
    expect(seen.at(-1)!.headers['x-name']).toBe(Buffer.from('Łukasz é').toString('latin1'))
  })

  it('fails with 502 where the upstream responds with a status that HTTP does not have', async () => {
    expect((await send(`${at}/status-700`)).status).toBe(502)
    expect((await send(at)).status).toBe(200)
  })

  it.each(HOSTILE_REQUEST)('does not forward the header %s', async (name, value) => {
    expect((await send(at, [[name, value]])).status).toBe(200)
    const { headers } = seen.at(-1)!
    expect(headers[name.toLowerCase()]).toBeUndefined()
    expect(JSON.stringify(headers)).not.toContain('6.6.6.6')
  })

  it.each(HOSTILE_RESPONSE)('does not return the header %s', async name => {
    const { status, headers } = await send(at)
    expect(status).toBe(200)
    expect(headers.filter(([one]) => one === name.toLowerCase())).toEqual([])
    expect(headers).toContainEqual(['x-kept', 'yes'])
  })

  it.each(OURS_IN_RESPONSES)(
    'does not let an upstream say %s in the name of the gateway',
    async (name, value) => {
      const found = (await send(at)).headers.filter(([one]) => one === name.toLowerCase())
      expect(found.length).toBeLessThanOrEqual(1)
      expect(found).not.toContainEqual([name.toLowerCase(), value])
    },
  )
})

describe('passthrough', () => {
  it('allows the named headers and lenient paths for one API', async () => {
    const { at } = await register('/lenient', {
      request_headers: ['x-http-method-override', 'my_name', 'via'],
      response_headers: ['refresh', 'set-cookie'],
      paths: 'lenient',
    })
    const { status, headers } = await send(`${at}/..;/a%252e`, [
      ['X-HTTP-Method-Override', 'DELETE'],
      ['My_Name', 'x'],
      ['Via', '1.1 front'],
      ['X-Original-URL', '/admin'],
    ])
    expect(status).toBe(200)
    expect(seen.at(-1)!.url).toBe('/base/..;/a%252e')
    expect(seen.at(-1)!.headers).toMatchObject({
      'x-http-method-override': 'DELETE',
      my_name: 'x',
      via: '1.1 front',
    })
    expect(seen.at(-1)!.headers['x-original-url']).toBeUndefined()
    const names = headers.map(([name]) => name)
    expect(names).toContain('refresh')
    expect(names).not.toContain('alt-svc')
  })

  it('keeps a cookie within the addresses of its API', async () => {
    const { at } = await register('/cookies', { response_headers: ['set-cookie'] })
    const { headers } = await send(at)
    expect(headers.filter(([name]) => name === 'set-cookie')).toEqual([
      ['set-cookie', 'session=evil; HttpOnly; Path=/t/acme/cookies'],
    ])
  })

  it('is changed by PATCH and takes effect without a restart', async () => {
    const { at, resource } = await register('/patched')
    expect((await send(`${at}/..;/x`)).status).toBe(400)
    const patched = await api('PATCH', resource, { passthrough: { paths: 'lenient' } })
    expect(patched.json.passthrough).toEqual({ request_headers: [], response_headers: [], paths: 'lenient' })
    await expect.poll(async () => (await send(`${at}/..;/x`)).status, { timeout: 10_000 }).toBe(200)
    expect((await api('GET', resource)).json.passthrough.paths).toBe('lenient')
  })

  it.each([
    ...NEVER_ALLOWED.map(name => ({ response_headers: [name.toLowerCase()] })),
    { request_headers: ['authorization'] },
    { request_headers: ['x-forwarded-for'] },
    { request_headers: ['x_tenant_id'] },
    { request_headers: ['Content_Length'] },
    { request_headers: ['x-anything'] },
    { response_headers: ['x-ratelimit-limit'] },
    { response_headers: ['content-length'] },
    { paths: 'raw' },
    { others: true },
  ])('refuses %j', async passthrough => {
    const { items } = (await api('GET', '/tenants')).json as { items: { id: string }[] }
    const refused = await api('POST', `/tenants/${items[0]!.id}/apis`, {
      name: 'x',
      path: '/x',
      upstream_url: 'http://127.0.0.1:1',
      passthrough,
    })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('passthrough')
  })

  it('is described in the served OpenAPI document', async () => {
    const document = await read(await fetch(`${gateway.running.addresses.api_url}/openapi.json`))
    for (const name of ['Api', 'NewApi', 'ApiPatch'])
      expect(document.json.components.schemas[name].properties.passthrough, name).toBeDefined()
  })
})

describe('rules of traffic', () => {
  it.each(NEVER_ALLOWED)('cannot set %s', async name => {
    const { items } = (await api('GET', '/tenants')).json as { items: { id: string }[] }
    const refused = await api('POST', `/tenants/${items[0]!.id}/apis`, {
      name: 'x',
      path: '/x',
      upstream_url: 'http://127.0.0.1:1',
      traffic: { response_headers: { set: { [name.toLowerCase()]: 'x' } } },
    })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(name.toLowerCase())])
  })
})

describe('a document of a proxied API', () => {
  const SANDBOX = ['content-security-policy', 'sandbox']
  const policiesOf = ({ headers }: Awaited<ReturnType<typeof send>>) =>
    headers.filter(([name]) => name === 'content-security-policy').map(([, value]) => value)
  let at: string
  beforeAll(async () => {
    at = `${(await register('/documents')).at}/document`
  })

  it.each([
    'text/html',
    'TEXT/HTML; charset=utf-8',
    'application/xhtml+xml',
    'image/svg+xml',
    'text/xml',
    'application/xml;x=y',
    'application/atom+xml',
    'text/xsl',
    'application/json, text/html',
    'multipart/x-mixed-replace; boundary=x',
  ])('of type %s is sandboxed', async type => {
    expect((await send(`${at}?content-type=${encodeURIComponent(type)}`)).headers).toContainEqual(SANDBOX)
  })

  it.each([
    'content-type=application/json',
    'content-type=text/plain',
    'content-type=application/pdf',
    'content-type=image/png',
    'content-type=application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  ])('is left as it is with %s, which shows no script', async query => {
    expect(policiesOf(await send(`${at}?${query}`))).toEqual([])
  })

  it.each([
    ['two types', 'content-type=application/json&content-type=text/html'],
    ['no type', 'etag=%22a%22'],
    // a browser keeps the type of the stored document, and takes the new policy
    ['confirmed by 304', 'status=304&content-type=application/json'],
  ])('is sandboxed with %s', async (_, query) => {
    expect(policiesOf(await send(`${at}?${query}`))).toContain('sandbox')
  })

  it('keeps its own policy beside the sandbox, which it cannot loosen', async () => {
    const own = "sandbox allow-scripts allow-same-origin; default-src 'self'"
    const response = await send(
      `${at}?content-type=text/html&content-security-policy=${encodeURIComponent(own)}`,
    )
    expect(policiesOf(response)).toEqual([own, 'sandbox'])
  })

  it('is sandboxed where rules of the API give the type, or take it away', async () => {
    const rules = { set: { 'content-type': 'text/html' }, remove: ['content-security-policy'] }
    const { at: typed } = await register('/typed', undefined, { response_headers: rules })
    expect(policiesOf(await send(`${typed}/document?content-type=application/json`))).toEqual(['sandbox'])
    const untyping = { response_headers: { set: {}, remove: ['content-type'] } }
    const { at: untyped } = await register('/untyped', undefined, untyping)
    expect(policiesOf(await send(`${untyped}/document?content-type=application/json`))).toEqual(['sandbox'])
  })

  it('is sandboxed from the cache too, also as 304', async () => {
    const cache = { scope: 'public', default_age_secs: 60 }
    const { at: cached } = await register('/cached', undefined, { cache })
    const target = `${cached}/document?content-type=text/html&etag=%22a%22`
    await send(target)
    for (const headers of [[], [['If-None-Match', '"a"']]] as const) {
      const response = await send(target, headers)
      expect(response.headers).toContainEqual(['cache-status', expect.stringContaining('hit')])
      expect(policiesOf(response)).toEqual(['sandbox'])
    }
  })

  it('is free where the operator excepts its API, and nowhere else', async () => {
    const { at: excepted } = await register('/excepted')
    expect(policiesOf(await send(`${excepted}/document?content-type=text/html`))).toEqual([])
    const { at: longer } = await register('/excepted2')
    expect(policiesOf(await send(`${longer}/document?content-type=text/html`))).toEqual(['sandbox'])
  })
})

const SETTING = { response_headers: { set: { 'x-old': '1', 'x-kept': 'set' } } }

it('serves an API that an older version stored, without what it must not allow or set any more', async () => {
  const { at, resource } = await register('/stored', { response_headers: ['refresh'] }, SETTING)
  await gateway.stop()
  const database = await PGlite.create(join(dataDir, 'postgres'))
  const passthrough = { requestHeaders: [], responseHeaders: ['refresh', 'clear-site-data'], paths: 'strict' }
  await database.query(
    `update apis set passthrough = $1, traffic = replace(traffic::text, 'x-old', 'x-accel-redirect')::jsonb
    where path = '/stored'`,
    [JSON.stringify(passthrough)],
  )
  await database.close()
  gateway = await deploy({ HTTP_SERVER: 'node', DATA_DIR: dataDir })
  admin = await gateway.token('demo-admin')
  await vi.waitUntil(async () => (await send(at)).status === 200, 10_000)
  const { headers } = await send(at)
  expect(headers).toContainEqual(['x-kept', 'set'])
  const names = headers.map(([name]) => name)
  expect(names).toContain('refresh')
  for (const name of ['clear-site-data', 'x-accel-redirect', 'x-old']) expect(names).not.toContain(name)
  // a change of another field leaves it; writing it again is refused
  expect((await api('PATCH', resource, { description: 'x' })).status).toBe(200)
  const read = (await api('GET', resource)).json
  const refused = await api('PATCH', resource, { passthrough: read.passthrough })
  expect([refused.status, refused.text]).toEqual([
    400,
    expect.stringContaining('passthrough.response_headers'),
  ])
  expect(refused.text).toContain('Remove the other headers')
})

it('sends nosniff with responses of both planes', async () => {
  for (const path of ['/health', '/mcp/capabilities', '/nowhere', '/.well-known/oauth-protected-resource']) {
    const { headers } = await fetch(gateway.url + path)
    expect(headers.get('x-content-type-options'), path).toBe('nosniff')
  }
  for (const path of ['/health', '/openapi.json', '/v1/tenants', '/nowhere']) {
    const { headers } = await fetch(gateway.running.addresses.api_url + path)
    expect(headers.get('x-content-type-options'), path).toBe('nosniff')
  }
})

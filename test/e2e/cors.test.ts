/** Cross-origin headers on the wire, over both HTTP servers: each occurs once at most, whatever the route, the origin and the outcome. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { listenerSupport } from '../../src/net/server/create.ts'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'
import { type Published, publishApi } from '../fixtures/planes.ts'
import { type ResponseHead, responseHead } from '../fixtures/response-head.ts'

const PAGE = 'https://console.example'
const ORIGINS = [
  ['an allowed origin', PAGE],
  ['a foreign origin', 'https://evil.example'],
  ['no origin', undefined],
] as const

interface Case {
  readonly path: string
  readonly method: string
  readonly headers?: Record<string, string>
  readonly body?: object
  /** Status of the actual request from the allowed origin. */
  readonly status: number
  /** Any page may read it. */
  readonly isPublic?: true
}

const JSON_BODY = { 'content-type': 'application/json' }
const INITIALIZE = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'page', version: '1' },
})

/** `{token}` and `{key}` are filled in. */
const AGENT = { authorization: 'Bearer {token}' }
const GATEWAY: readonly Case[] = [
  { method: 'GET', path: '/health', status: 200 },
  { method: 'HEAD', path: '/health', status: 200 },
  { method: 'GET', path: '/mcp/capabilities', status: 200 },
  {
    method: 'POST',
    path: '/mcp/tools/call',
    status: 401,
    headers: JSON_BODY,
    body: { name: 'shop_getOrder' },
  },
  { method: 'POST', path: '/mcp/v1/tools', status: 200, headers: { ...AGENT, ...JSON_BODY }, body: {} },
  { method: 'POST', path: '/mcp', status: 200, headers: { ...AGENT, ...JSON_BODY }, body: INITIALIZE },
  {
    method: 'GET',
    path: '/mcp/sse',
    status: 200,
    headers: { ...AGENT, accept: 'text/event-stream' },
  },
  { method: 'GET', path: '/admin/quotas', status: 401 },
  { method: 'GET', path: '/nowhere', status: 404 },
  { method: 'GET', path: '/%2f', status: 400 },
  { method: 'DELETE', path: '/health', status: 405 },
  { method: 'POST', path: '/oauth/token', status: 400, body: {} },
  { method: 'GET', path: '/.well-known/oauth-protected-resource', status: 200, isPublic: true },
  { method: 'GET', path: '/.well-known/oauth-authorization-server', status: 200, isPublic: true },
  { method: 'GET', path: '/.well-known/openid-configuration', status: 200, isPublic: true },
  { method: 'GET', path: '/t/pages/echo', status: 401 },
  { method: 'GET', path: '/t/pages/echo', status: 200, headers: { 'x-api-key': '{key}' } },
  { method: 'PATCH', path: '/t/pages/echo', status: 200, headers: { 'x-api-key': '{key}' }, body: {} },
  { method: 'GET', path: '/t/pages/echo/streamed', status: 200, headers: { 'x-api-key': '{key}' } },
]
const ADMIN = { authorization: 'Bearer {admin}' }
const CONTROL_PLANE: readonly Case[] = [
  { method: 'GET', path: '/health', status: 200 },
  { method: 'GET', path: '/openapi.json', status: 200 },
  { method: 'GET', path: '/docs', status: 200 },
  { method: 'GET', path: '/v1/tenants', status: 401 },
  { method: 'GET', path: '/v1/tenants', status: 200, headers: ADMIN },
  { method: 'POST', path: '/v1/tenants', status: 400, headers: { ...ADMIN, ...JSON_BODY }, body: {} },
  { method: 'PATCH', path: '/v1/tenants/none', status: 404, headers: { ...ADMIN, ...JSON_BODY }, body: {} },
  { method: 'GET', path: '/v1/nowhere', status: 404, headers: ADMIN },
  { method: 'PUT', path: '/v1/tenants', status: 405, headers: ADMIN },
]

/** A backend with its own cross-origin rule, as many have one. */
async function startBackend(): Promise<Server> {
  const server = createServer((request, response) => {
    const origin = request.headers.origin ?? '*'
    response.writeHead(200, [
      ...['content-type', 'text/plain', 'vary', 'Accept-Encoding', 'vary', 'Origin'],
      ...['access-control-allow-origin', origin, 'access-control-allow-credentials', 'true'],
      ...['access-control-expose-headers', 'X-Total-Count', 'x-total-count', '3'],
    ])
    if (!request.url!.endsWith('/streamed')) return void response.end('ok')
    response.write('first, ')
    response.end('second')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

function expectSound(head: ResponseHead, origin: string | undefined, isPublic: boolean): void {
  const names = head.lines
    .map(([name]) => name)
    .filter(name => name === 'vary' || name.startsWith('access-control-'))
  expect(names, 'a header occurs more than once').toEqual([...new Set(names)])
  const readableBy = isPublic ? ['*'] : origin === PAGE ? [PAGE] : []
  expect(head.all('access-control-allow-origin')).toEqual(readableBy)
  expect(head.all('access-control-allow-credentials')).toEqual([])
  // a cache must not give one page what another was sent (Fetch, "CORS protocol and HTTP caches")
  if (origin !== undefined && !isPublic) expect(head.all('vary').join()).toMatch(/\borigin\b/i)
}

const { kinds, uwsMissing } = listenerSupport()

describe.each(['uws', 'node'] as const)('HTTP_SERVER=%s', server => {
  const missing = !kinds.includes(server) && process.env.REQUIRE_SERVICES !== '1'
  describe.skipIf(missing)(missing ? `skipped: ${uwsMissing}` : 'cross-origin headers', () => {
    let backend: Server
    let deployment: Deployment
    let published: Published
    const secrets: Record<string, string> = {}

    beforeAll(async () => {
      backend = await startBackend()
      deployment = await deploy({ HTTP_SERVER: server, CORS_ORIGINS: PAGE, SSE_LIMITER_ENABLED: 'false' })
      secrets.token = await deployment.token('demo-agent')
      secrets.admin = await deployment.token('demo-admin')
      const api = async (method: string, path: string, body?: unknown) =>
        read(
          await fetch(`${deployment.running.addresses.api_url}/v1${path}`, {
            method,
            headers: { authorization: `Bearer ${secrets.admin}`, ...JSON_BODY },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          }),
        )
      const { port } = backend.address() as AddressInfo
      published = await publishApi({ api }, 'pages', `http://127.0.0.1:${port}`)
      secrets.key = published.key
      const ask = { method: 'GET', headers: { 'x-api-key': published.key } }
      await vi.waitFor(async () => expect((await fetch(published.publicUrl, ask)).status).toBe(200), {
        timeout: 30_000,
      })
    })
    afterAll(async () => {
      await deployment?.stop()
      backend?.closeAllConnections()
      backend?.close()
    })

    const filled = (headers: Record<string, string> = {}): Record<string, string> =>
      Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          value.replace(/\{(\w+)\}/, (_, secret: string) => secrets[secret]!),
        ]),
      )
    const originOf = (origin: string | undefined) => (origin === undefined ? {} : { origin })
    const url = (plane: 'gateway' | 'control', path: string): string =>
      (plane === 'gateway' ? deployment.url : deployment.running.addresses.api_url!) + path
    const preflight = (target: string, origin: string | undefined, method: string) =>
      responseHead({
        method: 'OPTIONS',
        url: target,
        headers: {
          ...originOf(origin),
          'access-control-request-method': method,
          'access-control-request-headers': 'authorization,content-type',
        },
      })

    const cases = [
      ...GATEWAY.map(entry => ['gateway', entry] as const),
      ...CONTROL_PLANE.map(entry => ['control', entry] as const),
    ].flatMap(([plane, entry]) =>
      ORIGINS.map(([from, origin]) => ({ plane, ...entry, expected: entry.status, from, origin })),
    )

    it.each(cases)(
      '$plane: preflight for $method $path from $from',
      async ({ plane, path, method, origin }) => {
        const head = await preflight(url(plane, path), origin, method)
        expectSound(head, origin, plane === 'gateway' && path.startsWith('/.well-known/'))
        if (origin === PAGE) expect(head.status).toBe(204)
      },
    )

    it.each(cases)(
      '$plane: $method $path, $expected, from $from',
      async ({ plane, path, method, origin, headers, body, expected, isPublic = false }) => {
        const head = await responseHead({
          method,
          url: url(plane, path),
          headers: { ...filled(headers), ...originOf(origin) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        expectSound(head, origin, isPublic)
        if (origin === PAGE) expect(head.status).toBe(expected)
      },
    )

    it('keeps what a proxied backend varies on and exposes, under the rule of the gateway', async () => {
      const ask = (origin: string | undefined) =>
        responseHead({
          method: 'GET',
          url: published.publicUrl,
          headers: { 'x-api-key': published.key, ...originOf(origin) },
        })
      const readable = await ask(PAGE)
      expect(readable.all('vary').join().toLowerCase()).toBe('accept-encoding, origin')
      expect(readable.all('access-control-expose-headers').join()).toMatch(/Mcp-Session-Id.*X-Total-Count/)
      // a response to a request without Origin may be cached and used for one with it
      expect((await ask(undefined)).all('vary').join().toLowerCase()).toBe('accept-encoding, origin')
    })

    it('allows PATCH where an API is proxied', async () => {
      const methods = async (path: string) =>
        (await preflight(url('gateway', path), PAGE, 'PATCH')).all('access-control-allow-methods').join()
      expect(await methods('/t/pages/echo/items/1')).toBe('GET,POST,PUT,DELETE,OPTIONS,PATCH')
      expect(await methods('/mcp')).toBe('GET,POST,PUT,DELETE,OPTIONS')
    })

    it('lets pages use all that the control plane understands, besides what is configured', async () => {
      const target = url('control', '/v1/tenants')
      const allowed = await preflight(target, PAGE, 'PATCH')
      expect(allowed.all('access-control-allow-methods').join()).toBe('GET,POST,PUT,DELETE,OPTIONS,PATCH')
      expect(allowed.all('access-control-allow-headers').join().toLowerCase().split(',')).toEqual(
        expect.arrayContaining([
          ...['authorization', 'content-type', 'x-request-id', 'x-tenant-id'],
          ...['idempotency-key', 'if-match'],
        ]),
      )
      const listed = await responseHead({
        method: 'GET',
        url: target,
        headers: { ...filled(ADMIN), origin: PAGE },
      })
      expect(listed.all('access-control-expose-headers').join().toLowerCase().split(',')).toEqual(
        expect.arrayContaining([
          ...['x-request-id', 'x-trace-id', 'etag', 'location', 'retry-after'],
          ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
        ]),
      )
    })
  })
})

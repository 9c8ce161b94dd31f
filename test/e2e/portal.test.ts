/** The server side of the portal over HTTP, without a browser: what it opens, what it refuses, and what it forwards. */
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

let deployment: Deployment
let backend: Server
let origin: string
let cookie: string
let csrf: string
const received: {
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}[] = []

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${origin}${path}`, { headers, redirect: 'manual' })
const signedIn = (path: string, init: RequestInit = {}) =>
  fetch(`${origin}/portal/${path}`, { ...init, headers: { cookie, 'x-csrf-token': csrf, ...init.headers } })
/** The status of a GET of a user. The path is sent as written; `fetch` would resolve its dots. */
function statusAsWritten(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { cookie, 'x-csrf-token': csrf }
    const sent = request(origin, { path, headers }, response => {
      response.resume()
      resolve(response.statusCode!)
    })
    sent.on('error', reject)
    sent.end()
  })
}

beforeAll(async () => {
  backend = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    received.push({ url: request.url!, headers: request.headers, body })
    response.setHeader('set-cookie', 'of=backend').end('served')
  })
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  deployment = await deploy({ PORTAL_RATE_PER_MIN: '5' })
  origin = deployment.running.addresses.api_url!
  const login = await fetch(`${origin}/portal/login/demo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"client":"demo-admin"}',
  })
  expect(login.status).toBe(204)
  cookie = login.headers
    .getSetCookie()
    .map(each => each.split(';')[0])
    .join('; ')
  csrf = ((await (await signedIn('session')).json()) as { csrf: string }).csrf
  const body = {
    name: 'Open',
    path: '/open',
    upstream_url: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
    auth_required: false,
    portal_visibility: true,
    visibility: 'public',
  }
  const created = await fetch(`${origin}/v1/tenants/acme/apis`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await deployment.token('demo-admin')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  })
  expect(created.status).toBe(201)
})
afterAll(async () => {
  await deployment?.stop()
  backend?.close()
})

it('serves its page at every address below it, with a strict policy, and the look of the package', async () => {
  expect((await get('/portal')).headers.get('location')).toBe('portal/')
  for (const path of ['/portal/', '/portal/apis/x/reference', '/portal/sign-in/apis/x/try']) {
    const page = await get(path)
    expect([path, page.status]).toEqual([path, 200])
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(page.headers.get('content-security-policy')).not.toMatch(/unsafe|https?:|\*/)
    expect(page.headers.get('referrer-policy')).toBe('same-origin')
    expect(await page.text()).toContain('<title>Developer portal</title>')
  }
  const css = await get('/portal/theme.css')
  expect([css.status, css.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8'])
  for (const path of ['../../package.json', '%2e%2e/%2e%2e/package.json', '..%2f..%2fpackage.json'])
    expect([path, await statusAsWritten(`/portal/assets/${path}`)]).toEqual([path, 404])
  expect((await get('/portal/session')).headers.get('cache-control')).toBe('no-store')
})

it('begins the login with its own return address', async () => {
  const begun = await get('/portal/login?return_to=apis/x')
  const to = new URL(begun.headers.get('location')!)
  expect(to.searchParams.get('redirect_uri')).toBe(`${origin}/portal/callback`)
  expect(to.searchParams.get('code_challenge_method')).toBe('S256')
  const failed = await get('/portal/callback?state=other&code=x')
  expect(failed.headers.get('location')).toMatch(new RegExp(`^${origin}/portal/\\?login_error=`))
})

it('opens what its page needs of the planes, and nothing else of them', async () => {
  expect((await get('/portal/api/control/v1/portal/apis')).status).toBe(401)
  for (const path of [
    'portal/apis',
    'plans?limit=1',
    'subscriptions',
    'tenants/acme/subscriptions',
    'tenants/acme/apikeys',
  ])
    expect([path, (await signedIn(`api/control/v1/${path}`)).status]).toEqual([path, 200])
  for (const path of [
    'control/v1/tenants',
    'control/v1/config',
    'control/v1/audit',
    'control/v1/tenants/acme/webhooks',
    'control/v1/tenants/acme/subscriptions/a/b/c',
    'control/v1/portal/../audit',
    'control/v1/portal/%2e%2e/audit',
    'control/v1/portal/apis/..%2f..%2faudit',
    'gateway/admin/overview',
    'gateway/mcp',
  ])
    expect([path, await statusAsWritten(`/portal/api/${path}`)]).toEqual([path, 404])
})

it('calls an API with the key of the user and nothing of the session', async () => {
  await expect
    .poll(async () => (await signedIn('api/try/t/acme/open/a%20b?c=d')).status, { timeout: 10_000 })
    .toBe(200)
  received.length = 0
  const tried = await signedIn('api/try/t/acme/open/a%20b?c=d')
  expect(await tried.text()).toBe('served')
  expect(tried.headers.get('set-cookie')).toBeNull()
  expect(received[0]!.url).toBe('/a%20b?c=d')
  expect(JSON.stringify(received)).not.toMatch(/eyJhbGci|cookie|x-portal-key|x-csrf-token/)
  const unknown = await signedIn('api/try/t/acme/open/x', { headers: { 'x-portal-key': 'tgk_unknown' } })
  expect([unknown.status, received.length]).toEqual([401, 1])
})

const CHOSEN = { 'X-Version': '2', 'If-None-Match': '"1"', Accept: 'text/csv', 'Idempotency-Key': 'a' }
const NOT_CHOSEN = {
  Cookie: 'a=b',
  Cookie2: 'a=b',
  Authorization: 'Bearer chosen',
  'X-API-Key': 'chosen',
  Host: 'chosen.example',
  Origin: 'https://chosen.example',
  Referer: 'https://chosen.example',
  Connection: 'x-version',
  'Keep-Alive': 'chosen',
  TE: 'chosen',
  Upgrade: 'chosen',
  'Transfer-Encoding': 'chosen',
  'Content-Length': '999999',
  'Proxy-Authorization': 'chosen',
  Forwarded: 'for=192.0.2.9',
  'X-Forwarded-For': '192.0.2.9',
  'X-Forwarded-User': 'chosen',
  'X-Real-IP': '192.0.2.9',
  Via: '1.1 chosen',
  'X-HTTP-Method-Override': 'DELETE',
  'X-Original-URL': '/chosen',
  'Sec-Fetch-Site': 'chosen',
  'X-CSRF-Token': 'chosen',
  'X-Portal-Key': 'chosen',
}

const parameters = (chosen: object) =>
  Object.fromEntries(Object.entries(chosen).map(([name, value]) => [`x-portal-header-${name}`, value]))

it('sends the header parameters that a user may choose, and the body in its media type', async () => {
  received.length = 0
  const body = '<parcel/>'
  const headers = { ...parameters(CHOSEN), 'x-other': 'other', 'content-type': 'application/xml' }
  const tried = await signedIn('api/try/t/acme/open/x', { method: 'POST', headers, body })
  expect(tried.status).toBe(200)
  expect(received).toMatchObject([
    {
      body,
      headers: {
        'x-version': '2',
        'if-none-match': '"1"',
        accept: 'text/csv',
        'content-type': 'application/xml',
        'content-length': String(body.length),
      },
    },
  ])
  expect(JSON.stringify(received)).not.toMatch(/x-portal|x-other/)
})

it.each(Object.entries(NOT_CHOSEN))('leaves out a header parameter %s', async (name, value) => {
  received.length = 0
  const tried = await signedIn('api/try/t/acme/open/x', { headers: parameters({ [name]: value }) })
  expect([tried.status, received.length]).toEqual([200, 1])
  expect(JSON.stringify(received)).not.toMatch(/chosen|192\.0\.2\.9|x-portal|a=b|999999/i)
})

it('refuses a trial of a foreign page, without a login, and of anything that is not an API', async () => {
  const path = 'api/try/t/acme/open/x'
  expect((await get(`/portal/${path}`)).status).toBe(401)
  expect((await signedIn(path, { headers: { 'x-csrf-token': 'wrong' } })).status).toBe(403)
  expect((await signedIn(path, { headers: { origin: 'https://other.example' } })).status).toBe(403)
  expect((await signedIn(path, { headers: { 'x-portal-key': 'two words' } })).status).toBe(400)
  for (const other of [
    'mcp',
    'admin/overview',
    't/acme',
    't/../admin/overview',
    't/%2e%2e/admin/overview',
    't/..%2fadmin/overview',
    't/acme/../../admin/overview',
    't/ACME/x',
    'oauth/token',
  ])
    expect([other, await statusAsWritten(`/portal/api/try/${other}`)]).toEqual([other, 404])
})

it('limits visitors by the setting, and no user', async () => {
  const statuses: number[] = []
  for (let at = 0; at < 6; at++) statuses.push((await get('/v1/public/apis')).status)
  expect(statuses).toContain(200)
  expect(statuses.at(-1)).toBe(429)
  expect((await signedIn('api/control/v1/portal/apis')).status).toBe(200)
})

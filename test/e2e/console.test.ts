/** The server side of the console over HTTP, without a browser: files, cookies, logins, rights, refused requests, streams, and when a session ends. */
import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'

const PUBLIC_URL = 'https://admin.example/api'

let deployment: Deployment
let origin: string

beforeAll(async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  deployment = await deploy({ API_URL: PUBLIC_URL, API_PORT: String(port), TEST_HOOKS: '1' })
  origin = `http://127.0.0.1:${port}`
})
afterAll(() => deployment?.stop())

interface Sent {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** The path as written, which `fetch` would normalize. */
function send(path: string, headers: Record<string, string> = {}, method = 'GET', body?: string) {
  return new Promise<Sent>((resolve, reject) => {
    const sent = request(
      `${origin}`,
      { path, method, headers: { ...headers, host: 'admin.example' } },
      response => {
        const pieces: Buffer[] = []
        response.on('data', piece => pieces.push(piece))
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(pieces) }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
const post = (path: string, headers: Record<string, string>, body = '{}') =>
  send(
    path,
    { 'content-type': 'application/json', 'content-length': String(body.length), ...headers },
    'POST',
    body,
  )

async function signIn(
  client: string,
): Promise<{ readonly cookie: string; readonly csrf: string; readonly set: string[] }> {
  const response = await post('/console/login/demo', {}, JSON.stringify({ client }))
  expect(response.status).toBe(204)
  const set = response.headers['set-cookie'] as string[]
  const cookie = set.map(each => each.split(';')[0]).join('; ')
  const session = JSON.parse((await send('/console/session', { cookie })).body.toString())
  return { cookie, csrf: session.csrf, set }
}

it('serves the page with a strict policy and revalidates it, and hashed files for a year', async () => {
  const page = await send('/console/', { 'accept-encoding': 'gzip' })
  expect(page.headers).toMatchObject({
    'cache-control': 'no-cache',
    'content-encoding': 'gzip',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  })
  expect(page.headers['content-security-policy']).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  )
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
  expect(page.headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/)
  expect((await send('/console/', { 'if-none-match': page.headers.etag as string })).status).toBe(304)
  const html = gunzipSync(page.body).toString()
  const script = /src="\.\/(assets\/[\w.-]+\.js)"/.exec(html)![1]!
  const asset = await send(`/console/${script}`)
  expect([asset.status, asset.headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
  expect((await send(`/console/${script}`, { 'if-none-match': asset.headers.etag as string })).status).toBe(
    304,
  )
  // links are relative to the page, whatever prefix a proxy adds
  expect((await send('/console/catalogue/webhooks/whk_1')).body.toString()).toContain('<base href="../../">')
  expect((await send('/console')).headers.location).toBe('console/')
})

it.each([
  '/console/../../package.json',
  '/console/assets/../../../package.json',
  '/console/%2e%2e/%2e%2e/package.json',
  '/console/assets/..%2f..%2findex.html',
  '/console/assets/%00',
  '/console/assets/missing.js',
  '/console/api/gateway/oauth/token',
  '/console/api/control/openapi.json',
])('%s is not a file and not a way around', async path => {
  const { cookie } = await signIn('demo-admin')
  const { status, body } = await send(path, { cookie })
  expect([401, 404]).toContain(status)
  expect(body.toString()).not.toMatch(/"devDependencies"|"openapi"/)
})

it('keeps the token in cookies of this host only, which scripts and other sites cannot use', async () => {
  const { set } = await signIn('demo-admin')
  expect(set.filter(cookie => !/Max-Age=0$/.test(cookie)).length).toBeGreaterThan(0)
  for (const cookie of set)
    expect(cookie).toMatch(
      /^__Host-toolgate-session\.\d=[\w+/=]*; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=\d+$/,
    )
  expect(set.join('')).not.toContain('eyJhbGci')
})

it('refuses requests of other pages, and without the token of the page', async () => {
  const { cookie, csrf } = await signIn('demo-admin')
  const plans = '/console/api/control/v1/plans'
  const statuses = [
    await post(plans, { cookie }),
    await post(plans, { cookie, 'x-csrf-token': `${csrf}x` }),
    await post(plans, { cookie, 'x-csrf-token': csrf, origin: 'http://evil.example' }),
    await post(plans, { cookie, 'x-csrf-token': csrf, 'sec-fetch-site': 'same-site' }),
    await post('/console/login/demo', { origin: 'http://evil.example' }),
    await post('/console/logout', { 'sec-fetch-site': 'cross-site' }),
    // reaches the control plane, which validates the body
    await post(plans, { cookie, 'x-csrf-token': csrf, origin: 'https://admin.example' }),
    await send(plans),
    await send(plans, { cookie: cookie.replace(/(=.{40})../, '$1AA') }),
    await send('/console/session', {}, 'DELETE'),
    await send('/console/api/control/v1/plans', { cookie }),
  ].map(({ status }) => status)
  expect(statuses).toEqual([403, 403, 403, 403, 403, 403, 400, 401, 401, 405, 200])
})

it('adds the rights of the user and nothing else: a viewer stays a viewer', async () => {
  const { cookie, csrf } = await signIn('demo-viewer')
  const { actions } = JSON.parse((await send('/console/api/permissions', { cookie })).body.toString())
  expect([actions['apis.list'], actions['apis.create'], actions['tenants.create']]).toEqual([
    'any',
    'none',
    'none',
  ])
  const api = { name: 'x', path: '/x', version: '1', upstream_url: 'http://localhost:1' }
  const created = await post(
    '/console/api/control/v1/tenants/acme/apis',
    { cookie, 'x-csrf-token': csrf },
    JSON.stringify(api),
  )
  const calls = await send('/console/api/gateway/admin/calls', { cookie })
  const foreign = await send('/console/api/control/v1/tenants/other/apis', { cookie })
  expect([created.status, calls.status, foreign.status]).toEqual([403, 403, 403])
})

it('asks what a user may do without a decision among those of requests', async () => {
  const { cookie } = await signIn('demo-admin')
  const list = () => send('/console/api/control/v1/plans', { cookie })
  expect([(await send('/console/api/permissions', { cookie })).status, (await list()).status]).toEqual([
    200, 200,
  ])
  const found = await send('/console/api/gateway/admin/policy/decisions?consumer=demo-admin&limit=200', {
    cookie,
  })
  const { decisions } = JSON.parse(found.body.toString()) as { decisions: { action: string }[] }
  const actions = new Set(decisions.map(({ action }) => action))
  expect(actions).toContain('control.plans.list')
  expect(actions).not.toContain('control.plans.delete')
})

/** The way of a browser from the login page of the embedded provider back to the console. @returns the address after the login */
async function logIn(returnTo: string): Promise<string> {
  const begun = await send(`/console/login?return_to=${encodeURIComponent(returnTo)}`)
  const cookie = (begun.headers['set-cookie'] as string[]).map(each => each.split(';')[0]).join('; ')
  const jar = new Map<string, string>()
  let location = begun.headers.location as string
  for (let step = 0; !location.startsWith(PUBLIC_URL); step++) {
    expect(step).toBeLessThan(5)
    const isPage = location.includes('/interaction/')
    const response = await fetch(location, {
      method: isPage ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...jar].map(pair => pair.join('=')).join('; ') },
      body: isPage ? new URLSearchParams({ account: 'admin' }) : null,
    })
    for (const each of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(each)!
      jar.set(name!, value!)
    }
    location = new URL(response.headers.get('location')!, location).href
  }
  const { search } = new URL(location)
  const foreign = await send(`/console/callback${search}x`, { cookie })
  expect(foreign.headers.location).toContain('/console/?login_error=')
  const stranger = await send(`/console/callback${search}`)
  expect(stranger.headers.location).toContain('/console/?login_error=')
  const back = await send(`/console/callback${search}`, { cookie })
  const signedIn = (back.headers['set-cookie'] as string[]).map(each => each.split(';')[0]).join('; ')
  expect((await send('/console/api/control/v1/tenants', { cookie: signedIn })).status).toBe(200)
  return back.headers.location as string
}

it.each([
  ['calls?tenant=acme', 'calls?tenant=acme'],
  ['catalogue/webhooks/whk_1', 'catalogue/webhooks/whk_1'],
  ['//evil.example', ''],
  ['https://evil.example', ''],
  ['\\\\evil.example', ''],
  ['../v1/plans', ''],
])('after a login with %s it continues in the console', async (wanted, expected) => {
  expect(await logIn(wanted)).toBe(`${PUBLIC_URL}/console/${expected}`)
})

it('ends the stream at the gateway when the page leaves', async () => {
  const { cookie } = await signIn('demo-admin')
  // the gateway opens 100 at most
  for (let opened = 0; opened < 110; opened++) {
    const sent = request(origin, {
      path: '/console/api/gateway/admin/calls/stream',
      headers: { cookie, host: 'admin.example', accept: 'text/event-stream' },
    })
    sent.on('error', () => {})
    sent.end()
    const [response] = await once(sent, 'response')
    expect([opened, response.statusCode]).toEqual([opened, 200])
    sent.destroy()
  }
})

it('requests a new token when the old one expires, and ends a session that was not used for three hours', async () => {
  const { cookie } = await signIn('demo-admin')
  const advance = (by: string) =>
    post('/test/clock', {}, JSON.stringify({ advance: by })).then(({ status }) => expect(status).toBe(200))
  await advance('59m50s')
  const renewed = await send('/console/api/control/v1/plans', { cookie })
  expect(renewed.status).toBe(200)
  const next = (renewed.headers['set-cookie'] as string[]).map(each => each.split(';')[0]).join('; ')
  expect(next).not.toBe(cookie)
  await advance('3h')
  expect((await send('/console/api/control/v1/plans', { cookie: next })).status).toBe(401)
})

/** Login and sessions of the console and of the page of connections at a test provider: refresh, outages, the end, forms of other sites. No browser runs. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createSealer } from '../../../src/base/secrets/sealer.ts'
import { createConnections } from '../../../src/console/connections.ts'
import { type Console, createConsole } from '../../../src/console/console.ts'
import { fileMarks } from '../../../src/console/file-marks.ts'
import { OAuthClient } from '../../../src/console/oauth-client.ts'
import type { SessionMarks } from '../../../src/console/session-marks.ts'
import { principal } from '../../../src/model/principal.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress } from '../../../src/net/egress/egress.ts'

const ORIGIN = 'http://localhost:9999'
const HOUR_MS = 3_600_000
const folder = mkdtempSync(join(tmpdir(), 'sessions-'))
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** Its issuer is the provider behind the gateway. */
const ID_TOKEN = `${encoded({ alg: 'RS256' })}.${encoded({ iss: 'http://provider.example', sub: 'ada', aud: 'console' })}.c2ln`

/** The OAuth endpoints of a gateway, with refresh tokens that may be used once. */
let provider: Server
let egress: Egress
let served: Console
let nowMs: number
let refreshes: string[]
let status: number
/** Statuses of the next responses of the revocation endpoint; then 200. */
let revocations: number[]
/** Tokens that were revoked at the provider. */
let revoked: string[]
/** Whether each message says that the revocation is tried again. */
let unrevoked: boolean[]
let marks: SessionMarks
/** Event streams of the control plane that were ended. */
let streamsEnded: number
/** Bodies of token responses wait for it. */
let held: Promise<void> | undefined
let isStoreAvailable: boolean
let pages: (request: Request) => Promise<Response>
let oauth: OAuthClient
/** The public address that the gateway names. */
let issuer: string
/** Bodies of the requests for tokens. */
let forms: URLSearchParams[]
/** Tokens of the requests that reached the control plane. */
let tokens: (string | null)[]
/** What the pages report of sessions, and why it is refused. */
let events: string[]
/** Requests for the metadata of the gateway. */
let documents: number

beforeAll(async () => {
  provider = createServer((request, response) => {
    let body = ''
    request.on('data', piece => {
      body += piece
    })
    request.on('end', () => {
      const json = (value: object, success = 200): void => {
        response.writeHead(status === 200 ? success : status, { 'content-type': 'application/json' })
        response.end(JSON.stringify(value))
      }
      if (request.url === '/oauth/register') return json({ client_id: 'console' }, 201)
      if (request.url === '/oauth/revoke') {
        const failed = revocations.shift()
        response.writeHead(failed ?? 200, { 'content-type': 'application/json' })
        if (failed === undefined) revoked.push(new URLSearchParams(body).get('token')!)
        return response.end(failed === undefined ? '{}' : '{"error":"server_error"}')
      }
      if (request.url !== '/oauth/token') documents++
      if (request.url !== '/oauth/token')
        return json({ issuer, authorization_endpoint: 'http://provider.example/auth' })
      if (status !== 200) return json({ error: status === 400 ? 'invalid_grant' : 'server_error' })
      const form = new URLSearchParams(body)
      forms.push(form)
      const refresh = form.get('refresh_token')
      if (refresh !== null) refreshes.push(refresh)
      const number = refreshes.length
      const send = (): void =>
        json({
          access_token: `access-${number}`,
          token_type: 'Bearer',
          refresh_token: `refresh-${number}`,
          expires_in: 300,
          id_token: ID_TOKEN,
        })
      if (held === undefined) send()
      else void held.then(send)
    })
  }).listen(0, '127.0.0.1')
  await once(provider, 'listening')
  egress = createEgress({ allow: [], allowLoopback: true })
})
afterAll(async () => {
  await egress.close()
  provider.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  nowMs = Date.parse('2026-11-22T12:00:00Z')
  refreshes = []
  tokens = []
  documents = 0
  events = []
  status = 200
  held = undefined
  isStoreAvailable = true
  forms = []
  revocations = []
  revoked = []
  unrevoked = []
  streamsEnded = 0
  marks = fileMarks(mkdtempSync(join(folder, 'marks-')), () => nowMs)
  open(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`, undefined)
})

/** @param publicUrl of the console */
function open(gatewayUrl: string, publicUrl: string | undefined): void {
  const gatewayAddress = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  issuer = gatewayUrl
  const shared = {
    sealer: createSealer('a key of this test'),
    marks: {
      put: (mark: string, untilMs: number) => marks.put(mark, untilMs),
      has: (mark: string) => marks.has(mark),
    },
    onFault: () => {},
    onUnrevoked: (_: string, isTriedAgain: boolean) => void unrevoked.push(isTriedAgain),
    onSession: (event: string, _: Request, error?: string) =>
      void events.push(error === undefined ? event : `${event}: ${error}`),
    egress,
    verifier: {
      verify: () =>
        principal({
          kind: 'token',
          subject: 'ada',
          consumer: 'console',
          tenant: 'acme',
          roles: [],
          scopes: ['read'],
          subscriptionId: undefined,
          expiresAtMs: nowMs + HOUR_MS,
        }),
      ready: true,
      clearCache: () => 0,
      close() {},
    },
    gatewayAddress,
    gatewayUrl,
    pagesUrl: gatewayAddress,
    clientId: undefined,
    now: () => nowMs,
  }
  oauth = new OAuthClient(shared)
  pages = createConnections({
    ...shared,
    book: {
      async list() {
        if (!isStoreAvailable) throw new Error('the store is unavailable')
        return [{ id: 'platform/mail', name: 'mail', host: 'mail.example', connectedAtMs: undefined }]
      },
      begin: (_, id) =>
        id === 'platform/mail'
          ? { url: 'https://mail.example/authorize', state: 's', verifier: 'v', key: 'k' }
          : undefined,
      complete: async () => undefined,
      disconnect: async () => {},
    },
  })
  served = createConsole({
    ...shared,
    publicUrl,
    hasProvider: true,
    demoClients: [{ id: 'demo-admin', secret: 'demo' }],
    version: '0',
    controlPlane: {
      async fetch(request) {
        tokens.push(request.headers.get('authorization'))
        if (request.headers.get('accept') === 'text/event-stream')
          return new Response(new ReadableStream({ cancel: () => void streamsEnded++ }), {
            headers: { 'content-type': 'text/event-stream' },
          })
        return Response.json({})
      },
      permissions: async () => Response.json({}),
    },
  })
}

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map(each => each.split(';')[0])
    .filter(each => !/^[^=]+=$/.test(each!))
    .join('; ')
const get = (path: string, cookie = '') =>
  served.fetch(new Request(`${ORIGIN}/console/${path}`, { headers: { cookie } }))

/** @param returned query of the return, to which the state is added. @returns where the browser is sent */
async function returnWith(returned: string): Promise<URL> {
  const begun = await get('login')
  const state = new URL(begun.headers.get('location')!).searchParams.get('state')
  const response = await get(`callback?${returned}&state=${state}`, cookiesOf(begun))
  return new URL(response.headers.get('location')!)
}

async function signIn(): Promise<string> {
  const begun = await get('login')
  const state = new URL(begun.headers.get('location')!).searchParams.get('state')
  return cookiesOf(await get(`callback?code=c&state=${state}`, cookiesOf(begun)))
}
/** Each is private, and browsers guess no type. */
function expectGuarded({ headers }: Response): void {
  expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
    'no-store',
    'nosniff',
  ])
}
const use = (cookie: string) => get('api/control/v1/plans', cookie)

it('signs in with the code, the verifier of the challenge and the resource, at a provider that names itself', async () => {
  const begun = await get('login')
  const asked = new URL(begun.headers.get('location')!).searchParams
  const state = asked.get('state')!
  const provider = encodeURIComponent('http://provider.example')
  const done = await get(`callback?code=c-1&iss=${provider}&state=${state}`, cookiesOf(begun))
  expect(done.headers.get('location')).toBe(`${ORIGIN}/console/`)
  const [form] = forms
  expect(Object.fromEntries(form!)).toMatchObject({
    grant_type: 'authorization_code',
    code: 'c-1',
    client_id: 'console',
    redirect_uri: `${ORIGIN}/console/callback`,
    resource: issuer,
  })
  const challenge = createHash('sha256').update(form!.get('code_verifier')!).digest('base64url')
  expect([asked.get('code_challenge'), asked.get('code_challenge_method')]).toEqual([challenge, 'S256'])
})

it.each([
  ['error=access_denied&error_description=You+said+no.', 'You said no.'],
  [
    'code=',
    'The OAuth response from the gateway is not valid: no authorization code in "callbackParameters".',
  ],
])('a return with %s is not a login, and the page says why', async (returned, message) => {
  const location = await returnWith(returned)
  expect(location.searchParams.get('login_error')).toBe(message)
  expect(forms).toEqual([])
})

it('does not accept the return of a login that another browser began', async () => {
  const other = await get('login')
  const begun = await get('login')
  const state = new URL(other.headers.get('location')!).searchParams.get('state')
  const response = await get(`callback?code=c&state=${state}`, cookiesOf(begun))
  expect(response.headers.get('location')).toContain('login_error=The%20login%20took%20too%20long')
  expect(forms).toEqual([])
})

it('asks the gateway for its metadata once a minute however many logins begin, and again after a failure', async () => {
  status = 503
  expect((await get('login')).headers.get('location')).toContain('login_error=')
  status = 200
  const begin = async (): Promise<void> =>
    expect((await get('login')).headers.get('location')).toContain('http://provider.example/auth?')
  documents = 0
  await Promise.all(Array.from({ length: 20 }, begin))
  nowMs += 59_000
  await begin()
  expect(documents).toBe(1)
  nowMs += 1_000
  await begin()
  expect(documents).toBe(2)
})

it('names the setting when the gateway has another public address', async () => {
  issuer = 'https://api.example'
  const response = await get('login')
  const message = new URL(response.headers.get('location')!).searchParams.get('login_error')
  expect(message).toContain('set GATEWAY_URL of this process')
})

it('refreshes once for requests at the same time, and each of them gets the new session', async () => {
  const cookie = await signIn()
  nowMs += 290_000
  const responses = await Promise.all(Array.from({ length: 5 }, () => use(cookie)))
  expect(responses.map(response => response.status)).toEqual(Array(5).fill(200))
  expect(refreshes).toEqual(['refresh-0'])
  expect(new Set(tokens)).toEqual(new Set(['Bearer access-1']))
  nowMs += 290_000
  expect((await use(cookiesOf(responses[3]!))).status).toBe(200)
  expect(refreshes).toEqual(['refresh-0', 'refresh-1'])
})

it('goes on with a valid token while the provider fails, and keeps the session while it has none', async () => {
  const cookie = await signIn()
  status = 502
  nowMs += 290_000
  expect((await use(cookie)).status).toBe(200)
  nowMs += 20_000
  const refused = await use(cookie)
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([502, []])
  status = 200
  expect((await use(cookie)).status).toBe(200)
})

it('ends when the provider refuses the refresh token', async () => {
  const cookie = await signIn()
  status = 400
  nowMs += 310_000
  const refused = await use(cookie)
  expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'signed_out' } }])
  const session = (await (await get('session', cookie)).json()) as { user: unknown }
  expect(session.user).toBe(null)
})

it('ends with the next login of its browser, for every copy, but not with one that is only begun', async () => {
  const before = await signIn()
  const begun = await get('login', before)
  expect((await use(before)).status).toBe(200)
  const state = new URL(begun.headers.get('location')!).searchParams.get('state')
  // the browser sends no cookie of a session with a redirect from another site
  const after = cookiesOf(await get(`callback?code=c&state=${state}`, cookiesOf(begun)))
  expect([(await use(before)).status, (await use(after)).status]).toEqual([401, 200])
  const demo = new Request(`${ORIGIN}/console/login/demo`, {
    method: 'POST',
    headers: { cookie: after },
    body: '{"client":"demo-admin"}',
  })
  const last = cookiesOf(await served.fetch(demo))
  expect([(await use(after)).status, (await use(last)).status]).toEqual([401, 200])
})

it('ends eight hours after the login, whatever is refreshed', async () => {
  let cookie = await signIn()
  for (let minutes = 0; minutes < 8 * 60; minutes += 40) {
    const response = await use(cookie)
    expect([minutes, response.status]).toEqual([minutes, 200])
    cookie = cookiesOf(response) || cookie
    nowMs += 40 * 60_000
  }
  nowMs += 1
  expect((await use(cookie)).status).toBe(401)
})

const post = (path: string, cookie: string) =>
  served.fetch(new Request(`${ORIGIN}/console/${path}`, { method: 'POST', headers: { cookie } }))

it('ends all copies of a session at the logout, renewed ones too, and revokes the refresh token', async () => {
  const cookie = await signIn()
  nowMs += 46_000
  const renewed = cookiesOf(await use(cookie))
  expect((await post('logout', renewed)).status).toBe(204)
  for (const copy of [cookie, renewed]) {
    expect((await use(copy)).status).toBe(401)
    expect(await (await get('session', copy)).json()).toMatchObject({ user: null, csrf: null })
  }
  await expect.poll(() => revoked).toEqual(['refresh-1'])
  // the one of another login goes on
  expect((await use(await signIn())).status).toBe(200)
})

it('ends the session although the provider is unavailable, and revokes the token when it is there again', async () => {
  const cookie = await signIn()
  revocations = [502, 503]
  expect((await post('logout', cookie)).status).toBe(204)
  expect((await use(cookie)).status).toBe(401)
  await expect.poll(() => revoked, { timeout: 15_000 }).toEqual(['refresh-0'])
  expect(unrevoked).toEqual([true])
}, 20_000)

it('ends an event stream within seconds after the logout, and no other', async () => {
  const [cookie, other] = [await signIn(), await signIn()]
  const openStream = async (from: string) =>
    served.fetch(
      new Request(`${ORIGIN}/console/api/control/v1/plans`, {
        headers: { cookie: from, accept: 'text/event-stream' },
      }),
    )
  const [ended, going] = [await openStream(cookie), await openStream(other)]
  const read = ended.body!.getReader().read()
  await post('logout', cookie)
  expect(await read).toEqual({ done: true, value: undefined })
  expect(streamsEnded).toBe(1)
  await going.body!.cancel()
  expect(streamsEnded).toBe(2)
}, 15_000)

it('says that a token stays valid that the provider does not revoke', async () => {
  revocations = [400]
  await post('logout', await signIn())
  await expect.poll(() => unrevoked).toEqual([false])
  expect(revoked).toEqual([])
})

it('accepts no session while it is not known whether it has ended', async () => {
  const cookie = await signIn()
  const failed = async () => {
    throw new Error('the store is unavailable')
  }
  const { put, has } = marks
  marks = { put, has: failed }
  for (const response of [await use(cookie), await get('session', cookie)])
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { code: 'sessions_unavailable' } },
    ])
  expect(tokens).toEqual([])
  expect((await get('session')).status).toBe(200)
  marks = { put: failed, has }
  const refused = await post('logout', cookie)
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([503, []])
  marks = { put, has }
  expect((await use(cookie)).status).toBe(200)
})

it('asks the provider again within a minute, which refuses a suspended person and knows changed roles', async () => {
  const cookie = await signIn()
  nowMs += 44_000
  await use(cookie)
  expect(refreshes).toEqual([])
  nowMs += 2_000
  const changed = await use(cookie)
  expect([refreshes, tokens.at(-1)]).toEqual([['refresh-0'], 'Bearer access-1'])
  status = 400
  nowMs += 46_000
  const renewed = cookiesOf(changed)
  // not only the request that asked
  for (const copy of [renewed, renewed, cookie]) expect((await use(copy)).status).toBe(401)
})

it('leaves the renewal to another instance that has begun it', async () => {
  const cookie = await signIn()
  nowMs += 46_000
  const { has } = marks
  marks = { put: async () => false, has }
  expect((await use(cookie)).status).toBe(200)
  expect([refreshes, tokens]).toEqual([[], ['Bearer access-0']])
})

const openPage = (path: string, cookie: string, init: RequestInit = {}) => {
  const headers = { cookie, ...(init.headers as Record<string, string>) }
  return pages(new Request(`${issuer}/connections/${path}`, { ...init, headers }))
}
const csrfOf = async (response: Response): Promise<string> =>
  /name="csrf" value="([^"]*)"/.exec(await response.text())![1]!
const submit = (path: string, cookie: string, fields: Record<string, string>, headers = {}) =>
  openPage(path, cookie, { method: 'POST', body: new URLSearchParams(fields), headers })

/** @returns the session at the page of connections */
async function signInToConnections(): Promise<string> {
  const begun = await openPage('login', '')
  const state = new URL(begun.headers.get('location')!).searchParams.get('state')
  return cookiesOf(await openPage(`callback?code=c&state=${state}`, cookiesOf(begun)))
}

it.each([
  ['connect', 'platform/mail', 303],
  ['connect', 'platform/none', 404],
  ['disconnect', 'platform/mail', 303],
])('a renewed session reaches the browser with the response to %s of %s', async (path, id, expected) => {
  const cookie = await signInToConnections()
  const csrf = await csrfOf(await openPage('list', cookie))
  nowMs += 290_000
  const changed = await submit(path, cookie, { csrf, id }, { origin: issuer })
  expect([changed.status, refreshes]).toEqual([expected, ['refresh-0']])
  nowMs += 290_000
  const list = await openPage('list', cookiesOf(changed))
  expect(await list.text()).toContain('Signed in as')
  expect(refreshes).toEqual(['refresh-0', 'refresh-1'])
})

it('a renewed session reaches the browser although the connections cannot be read', async () => {
  const cookie = await signInToConnections()
  nowMs += 290_000
  isStoreAvailable = false
  const failed = await openPage('list', cookie)
  expect(failed.status).toBe(503)
  expect(cookiesOf(failed)).not.toBe('')
})

it('connects nothing for a session that was ended while its user was at the authorization server', async () => {
  const cookie = await signInToConnections()
  const csrf = await csrfOf(await openPage('list', cookie))
  const own = { origin: issuer }
  const pending = cookiesOf(await submit('connect', cookie, { csrf, id: 'platform/mail' }, own))
  await submit('logout', cookie, {}, own)
  const list = await openPage('list', cookie)
  expect(await list.text()).toContain('Sign in')
  const back = await openPage('return/platform/mail?code=c&state=s', pending)
  expect([back.status, await back.text()]).toEqual([401, expect.stringContaining('has ended')])
})

it('redirects with the headers of its other responses, and clears what the browser keeps at a logout', async () => {
  expectGuarded(await get('login'))
  expectGuarded(await served.fetch(new Request(`${ORIGIN}/console`)))
  expectGuarded(await submit('logout', await signInToConnections(), {}, { origin: issuer }))
  const logout = { method: 'POST', headers: { cookie: await signIn() } }
  const ended = await served.fetch(new Request(`${ORIGIN}/console/logout`, logout))
  expectGuarded(ended)
  expect([ended.status, ended.headers.get('clear-site-data')]).toEqual([204, '"storage"'])
})

it('shows texts of others as texts, runs no script and is in no frame', async () => {
  const cookie = await signInToConnections()
  const list = await openPage(`list?tool_set=${encodeURIComponent('"><script>')}`, cookie)
  expect(list.headers.get('content-security-policy')).toMatch(
    /^default-src 'none';.* frame-ancestors 'none'$/,
  )
  expect(list.headers.get('referrer-policy')).toBe('same-origin')
  const shown = await list.text()
  const fields = { csrf: /name="csrf" value="([^"]*)"/.exec(shown)![1]!, id: 'platform/mail' }
  const pending = cookiesOf(await submit('connect', cookie, fields, { origin: issuer }))
  const refused = await openPage('return/platform/mail?state=s&error=%3Cscript%3E', pending)
  expect(await refused.text()).toContain('&#60;script&#62;')
  expect(shown).not.toContain('<script')
})

it('has other sessions than the console of a control plane with the same host and key, where others have ended', async () => {
  open('https://tools.example', 'https://tools.example')
  const cookie = await signInToConnections()
  expect(await (await openPage('list', cookie)).text()).toContain('Signed in as')
  for (const copy of [cookie, cookie.replaceAll('toolgate-gateway-', 'toolgate-')]) {
    const request = new Request('https://tools.example/console/api/control/v1/plans', {
      headers: { cookie: copy },
    })
    expect((await served.fetch(request)).status).toBe(401)
  }
})

it.each([
  ['logout', { 'sec-fetch-site': 'cross-site' }],
  ['logout', { origin: 'https://other.example' }],
  ['connect', { 'sec-fetch-site': 'same-site' }],
])('another site cannot send the form %s with %o', async (path, headers) => {
  const cookie = await signInToConnections()
  const csrf = await csrfOf(await openPage('list', cookie))
  const refused = await submit(path, cookie, { csrf, id: 'platform/mail' }, headers)
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []])
  const own = await submit('logout', cookie, {}, { origin: issuer, 'sec-fetch-site': 'same-origin' })
  expect([own.status, cookiesOf(own)]).toEqual([303, ''])
})

it('reports logins, logouts and requests of foreign pages of each page', async () => {
  const cookie = await signInToConnections()
  await submit('logout', cookie, {}, { origin: 'https://other.example' })
  await submit('logout', cookie, {}, { origin: issuer })
  expect(events).toEqual(['login', expect.stringMatching(/^foreign_page: /), 'logout'])
  events = []
  const own = await signIn()
  const post = (path: string, headers: Record<string, string>, body?: string) =>
    served.fetch(new Request(`${ORIGIN}/console/${path}`, { method: 'POST', headers, body: body ?? null }))
  await returnWith('error=access_denied')
  await get('callback?code=c&state=other')
  await post('api/control/v1/plans', { cookie: own })
  await post('logout', { cookie: own, 'sec-fetch-site': 'cross-site' })
  await post('login/demo', { cookie: own }, '{"client":"demo-admin"}')
  status = 503
  await post('login/demo', {}, '{"client":"demo-admin"}')
  const foreign = 'foreign_page: The request does not come from a page of this server.'
  const names = [
    'login',
    'login: access_denied',
    /^login: The login took too long/,
    foreign,
    foreign,
    'logout',
  ]
  const expected = [...names, 'login', /^login: The gateway responded/]
  expect(events).toEqual(
    expected.map(each => (typeof each === 'string' ? each : expect.stringMatching(each))),
  )
})

it('sends a refresh token once however many others are renewed while its exchange runs', async () => {
  let release = (): void => {}
  held = new Promise(resolve => {
    release = resolve
  })
  const first = oauth.refresh('console', 'slow')
  await expect.poll(() => refreshes).toEqual(['slow'])
  held = undefined
  for (let number = 0; number < 1_100; number += 50)
    await Promise.all(Array.from({ length: 50 }, (_, at) => oauth.refresh('console', `token-${number + at}`)))
  const again = oauth.refresh('console', 'slow')
  release()
  expect(await again).toEqual(await first)
  expect(refreshes.filter(token => token === 'slow')).toEqual(['slow'])
}, 30_000)

/** Sessions of the page of connections at a test provider, forms of other sites, and the headers and reports of both pages. No browser runs. */
import { expect, it } from 'vitest'
import { cookiesOf, get, ORIGIN, open, returnWith, servePages, signIn, world } from './served-pages.ts'

servePages()

/** Each is private, and browsers guess no type. */
function expectGuarded({ headers }: Response): void {
  expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
    'no-store',
    'nosniff',
  ])
}
const openPage = (path: string, cookie: string, init: RequestInit = {}) => {
  const headers = { cookie, ...(init.headers as Record<string, string>) }
  return world.pages(new Request(`${world.issuer}/connections/${path}`, { ...init, headers }))
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
  world.nowMs += 290_000
  const changed = await submit(path, cookie, { csrf, id }, { origin: world.issuer })
  expect([changed.status, world.refreshes]).toEqual([expected, ['refresh-0']])
  world.nowMs += 290_000
  const list = await openPage('list', cookiesOf(changed))
  expect(await list.text()).toContain('Signed in as')
  expect(world.refreshes).toEqual(['refresh-0', 'refresh-1'])
})

it('a renewed session reaches the browser although the connections cannot be read', async () => {
  const cookie = await signInToConnections()
  world.nowMs += 290_000
  world.isStoreAvailable = false
  const failed = await openPage('list', cookie)
  expect(failed.status).toBe(503)
  expect(cookiesOf(failed)).not.toBe('')
})

it('connects nothing for a session that was ended while its user was at the authorization server', async () => {
  const cookie = await signInToConnections()
  const csrf = await csrfOf(await openPage('list', cookie))
  const own = { origin: world.issuer }
  const pending = cookiesOf(await submit('connect', cookie, { csrf, id: 'platform/mail' }, own))
  await submit('logout', cookie, {}, own)
  const list = await openPage('list', cookie)
  expect(await list.text()).toContain('Sign in')
  const back = await openPage('return/platform/mail?code=c&state=s', pending)
  expect([back.status, await back.text()]).toEqual([401, expect.stringContaining('has ended')])
})

it('redirects with the headers of its other responses, and clears what the browser keeps at a logout', async () => {
  expectGuarded(await get('login'))
  expectGuarded(await world.served.fetch(new Request(`${ORIGIN}/console`)))
  expectGuarded(await submit('logout', await signInToConnections(), {}, { origin: world.issuer }))
  const logout = { method: 'POST', headers: { cookie: await signIn() } }
  const ended = await world.served.fetch(new Request(`${ORIGIN}/console/logout`, logout))
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
  const pending = cookiesOf(await submit('connect', cookie, fields, { origin: world.issuer }))
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
    expect((await world.served.fetch(request)).status).toBe(401)
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
  const own = await submit('logout', cookie, {}, { origin: world.issuer, 'sec-fetch-site': 'same-origin' })
  expect([own.status, cookiesOf(own)]).toEqual([303, ''])
})

it('reports logins, logouts and requests of foreign pages of each page', async () => {
  const cookie = await signInToConnections()
  await submit('logout', cookie, {}, { origin: 'https://other.example' })
  await submit('logout', cookie, {}, { origin: world.issuer })
  expect(world.events).toEqual(['login', expect.stringMatching(/^foreign_page: /), 'logout'])
  world.events = []
  const own = await signIn()
  const post = (path: string, headers: Record<string, string>, body?: string) =>
    world.served.fetch(
      new Request(`${ORIGIN}/console/${path}`, { method: 'POST', headers, body: body ?? null }),
    )
  await returnWith('error=access_denied')
  await get('callback?code=c&state=other')
  await post('api/control/v1/plans', { cookie: own })
  await post('logout', { cookie: own, 'sec-fetch-site': 'cross-site' })
  await post('login/demo', { cookie: own }, '{"client":"demo-admin"}')
  world.status = 503
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
  expect(world.events).toEqual(
    expected.map(each => (typeof each === 'string' ? each : expect.stringMatching(each))),
  )
})

/** Login and sessions of the console at a test provider: refresh, outages, the end. No browser runs. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { cookiesOf, get, ORIGIN, returnWith, servePages, signIn, use, world } from './served-pages.ts'

servePages()

it('signs in with the code, the verifier of the challenge and the resource, at a provider that names itself', async () => {
  const begun = await get('login')
  const asked = new URL(begun.headers.get('location')!).searchParams
  const state = asked.get('state')!
  const provider = encodeURIComponent('http://provider.example')
  const done = await get(`callback?code=c-1&iss=${provider}&state=${state}`, cookiesOf(begun))
  expect(done.headers.get('location')).toBe(`${ORIGIN}/console/`)
  const [form] = world.forms
  expect(Object.fromEntries(form!)).toMatchObject({
    grant_type: 'authorization_code',
    code: 'c-1',
    client_id: 'console',
    redirect_uri: `${ORIGIN}/console/callback`,
    resource: world.issuer,
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
  expect(world.forms).toEqual([])
})

it('does not accept the return of a login that another browser began', async () => {
  const other = await get('login')
  const begun = await get('login')
  const state = new URL(other.headers.get('location')!).searchParams.get('state')
  const response = await get(`callback?code=c&state=${state}`, cookiesOf(begun))
  expect(response.headers.get('location')).toContain('login_error=The%20login%20took%20too%20long')
  expect(world.forms).toEqual([])
})

it('asks the gateway for its metadata once a minute however many logins begin, and again after a failure', async () => {
  world.status = 503
  expect((await get('login')).headers.get('location')).toContain('login_error=')
  world.status = 200
  const begin = async (): Promise<void> =>
    expect((await get('login')).headers.get('location')).toContain('http://provider.example/auth?')
  world.documents = 0
  await Promise.all(Array.from({ length: 20 }, begin))
  world.nowMs += 59_000
  await begin()
  expect(world.documents).toBe(1)
  world.nowMs += 1_000
  await begin()
  expect(world.documents).toBe(2)
})

it.each([
  [400, 1],
  [401, 2],
])(
  'a login that fails with %i has the next one register a client only if the provider does not know it',
  async (status, registrations) => {
    const begun = await get('login')
    const state = new URL(begun.headers.get('location')!).searchParams.get('state')
    for (const returned of ['error=invalid_client', 'code=c']) {
      world.status = status
      await get(`callback?${returned}&state=${state}`, cookiesOf(begun))
      world.status = 200
    }
    await get('login')
    expect(world.registrations).toBe(registrations)
  },
)

it('names the setting when the gateway has another public address', async () => {
  world.issuer = 'https://api.example'
  const response = await get('login')
  const message = new URL(response.headers.get('location')!).searchParams.get('login_error')
  expect(message).toContain('set GATEWAY_URL of this process')
})

it('refreshes once for requests at the same time, and each of them gets the new session', async () => {
  const cookie = await signIn()
  world.nowMs += 290_000
  const responses = await Promise.all(Array.from({ length: 5 }, () => use(cookie)))
  expect(responses.map(response => response.status)).toEqual(Array(5).fill(200))
  expect(world.refreshes).toEqual(['refresh-0'])
  expect(new Set(world.tokens)).toEqual(new Set(['Bearer access-1']))
  world.nowMs += 290_000
  expect((await use(cookiesOf(responses[3]!))).status).toBe(200)
  expect(world.refreshes).toEqual(['refresh-0', 'refresh-1'])
})

it('goes on with a valid token while the provider fails, and keeps the session while it has none', async () => {
  const cookie = await signIn()
  world.status = 502
  world.nowMs += 290_000
  expect((await use(cookie)).status).toBe(200)
  world.nowMs += 20_000
  const refused = await use(cookie)
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([502, []])
  world.status = 200
  expect((await use(cookie)).status).toBe(200)
})

it('ends when the provider refuses the refresh token', async () => {
  const cookie = await signIn()
  world.status = 400
  world.nowMs += 310_000
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
  const last = cookiesOf(await world.served.fetch(demo))
  expect([(await use(after)).status, (await use(last)).status]).toEqual([401, 200])
})

it('ends eight hours after the login, whatever is refreshed', async () => {
  let cookie = await signIn()
  for (let minutes = 0; minutes < 8 * 60; minutes += 40) {
    const response = await use(cookie)
    expect([minutes, response.status]).toEqual([minutes, 200])
    cookie = cookiesOf(response) || cookie
    world.nowMs += 40 * 60_000
  }
  world.nowMs += 1
  expect((await use(cookie)).status).toBe(401)
})

const post = (path: string, cookie: string) =>
  world.served.fetch(new Request(`${ORIGIN}/console/${path}`, { method: 'POST', headers: { cookie } }))

it('ends all copies of a session at the logout, renewed ones too, and revokes the refresh token', async () => {
  const cookie = await signIn()
  world.nowMs += 46_000
  const renewed = cookiesOf(await use(cookie))
  expect((await post('logout', renewed)).status).toBe(204)
  for (const copy of [cookie, renewed]) {
    expect((await use(copy)).status).toBe(401)
    expect(await (await get('session', copy)).json()).toMatchObject({ user: null, csrf: null })
  }
  await expect.poll(() => world.revoked).toEqual(['refresh-1'])
  // the one of another login goes on
  expect((await use(await signIn())).status).toBe(200)
})

it('ends the session although the provider is unavailable, and revokes the token when it is there again', async () => {
  const cookie = await signIn()
  world.revocations = [502, 503]
  expect((await post('logout', cookie)).status).toBe(204)
  expect((await use(cookie)).status).toBe(401)
  await expect.poll(() => world.revoked, { timeout: 15_000 }).toEqual(['refresh-0'])
  expect(world.unrevoked).toEqual([true])
}, 20_000)

it('ends an event stream within seconds after the logout, and no other', async () => {
  const [cookie, other] = [await signIn(), await signIn()]
  const openStream = async (from: string) =>
    world.served.fetch(
      new Request(`${ORIGIN}/console/api/control/v1/plans`, {
        headers: { cookie: from, accept: 'text/event-stream' },
      }),
    )
  const [ended, going] = [await openStream(cookie), await openStream(other)]
  const read = ended.body!.getReader().read()
  await post('logout', cookie)
  expect(await read).toEqual({ done: true, value: undefined })
  expect(world.streamsEnded).toBe(1)
  await going.body!.cancel()
  expect(world.streamsEnded).toBe(2)
}, 15_000)

it('says that a token stays valid that the provider does not revoke', async () => {
  world.revocations = [400]
  await post('logout', await signIn())
  await expect.poll(() => world.unrevoked).toEqual([false])
  expect(world.revoked).toEqual([])
})

it('accepts no session while it is not known whether it has ended', async () => {
  const cookie = await signIn()
  const failed = async () => {
    throw new Error('the store is unavailable')
  }
  const { put, has } = world.marks
  world.marks = { put, has: failed }
  for (const response of [await use(cookie), await get('session', cookie)])
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { code: 'sessions_unavailable' } },
    ])
  expect(world.tokens).toEqual([])
  expect((await get('session')).status).toBe(200)
  world.marks = { put: failed, has }
  const refused = await post('logout', cookie)
  expect([refused.status, refused.headers.getSetCookie()]).toEqual([503, []])
  world.marks = { put, has }
  expect((await use(cookie)).status).toBe(200)
})

it('asks the provider again within a minute, which refuses a suspended person and knows changed roles', async () => {
  const cookie = await signIn()
  world.nowMs += 44_000
  await use(cookie)
  expect(world.refreshes).toEqual([])
  world.nowMs += 2_000
  const changed = await use(cookie)
  expect([world.refreshes, world.tokens.at(-1)]).toEqual([['refresh-0'], 'Bearer access-1'])
  world.status = 400
  world.nowMs += 46_000
  const renewed = cookiesOf(changed)
  // not only the request that asked
  for (const copy of [renewed, renewed, cookie]) expect((await use(copy)).status).toBe(401)
})

it('leaves the renewal to another instance that has begun it', async () => {
  const cookie = await signIn()
  world.nowMs += 46_000
  const { has } = world.marks
  world.marks = { put: async () => false, has }
  expect((await use(cookie)).status).toBe(200)
  expect([world.refreshes, world.tokens]).toEqual([[], ['Bearer access-0']])
})

it('sends a refresh token once however many others are renewed while its exchange runs', async () => {
  let release = (): void => {}
  world.held = new Promise(resolve => {
    release = resolve
  })
  const first = world.oauth.refresh('console', 'slow')
  await expect.poll(() => world.refreshes).toEqual(['slow'])
  world.held = undefined
  for (let number = 0; number < 1_100; number += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, at) => world.oauth.refresh('console', `token-${number + at}`)),
    )
  const again = world.oauth.refresh('console', 'slow')
  release()
  expect(await again).toEqual(await first)
  expect(world.refreshes.filter(token => token === 'slow')).toEqual(['slow'])
}, 30_000)

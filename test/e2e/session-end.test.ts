/** Sessions of console and connections that have ended: copies of their cookies, and the refresh token at the provider. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSealer } from '../../src/base/secrets/sealer.ts'
import { CookieBrowser } from '../fixtures/cookie-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { localFetch } from '../fixtures/local-fetch.ts'

const SECRETS_KEY = 'k'.repeat(64)
let deployment: Deployment
let console: string
let connections: string

beforeAll(async () => {
  deployment = await deploy({ SECRETS_KEY })
  console = `${deployment.running.addresses.api_url}/console`
  connections = `${deployment.url.replace('//', '//pages.')}/connections`
})
afterAll(() => deployment?.stop())

/** Signs the developer in on the page of the embedded provider. @returns the cookies of the session */
async function signIn(login: string): Promise<string> {
  const browser = new CookieBrowser()
  const page = await browser.open(login)
  await browser.open(page.url, { account: 'developer' })
  return browser.cookiesFor(login)
}

async function logOut(page: string, cookie: string): Promise<void> {
  const { origin } = new URL(page)
  const init = { method: 'POST', redirect: 'manual', headers: { cookie, origin } } as const
  expect((await localFetch(`${page}/logout`, init)).status).toBeLessThan(400)
}

/** The session as the server reads it from the cookies. */
function opened(cookies: string): { readonly client: string; readonly refreshToken: string } {
  const pieces = cookies.split('; ').filter(pair => /-session-\d+\.\d+=/.test(pair))
  const name = pieces[0]!.slice(0, pieces[0]!.lastIndexOf('.'))
  const sealed = pieces.map(pair => pair.slice(pair.indexOf('=') + 1)).join('')
  return JSON.parse(createSealer(SECRETS_KEY).open(sealed, name))
}

async function refreshed(cookies: string): Promise<string> {
  const { client, refreshToken } = opened(cookies)
  const response = await fetch(`${deployment.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: client,
      refresh_token: refreshToken,
    }),
  })
  const body = (await response.json()) as { error?: string }
  return body.error ?? 'issued'
}

const plansStatus = async (cookie: string): Promise<number> =>
  (await fetch(`${console}/api/control/v1/plans`, { headers: { cookie } })).status
const isSignedIn = async (cookie: string): Promise<boolean> =>
  (await (await localFetch(`${connections}/list`, { headers: { cookie } })).text()).includes('Signed in as')

it('of the console: every copy ends with the logout, and its refresh token at the provider', async () => {
  const [cookie, other] = [await signIn(`${console}/login`), await signIn(`${console}/login`)]
  expect([await plansStatus(cookie), await plansStatus(other)]).toEqual([200, 200])
  await logOut(console, cookie)
  expect([await plansStatus(cookie), await plansStatus(other)]).toEqual([401, 200])
  await expect.poll(() => refreshed(cookie)).toBe('invalid_grant')
  expect(await refreshed(other)).toBe('issued')
})

it('of the connections: every copy ends with the logout, and its refresh token at the provider', async () => {
  const cookie = await signIn(`${connections}/login`)
  expect(await isSignedIn(cookie)).toBe(true)
  await logOut(connections, cookie)
  expect(await isSignedIn(cookie)).toBe(false)
  await expect.poll(() => refreshed(cookie)).toBe('invalid_grant')
})

it('names the endpoint to revoke tokens in both documents, and refuses a form without a token', async () => {
  for (const name of ['oauth-authorization-server', 'openid-configuration']) {
    const document = await (await fetch(`${deployment.url}/.well-known/${name}`)).json()
    expect(document).toMatchObject({ revocation_endpoint: `${deployment.url}/oauth/revoke` })
  }
  const body = new URLSearchParams({ client_id: 'x' })
  const response = await fetch(`${deployment.url}/oauth/revoke`, { method: 'POST', body })
  expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }])
})

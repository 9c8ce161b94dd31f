/** Two authorization servers at the page of connections, of which one sends users to the other: no code of one is redeemed at the other. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { CookieBrowser } from '../fixtures/cookie-browser.ts'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'

const toolsets = mkdtempSync(join(tmpdir(), 'connection-mix-up-'))
let honest: OAuthServer
let evil: OAuthServer
let gateway: Deployment
let home: string
let browser: CookieBrowser

/** @param issuer in the ToolSet */
function writeToolSet(name: string, server: OAuthServer, issuer?: string): void {
  const get = { operationId: `${name}_read`, responses: { 200: { description: 'ok' } } }
  const document = { openapi: '3.1.0', info: { title: name, version: '1' }, paths: { [`/${name}`]: { get } } }
  const authentication = {
    type: 'authorization_code',
    tokenUrl: `${server.url}/token`,
    authorizationUrl: `${server.url}/authorize`,
    clientId: 'gateway',
    clientAuthentication: 'none',
    ...(issuer === undefined ? {} : { issuer }),
  }
  const toolSet = {
    apiVersion: 'toolgate.dev/v1alpha1',
    kind: 'ToolSet',
    metadata: { name, namespace: 'platform' },
    spec: {
      displayName: name,
      baseURL: server.url,
      openAPISpec: { inline: JSON.stringify(document) },
      toolDefaults: { authentication },
    },
  }
  writeFileSync(join(toolsets, `${name}.json`), JSON.stringify(toolSet))
}

beforeAll(async () => {
  ;[honest, evil] = await Promise.all([startOAuthServer(), startOAuthServer()])
  mkdirSync(toolsets, { recursive: true })
  writeToolSet('bank', honest, honest.url)
  writeToolSet('plain', honest)
  writeToolSet('weather', evil)
  gateway = await deploy({ TOOLSETS: toolsets })
  home = `${gateway.url.replace('//', '//pages.')}/connections`
  browser = new CookieBrowser()
  const page = await browser.open(`${home}/login`)
  await browser.open(page.url, { account: 'developer' })
})
afterAll(async () => {
  await gateway?.stop()
  await Promise.all([honest?.close(), evil?.close()])
  rmSync(toolsets, { recursive: true, force: true })
})
beforeEach(() => {
  for (const server of [honest, evil]) {
    server.requests.length = 0
    server.redirectUris = undefined
    server.issuer = 'absent'
    server.forward = undefined
  }
})

/** Follows every redirect of the connection. */
async function connect(name: string): Promise<{ readonly status: number; readonly text: string }> {
  const list = await browser.open(`${home}/`)
  const csrf = /name="csrf" value="([^"]*)"/.exec(list.text)![1]!
  return browser.open(`${home}/connect`, { csrf, id: `platform/${name}` })
}

/** Sends the user to the honest server, with the parameters of the request but for the address to return to. */
function forwardTo(redirectUri?: string): void {
  evil.forward = query => {
    const forwarded = new URLSearchParams(query)
    if (redirectUri !== undefined) forwarded.set('redirect_uri', redirectUri)
    return `${honest.url}/authorize?${forwarded}`
  }
}

it('has its own redirect address for each tool set, which the page names', async () => {
  const list = await browser.open(`${home}/`)
  for (const name of ['bank', 'plain', 'weather']) {
    expect(list.text).toContain(`${home}/return/platform/${name}`)
    honest.redirectUris = [`${home}/return/platform/${name}`]
    if (name !== 'weather') expect((await connect(name)).text).toContain('connected since')
  }
})

it('redeems no code of the honest server at the evil one, which sent the user there', async () => {
  honest.redirectUris = [`${home}/return/platform/plain`]
  forwardTo()
  expect((await connect('weather')).status).toBe(400)
  forwardTo(`${home}/return/platform/plain`)
  const mixed = await connect('weather')
  expect([mixed.status, mixed.text]).toEqual([400, expect.stringContaining('another tool set')])
  expect([honest.requests, evil.requests]).toEqual([[], []])
})

it('refuses a return that names another issuer, also where the server accepts every redirect address', async () => {
  honest.issuer = 'sent'
  forwardTo()
  const mixed = await connect('weather')
  expect(mixed.text).toContain('names another authorization server as its issuer')
  expect(mixed.text).toContain('write that issuer in the field issuer')
  expect([honest.requests, evil.requests]).toEqual([[], []])
})

it('refuses a return without an issuer from a server that announces one', async () => {
  honest.issuer = 'announced'
  const stripped = await connect('bank')
  expect(stripped.text).toContain('does not name its issuer, as the authorization server announces')
  expect(honest.requests).toEqual([])
  honest.issuer = 'sent'
  expect((await connect('bank')).text).toContain('connected since')
})

it('revokes the tokens at the endpoint that the server announces, when the user disconnects', async () => {
  const list = await browser.open(`${home}/`)
  expect(honest.revoked).toEqual([])
  await browser.submit(list, 'Disconnect')
  expect(honest.revoked).toEqual([expect.stringMatching(/^refresh\./), expect.stringMatching(/^user\./)])
})

it('refuses a return to the address that all tool sets had before, and names the new one', async () => {
  const old = await browser.open(`${home}/return?code=x&state=y`)
  expect([old.status, old.text]).toEqual([400, expect.stringContaining(`${home}/return/`)])
})

it('sends a code only to the server from which it was requested, also when the tool set changes meanwhile', async () => {
  let state = ''
  honest.forward = query => {
    state = query.get('state')!
    return `${home}/`
  }
  await connect('plain')
  writeToolSet('plain', evil)
  const hosts = async () => (await browser.open(`${home}/`)).text.split(new URL(evil.url).host).length - 1
  await expect.poll(hosts, { timeout: 20_000 }).toBe(2)
  const late = await browser.open(
    `${home}/return/platform/plain?code=code-of-the-honest-server&state=${state}`,
  )
  expect(late.text).toContain('has changed')
  expect(evil.requests).toEqual([])
})

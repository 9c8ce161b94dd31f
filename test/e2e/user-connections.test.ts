/** Accounts that users connect at backends: refusal or question, the page, tokens of two users, refresh, revocation, a failing authorization server. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CookieBrowser } from '../fixtures/cookie-browser.ts'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'
import { registeredToken, signIn } from '../fixtures/registered-client.ts'

const folder = mkdtempSync(join(tmpdir(), 'user-connections-'))
const toolsets = join(folder, 'toolsets')
const dataDir = join(folder, 'data')
const VERSION = { 'mcp-protocol-version': '2025-11-25' }
const SECRET = 'secret-of-the-client'
let oauth: OAuthServer
let backend: Server
let gateway: Deployment
let home: string
const received: string[] = []

beforeAll(async () => {
  oauth = await startOAuthServer()
  backend = createServer((request, response) => {
    const token = (request.headers.authorization ?? '').replace('Bearer ', '')
    received.push(token)
    const status = oauth.accepts(token) ? 200 : 401
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ token }))
  })
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  const backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  mkdirSync(join(toolsets, 'secrets', 'client'), { recursive: true })
  writeFileSync(join(toolsets, 'secrets', 'client', 'secret'), SECRET)
  for (const name of ['mail', 'other']) {
    const get = { operationId: `${name}_read`, responses: { 200: { description: 'ok' } } }
    const paths = { [`/${name}`]: { get } }
    const document = { openapi: '3.1.0', info: { title: name, version: '1' }, paths }
    const authentication = {
      type: 'authorization_code',
      tokenUrl: `${oauth.url}/token`,
      authorizationUrl: `${oauth.url}/authorize?prompt=consent`,
      revocationUrl: `${oauth.url}/revoke`,
      clientId: 'gateway',
      scope: 'mail',
      secretRef: { name: 'client', key: 'secret' },
    }
    writeFileSync(
      join(toolsets, `${name}.json`),
      JSON.stringify({
        apiVersion: 'toolgate.dev/v1alpha1',
        kind: 'ToolSet',
        metadata: { name, namespace: 'platform' },
        spec: {
          displayName: name,
          baseURL: backendUrl,
          openAPISpec: { inline: JSON.stringify(document) },
          toolDefaults: { authentication },
        },
      }),
    )
  }
  const plans = join(folder, 'plans.yaml')
  writeFileSync(plans, JSON.stringify({ rules: [{ tenant: 'acme', plan: 'enterprise' }] }))
  gateway = await deploy({ TOOLSETS: toolsets, DATA_DIR: dataDir, PLANS: plans })
  home = `${gateway.url.replace('//', '//pages.')}/connections`
})
afterAll(async () => {
  await gateway?.stop()
  await oauth?.close()
  await new Promise(resolve => backend.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})

/** Access token of the user for another client than the page. */
const tokenOf = (account: string) => registeredToken(gateway, account)

async function call(token: string, name = 'mail_read') {
  const { json, text } = await gateway.post(
    '/mcp',
    rpc('tools/call', { name, arguments: {} }),
    token,
    VERSION,
  )
  expect(text).not.toContain(SECRET)
  return json.result ?? json
}

const sealed = (): string[] =>
  readdirSync(join(dataDir, 'connections')).filter(name => name.endsWith('.sealed'))

it('refuses a call of a user who has not connected, with the address to open', async () => {
  const token = await tokenOf('developer')
  const refused = await call(token)
  expect(refused).toMatchObject({
    isError: true,
    _meta: {
      'toolgate.dev/backend': {
        failure: 'authorization_not_connected',
        connect_url: `${home}/list?tool_set=platform%2Fmail`,
      },
    },
  })
  expect(refused.content[0].text).toContain(`open ${home}/list?tool_set=platform%2Fmail`)
  expect(received).toEqual([])
})

it('connects the users apart, sends each one its token, and nothing to the other tool set', async () => {
  const users = { developer: new CookieBrowser(), admin: new CookieBrowser() }
  for (const [account, browser] of Object.entries(users)) {
    const first = await browser.open(`${home}/list?tool_set=platform%2Fmail`)
    expect(first.text).toContain('Sign in')
    expect(first.text).not.toContain('Connect</button>')
    const link = /href="([^"]*login[^"]*)"/
      .exec(first.text)![1]!
      .replace(/&#(\d+);/g, (_, c) => String.fromCharCode(c))
    const list = await signIn(browser, link, account)
    expect(list.url).toBe(`${home}/list?tool_set=platform%2Fmail`)
    expect(list.text).toContain(`Signed in as <b>${account}</b>`)
    expect(list.text).toMatch(/class="wanted"><span><b>mail<\/b>.*not connected/)
    const connected = await browser.submit(list, 'Connect')
    expect(connected.text).toContain('connected since')
  }
  const [developer, admin] = [await tokenOf('developer'), await tokenOf('admin')]
  received.length = 0
  expect(await call(developer)).toMatchObject({ isError: false })
  expect(await call(admin)).toMatchObject({ isError: false })
  expect(new Set(received).size).toBe(2)
  expect(await call(developer, 'other_read')).toMatchObject({
    _meta: { 'toolgate.dev/backend': { failure: 'authorization_not_connected' } },
  })
  // sealed at rest
  for (const name of sealed()) {
    const text = readFileSync(join(dataDir, 'connections', name), 'utf8')
    for (const token of received) expect(text).not.toContain(token)
    expect(Buffer.from(text, 'base64').toString('latin1')).not.toContain('refresh.')
  }
})

it('renews the token once for many calls, after the backend has refused it too', async () => {
  const token = await tokenOf('admin')
  oauth.endAccessTokens()
  oauth.requests.length = 0
  const results = await Promise.all(Array.from({ length: 3 }, () => call(token)))
  for (const result of results) expect(result).toMatchObject({ isError: false })
  expect(oauth.requests.map(({ form }) => form.grant_type)).toEqual(['refresh_token'])
})

it('keeps the connection while the authorization server fails', async () => {
  const token = await tokenOf('admin')
  oauth.endAccessTokens()
  oauth.respond = response => response.writeHead(503).end()
  expect(await call(token)).toMatchObject({
    isError: true,
    _meta: { 'toolgate.dev/backend': { failure: 'authorization_unavailable' } },
  })
  oauth.respond = undefined
  expect(await call(token)).toMatchObject({ isError: false })
})

it('does not connect with another state, from another page, or to an unknown tool set', async () => {
  const browser = new CookieBrowser()
  const list = await signIn(browser, `${home}/login`, 'developer')
  const foreign = await browser.open(`${home}/return/platform/mail?code=x&state=guessed`)
  expect([foreign.status, foreign.text]).toEqual([400, expect.stringContaining('started in another browser')])
  const forged = await browser.open(`${home}/connect`, { id: 'platform/other', csrf: 'x' })
  expect(forged.status).toBe(403)
  const unknown = await browser.open(`${home}/connect`, {
    id: 'platform/none',
    csrf: /name="csrf" value="([^"]*)"/.exec(list.text)![1]!,
  })
  expect(unknown.status).toBe(404)
})

it('revokes at the server and removes what was stored when the user disconnects', async () => {
  const browser = new CookieBrowser()
  const token = await tokenOf('developer')
  const list = await signIn(browser, `${home}/login`, 'developer')
  const before = sealed().length
  const after = await browser.submit(list, 'Disconnect')
  expect(after.text).not.toContain('connected since')
  expect(sealed()).toHaveLength(before - 1)
  expect(oauth.revoked.some(each => each.startsWith('refresh.'))).toBe(true)
  expect(await call(token)).toMatchObject({
    _meta: { 'toolgate.dev/backend': { failure: 'authorization_not_connected' } },
  })
})

it('asks a client of 2026-07-28 that shows addresses to open the page', async () => {
  const token = await tokenOf('developer')
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} } },
  }
  const request = rpc('tools/call', { name: 'mail_read', arguments: {}, _meta: meta })
  const { json } = await gateway.post('/mcp', request, token, {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'mail_read',
    accept: 'application/json, text/event-stream',
  })
  expect(json.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: {
      connect: {
        method: 'elicitation/create',
        params: { mode: 'url', url: `${home}/list?tool_set=platform%2Fmail` },
      },
    },
  })
})

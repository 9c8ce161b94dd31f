/** Access tokens for backends through the gateway: client credentials and token exchange, over the wire, with a failing authorization server. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'backend-oauth-'))
const toolsets = join(folder, 'toolsets')
const VERSION = { 'mcp-protocol-version': '2025-11-25' }
const SECRET = 's3cret of the client/+'
let oauth: OAuthServer
let backend: Server
let backendUrl: string
let server: ServedMcp
let gateway: Deployment
let admin: string
/** Bearer tokens that the backend received. */
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
  backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  server = await startMcpServer({ accepts: headers => oauth.accepts((headers.authorization ?? '').slice(7)) })
  mkdirSync(join(toolsets, 'secrets', 'client'), { recursive: true })
  writeFileSync(join(toolsets, 'secrets', 'client', 'secret'), `${SECRET}\n`)
  const client = {
    tokenUrl: `${oauth.url}/token`,
    clientId: 'gateway client',
    secretRef: { name: 'client', key: 'secret' },
  }
  write('machine', { type: 'oauth2_client_credentials', scope: 'read write', ...client })
  write('other', { type: 'oauth2_client_credentials', clientAuthentication: 'post', ...client })
  write('person', { type: 'token_exchange', audience: 'orders', ...client })
  for (const [name, type] of [
    ['server', 'oauth2_client_credentials'],
    ['mine', 'token_exchange'],
  ])
    writeFileSync(
      join(toolsets, `${name}.json`),
      JSON.stringify({
        apiVersion: 'toolgate.dev/v1alpha1',
        kind: 'ToolSet',
        metadata: { name, namespace: 'platform' },
        spec: {
          displayName: name,
          source: { mcp: { url: server.url, authentication: { type, ...client } } },
          naming: { prefix: `${name}_` },
        },
      }),
    )
  gateway = await deploy({
    TOOLSETS: toolsets,
    SSE_LIMITER_ENABLED: 'false',
    TOKEN_EXCHANGE_URLS: `${oauth.url}/token`,
  })
  admin = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  await server?.close()
  await oauth?.close()
  await new Promise(resolve => backend.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => {
  oauth.respond = undefined
  oauth.delayMs = 0
  oauth.expiresIn = 300
})

function write(name: string, authentication: object): void {
  const get = { operationId: `${name}_read`, responses: { 200: { description: 'ok' } } }
  const post = { operationId: `${name}_change`, responses: { 200: { description: 'ok' } } }
  const document = {
    openapi: '3.1.0',
    info: { title: name, version: '1' },
    paths: { [`/${name}`]: { get, post } },
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
        toolDefaults: { authentication, timeout: '3s' },
      },
    }),
  )
}

async function call(name: string, args: object = {}, token = admin) {
  const params = { name, arguments: args }
  const { json, text } = await gateway.post('/mcp', rpc('tools/call', params), token, VERSION)
  expect(text).not.toContain(SECRET)
  return json.result ?? json
}

/** Ends the tokens issued so far, and clears the recorded requests and tokens. */
async function fresh(): Promise<void> {
  oauth.endAccessTokens()
  oauth.requests.length = 0
  received.length = 0
}

describe('client credentials', () => {
  it('sends a token, requested once for many calls', async () => {
    await fresh()
    const results = await Promise.all(Array.from({ length: 20 }, () => call('machine_read')))
    for (const result of results) expect(result).toMatchObject({ isError: false })
    expect(oauth.requests).toHaveLength(1)
    const [request] = oauth.requests
    expect(request!.form).toEqual({ grant_type: 'client_credentials', scope: 'read write' })
    const [, basic] = request!.authorization!.split(' ')
    expect(Buffer.from(basic!, 'base64').toString()).toBe('gateway+client:s3cret+of+the+client%2F%2B')
    expect(new Set(received).size).toBe(1)
    expect(received[0]).toMatch(/^client\./)
  })

  it('identifies the client in the form where it names it', async () => {
    await fresh()
    expect(await call('other_read')).toMatchObject({ isError: false })
    expect(oauth.requests.at(-1)).toEqual({
      authorization: undefined,
      form: { grant_type: 'client_credentials', client_id: 'gateway client', client_secret: SECRET },
    })
  })

  it('gets one other token when the backend refuses the first, and repeats the call once', async () => {
    await call('machine_change')
    await fresh()
    expect(await call('machine_change')).toMatchObject({ isError: false })
    expect(received).toHaveLength(2)
    expect(oauth.requests).toHaveLength(1)
    // a backend that refuses every token is called twice, not more
    await fresh()
    oauth.respond = response =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":"foreign"}')
    const refused = await call('machine_change')
    expect(refused).toMatchObject({ isError: true })
    expect(received).toHaveLength(2)
    oauth.respond = undefined
    expect(await call('machine_change')).toMatchObject({ isError: false })
  })

  it('requests another token before the first expires', async () => {
    await call('machine_read')
    await fresh()
    oauth.expiresIn = 1
    // the backend refuses the token before: this one lives for a second, and is used for half of it
    await call('machine_read')
    await new Promise(resolve => setTimeout(resolve, 600))
    await call('machine_read')
    expect(oauth.requests).toHaveLength(2)
  })

  it.each([
    ['is down', (response: import('node:http').ServerResponse) => response.destroy(), 'cannot be reached'],
    [
      'sends garbage',
      (r: import('node:http').ServerResponse) => r.end('<html>'),
      'contains no valid access token',
    ],
    ['fails', (r: import('node:http').ServerResponse) => r.writeHead(500).end(), 'responded with status 500'],
    [
      'refuses the client',
      (r: import('node:http').ServerResponse) =>
        r.writeHead(401).end(JSON.stringify({ error: 'invalid_client', error_description: SECRET })),
      'did not issue a token: invalid_client',
    ],
    [
      'sends a token with a line break',
      (r: import('node:http').ServerResponse) => r.end(JSON.stringify({ access_token: 'a\r\nx: y' })),
      'contains no valid access token',
    ],
  ])('says so when the authorization server %s, and does not repeat the call', async (_, respond, said) => {
    await fresh()
    await call('machine_read')
    await fresh()
    oauth.respond = respond
    const begunAtMs = performance.now()
    const refused = await call('machine_read')
    // the first token is refused by the backend, then there is no other
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(said) }],
      _meta: { 'toolgate.dev/backend': { failure: expect.stringMatching(/^authorization_/) } },
    })
    expect(received).toHaveLength(1)
    // not asked again for each call, but once a second at most: on a busy machine, a call may begin a second later
    const asked = oauth.requests.length
    await call('machine_read')
    const seconds = Math.floor((performance.now() - begunAtMs) / 1_000)
    expect(oauth.requests.length - asked).toBeLessThanOrEqual(seconds)
    oauth.respond = undefined
    await new Promise(resolve => setTimeout(resolve, 1_050))
    expect(await call('machine_read')).toMatchObject({ isError: false })
  })

  it('waits for a slow authorization server as long as the call may take', async () => {
    await call('machine_read')
    await fresh()
    oauth.delayMs = 4_000
    const late = await call('machine_read')
    expect(late).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('did not respond in time') }],
    })
    await new Promise(resolve => setTimeout(resolve, 1_500))
    oauth.delayMs = 0
    expect(await call('machine_read')).toMatchObject({ isError: false })
  })

  it('lists and calls the tools of an MCP server', async () => {
    expect(await call('server_echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] })
    oauth.endAccessTokens()
    expect(await call('server_echo', { text: 'b' })).toMatchObject({ content: [{ text: 'b' }] })
    expect(server.calls.filter(text => text === 'b')).toHaveLength(1)
    expect(server.requests.some(({ authorization }) => authorization === `Bearer ${admin}`)).toBe(false)
  })
})

describe('token exchange', () => {
  it('sends the token of the caller to the token endpoint only, once for each caller', async () => {
    await fresh()
    await Promise.all([call('person_read'), call('person_read'), call('person_read')])
    expect(oauth.requests).toHaveLength(1)
    expect(oauth.requests[0]!.form).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: admin,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'orders',
    })
    const other = await gateway.token('demo-agent')
    expect(await call('person_read', {}, other)).toMatchObject({ isError: false })
    expect(oauth.requests).toHaveLength(2)
    expect(new Set(received).size).toBe(2)
    expect(received).not.toContain(admin)
    expect(received).not.toContain(other)
  })

  it('keeps the sessions of callers with an MCP server apart', async () => {
    const other = await gateway.token('demo-agent')
    server.requests.length = 0
    expect(await call('mine_echo', { text: 'c' })).toMatchObject({ content: [{ text: 'c' }] })
    expect(await call('mine_echo', { text: 'd' }, other)).toMatchObject({ content: [{ text: 'd' }] })
    const bySession = new Map<string, Set<string>>()
    for (const headers of server.requests) {
      const id = String(headers['mcp-session-id'] ?? '')
      const user = String(headers.authorization).slice('Bearer '.length).split('.')[0]!
      if (id !== '') bySession.set(id, (bySession.get(id) ?? new Set()).add(user))
    }
    const users = [...bySession.values()].filter(known => ![...known].every(user => user === 'client'))
    expect(users.length).toBeGreaterThanOrEqual(2)
    for (const known of users) expect(known.size).toBe(1)
  })
})

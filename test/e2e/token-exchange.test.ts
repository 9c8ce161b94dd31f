/** Where tokens of callers may be exchanged: at the issuer and at listed addresses; no other address gets one, from an API or a tool set. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'
import { type ServedMcp, startMcpServer } from '../fixtures/mcp-server.ts'
import { type OAuthServer, startOAuthServer } from '../fixtures/oauth-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'token-exchange-'))
const VERSION = { 'mcp-protocol-version': '2025-11-25' }
const REACHES = { timeout: 30_000, interval: 100 }
const FIELD = 'mcp.authentication.token_url'

/** Token endpoints: of the issuer, listed by the operator, and not permitted. */
let issuing: OAuthServer
let listed: OAuthServer
let foreign: OAuthServer
let server: ServedMcp
let provider: Server
let issuer: string
let sign: (claims: object) => Promise<string>
let gateway: Deployment
let tenant: string
let platform: string
let administrator: string
/** Id of an API that exchanged at the foreign address when the operator still listed it. */
let stored: string

const exchanging = (tokenUrl: string) => ({
  authentication: {
    type: 'token_exchange',
    token_url: tokenUrl,
    client_id: 'x',
    client_authentication: 'none',
  },
})
const at = (path: string, tokenUrl: string) => ({
  name: path.slice(1),
  path,
  type: 'mcp',
  upstream_url: server.url,
  auth_required: false,
  mcp: exchanging(tokenUrl),
})

async function api(method: string, path: string, body?: object, token = administrator) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  return read(await fetch(`${gateway.running.addresses.api_url}/v1${path}`, { method, headers, ...sent }))
}
const apis = () => `/tenants/${tenant}/apis`

async function made(path: string, body: object, token?: string): Promise<string> {
  const reply = await api('POST', path, body, token)
  expect(reply.status, reply.text).toBe(201)
  return reply.json.id
}

async function call(name: string) {
  const request = rpc('tools/call', { name, arguments: { text: 'a' } })
  const { json } = await gateway.post('/mcp', request, administrator, VERSION)
  return json.result ?? json
}

async function toolNames(): Promise<string[]> {
  const { json } = await gateway.post('/mcp', rpc('tools/list'), administrator, VERSION)
  return (json.result?.tools ?? []).map(({ name }: { name: string }) => name)
}

async function start(urls: readonly string[]): Promise<void> {
  gateway = await deploy({
    DATA_DIR: join(folder, 'data'),
    AUTH_ISSUER: issuer,
    TOOLSETS: join(folder, 'toolsets'),
    SSE_LIMITER_ENABLED: 'false',
    TOKEN_EXCHANGE_URLS: urls.join(','),
    WORKERS: '2',
    PLANS: join(folder, 'plans.yaml'),
  })
  await gateway.running.ready
}

beforeAll(async () => {
  issuing = await startOAuthServer()
  listed = await startOAuthServer()
  foreign = await startOAuthServer()
  server = await startMcpServer()
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', use: 'sig', alg: 'RS256' }
  provider = createServer(({ url }, response) => {
    const document = { issuer, jwks_uri: `${issuer}/keys`, token_endpoint: `${issuing.url}/token` }
    response.end(JSON.stringify(url === '/keys' ? { keys: [jwk] } : document))
  })
  await new Promise<void>(resolve => provider.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  sign = claims =>
    new SignJWT({ azp: 'caller', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setIssuer(issuer)
      .setSubject('caller')
      .setAudience('platform-mcp-gateway')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
  platform = await sign({ roles: ['cpi-admin'] })
  administrator = await sign({ roles: ['tenant-admin'], tenant_id: 'acme' })
  const toolsets = join(folder, 'toolsets')
  mkdirSync(toolsets)
  writeFileSync(
    join(folder, 'plans.yaml'),
    JSON.stringify({ plans: {}, consumers: { caller: 'enterprise' } }),
  )
  const authentication = {
    type: 'token_exchange',
    tokenUrl: `${foreign.url}/token`,
    clientId: 'x',
    clientAuthentication: 'none',
  }
  writeFileSync(
    join(toolsets, 'operator.json'),
    JSON.stringify({
      apiVersion: 'toolgate.dev/v1alpha1',
      kind: 'ToolSet',
      metadata: { name: 'operator', namespace: 'tenant-acme' },
      spec: {
        displayName: 'operator',
        source: { mcp: { url: server.url, authentication } },
        naming: { prefix: 'operator_' },
      },
    }),
  )
  await start([`${listed.url}/token`, `${foreign.url}/token`])
  tenant = await made('/tenants', { name: 'acme', tier: 'enterprise' }, platform)
  stored = await made(apis(), at('/stored', `${foreign.url}/token`))
  while (!(await toolNames()).includes('stored_echo')) await sleep(REACHES.interval)
  await gateway.running.stop()
  await start([`${listed.url}/token`])
}, 600_000)
beforeEach(() => {
  for (const each of [issuing, listed, foreign]) each.requests.length = 0
})
afterAll(async () => {
  await gateway?.stop()
  await server?.close()
  for (const each of [issuing, listed, foreign]) await each?.close()
  await new Promise(resolve => provider.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})

/** The token of the caller, as it was sent. */
const sentTo = ({ requests }: OAuthServer) => requests.flatMap(({ form }) => form.subject_token ?? [])

describe('an address that is not permitted', () => {
  it('is refused when an API is written', async () => {
    const id = await made(apis(), { ...at('/written', ''), mcp: null })
    const url = `${foreign.url}/token`
    const configuration = {
      apiVersion: 'toolgate.dev/v1',
      kind: 'Configuration',
      owner: 'test',
      tenants: { acme: { apis: { '/declared': { ...at('/x', url), path: undefined } } } },
    }
    for (const [reply, field] of [
      [await api('POST', apis(), at('/collecting', url)), FIELD],
      [await api('PATCH', `${apis()}/${id}`, { mcp: exchanging(url) }), FIELD],
      [await api('POST', '/config', configuration), expect.stringContaining(FIELD)],
    ] as const) {
      expect([reply.status, reply.json.error?.code], reply.text).toEqual([400, 'validation_error'])
      expect(reply.json.error.details).toEqual([
        { field, message: expect.stringContaining('TOKEN_EXCHANGE_URLS') },
      ])
    }
    expect((await api('GET', `${apis()}/${id}`)).json.mcp).toBeNull()
  })

  it.each([
    ['another path', () => `${listed.url}/token/`],
    ['another query', () => `${listed.url}/token?x=1`],
    ['an empty query', () => `${listed.url}/token?`],
    ['another case', () => `${listed.url}/Token`],
    ['another host', () => `${listed.url.replace('127.0.0.1', 'localhost')}/token`],
    ['an encoded path', () => `${listed.url}/%74oken`],
    ['another scheme', () => `${listed.url.replace('http:', 'https:')}/token`],
  ])('differs from a listed one by %s', async (_, url) => {
    expect((await api('POST', apis(), at('/other', url()))).status).toBe(400)
  })

  it('keeps an API that was stored earlier from being published', async () => {
    await made(apis(), at('/published', `${listed.url}/token`))
    await expect.poll(toolNames, REACHES).toContain('published_echo')
    expect(await toolNames()).not.toContain('stored_echo')
    expect(await call('stored_echo')).not.toMatchObject({ isError: false })
    const { json } = await api('GET', `${apis()}/${stored}`)
    expect(json.spec_status).toMatchObject({
      state: 'error',
      message: expect.stringContaining('TOKEN_EXCHANGE_URLS'),
    })
    // other fields can be changed, and a permitted address repairs it
    expect((await api('PATCH', `${apis()}/${stored}`, { description: 'x' })).status).toBe(200)
    expect(foreign.requests).toEqual([])
    expect((await api('PATCH', `${apis()}/${stored}`, { mcp: null })).status).toBe(200)
    await expect.poll(toolNames, REACHES).toContain('stored_echo')
  })

  it('gets no token from a tool set, and the call says why', async () => {
    await expect.poll(toolNames, REACHES).toContain('operator_echo')
    expect(await call('operator_echo')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('TOKEN_EXCHANGE_URLS') }],
      _meta: { 'toolgate.dev/backend': { failure: 'authorization_refused' } },
    })
    expect(foreign.requests).toEqual([])
  })
})

describe('a token is exchanged', () => {
  it.each([
    ['the token endpoint of the issuer', () => issuing, '/token'],
    ['a listed address', () => listed, '/token'],
    ['a listed address in another form', () => listed, '/x/../token'],
  ])('at %s', async (name, endpoint, address) => {
    const path = `/${name.replaceAll(' ', '-')}`
    await made(apis(), at(path, endpoint().url + address))
    const tool = `${path.slice(1).replaceAll('-', '_')}_echo`
    // the threads get a new tool one after the other
    await expect.poll(() => call(tool), REACHES).toMatchObject({ content: [{ text: 'a' }] })
    expect(sentTo(endpoint())).toEqual([administrator])
    expect(foreign.requests).toEqual([])
  })

  it('but not where that address redirects', async () => {
    const { mcp, ...fields } = at('/redirected', `${listed.url}/token`)
    const authentication = { ...mcp.authentication, audience: 'without a cached token' }
    await made(apis(), { ...fields, mcp: { authentication } })
    listed.respond = response => response.writeHead(307, { location: `${foreign.url}/token` }).end()
    await expect.poll(() => call('redirected_echo'), REACHES).toMatchObject({ isError: true })
    listed.respond = undefined
    expect(sentTo(listed)).toEqual([administrator])
    expect(foreign.requests).toEqual([])
  })
})

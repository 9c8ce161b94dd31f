/** Registration: which metadata is accepted, what is passed on, what clients get back, and that no half-made client stays. Providers are real servers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OAuthClientInformationFullSchema } from '@modelcontextprotocol/sdk/shared/auth.js'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readRegistration } from '../../../../../src/data-plane/http/oauth/client-metadata.ts'
import { adminUrlOf, keycloakAdmin } from '../../../../../src/data-plane/http/oauth/provider-admin.ts'
import { type DevProvider, startDevProvider } from '../../../../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../../../../src/telemetry/log.ts'
import { frontOf, type Provider, providerThat, read } from './front.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
function front(issuer: string, more: Parameters<typeof frontOf>[1] = {}) {
  const made = frontOf(issuer, more)
  closers.push(made.close)
  return made.front
}
const JSON_TYPE = 'application/json'
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
/** What the official client sends. */
const SDK_CLIENT = {
  client_name: 'Official client',
  redirect_uris: ['http://localhost:39999/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'client_secret_post',
  scope: 'openid platform:read offline_access made-up',
}

describe('in front of the embedded provider', () => {
  let dataDir: string
  let provider: DevProvider
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'toolgate-oauth-'))
    provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir, log: SILENT })
  })
  afterAll(async () => {
    await provider.close()
    await rm(dataDir, { recursive: true })
  })

  it('always makes a public client, and returns all fields that clients require', async () => {
    const { status, headers, body } = read(
      await front(provider.issuer).register(JSON_TYPE, bytes(SDK_CLIENT)),
    )
    expect(status).toBe(201)
    expect(headers['cache-control']).toBe('no-store')
    expect(OAuthClientInformationFullSchema.parse(body)).toMatchObject({
      client_name: 'Official client',
      redirect_uris: SDK_CLIENT.redirect_uris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'openid platform:read',
    })
    expect(body).toMatchObject({ application_type: 'native' })
    expect(body.registration_access_token).toBeTypeOf('string')
    expect(body.registration_client_uri).toBeTypeOf('string')
    expect(body).not.toHaveProperty('client_secret')
  })

  it('takes the private-use scheme of a desktop editor that does not declare itself native', async () => {
    const { status, body } = read(
      await front(provider.issuer).register(
        JSON_TYPE,
        bytes({ redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] }),
      ),
    )
    expect(status).toBe(201)
    expect(body.application_type).toBe('native')
  })
})

it.each([
  [['https://app.example/cb'], 'web'],
  [['http://pages.localhost:8080/cb'], 'web'],
  [['http://localhost/cb'], 'native'],
  [['http://127.0.0.1:8080/cb'], 'native'],
  [['http://[::1]:8080/cb'], 'native'],
  [['https://app.example/cb', 'http://localhost:1/cb'], 'native'],
  [['com.example.app:/cb'], 'native'],
])('redirects to %j are those of a client of type %s', (redirect_uris, application_type) => {
  expect(readRegistration({ redirect_uris })).toMatchObject({ metadata: { application_type } })
})

describe('metadata', () => {
  it.each<[string, object, string]>([
    ['no redirect', {}, 'invalid_redirect_uri'],
    ['an empty list of redirects', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['a redirect that is not a list', { redirect_uris: 'http://localhost/' }, 'invalid_redirect_uri'],
    ['a redirect that is not an address', { redirect_uris: ['/callback'] }, 'invalid_redirect_uri'],
    ['plain http elsewhere', { redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri'],
    [
      'plain http to a look-alike',
      { redirect_uris: ['http://localhost.evil.example/cb'] },
      'invalid_redirect_uri',
    ],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['a script in other letters', { redirect_uris: ['JaVaScRiPt:alert(1)'] }, 'invalid_redirect_uri'],
    ['data', { redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    ['a file', { redirect_uris: ['file:///etc/passwd'] }, 'invalid_redirect_uri'],
    ['a scheme without a dot', { redirect_uris: ['myapp://callback'] }, 'invalid_redirect_uri'],
    [
      'a scheme of the browser',
      { redirect_uris: ['view-source:https://a.example/'] },
      'invalid_redirect_uri',
    ],
    ['a wildcard host', { redirect_uris: ['https://*.example/cb'] }, 'invalid_redirect_uri'],
    ['a wildcard path', { redirect_uris: ['https://a.example/*'] }, 'invalid_redirect_uri'],
    ['a wildcard alone', { redirect_uris: ['*'] }, 'invalid_redirect_uri'],
    [
      'a wildcard scope',
      { redirect_uris: ['https://a.example/'], scope: 'openid *' },
      'invalid_client_metadata',
    ],
    ['a fragment', { redirect_uris: ['https://app.example/cb#x'] }, 'invalid_redirect_uri'],
    ['a user name', { redirect_uris: ['https://u:p@app.example/cb'] }, 'invalid_redirect_uri'],
    ['a line break', { redirect_uris: ['https://app.example/\ncb'] }, 'invalid_redirect_uri'],
    [
      '21 redirects',
      { redirect_uris: Array.from({ length: 21 }, (_, at) => `https://app.example/${at}`) },
      'invalid_redirect_uri',
    ],
    [
      'one bad among good',
      { redirect_uris: ['https://app.example/', 'http://app.example/'] },
      'invalid_redirect_uri',
    ],
    [
      'an unknown application type',
      { redirect_uris: ['https://a.example/'], application_type: 'x' },
      'invalid_client_metadata',
    ],
    [
      'a scope that is a list',
      { redirect_uris: ['https://a.example/'], scope: ['openid'] },
      'invalid_client_metadata',
    ],
    [
      'a name with a control character',
      { redirect_uris: ['https://a.example/'], client_name: 'a\u0000b' },
      'invalid_client_metadata',
    ],
    [
      'a logo that is a script',
      { redirect_uris: ['https://a.example/'], logo_uri: 'javascript:x' },
      'invalid_client_metadata',
    ],
  ])('with %s is refused', (_, metadata, error) => {
    expect(readRegistration(metadata as Record<string, unknown>)).toMatchObject({ error })
  })

  it.each([
    'https://a.example/cb',
    'http://127.0.0.1:7777/cb',
    'http://[::1]/cb',
    'com.example.app:/oauth',
    'vscode://vscode.github-authentication/did-authenticate',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ])('with the redirect %s is accepted, without administrative scopes', uri => {
    const scope = 'openid platform:read platform:admin platform:deploy admin'
    expect(readRegistration({ redirect_uris: [uri], scope })).toMatchObject({ scope: 'openid platform:read' })
  })

  it('of any shape is refused or becomes a public PKCE client, and never throws', () => {
    const names = [
      'redirect_uris',
      'client_name',
      'scope',
      'application_type',
      'grant_types',
      'token_endpoint_auth_method',
      'logo_uri',
      'jwks',
      '__proto__',
    ]
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(['https://a.example/'], ['http://127.0.0.1/x'], 'web', 'openid', 'https://x/'),
    )
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), metadata => {
        const read = readRegistration(metadata as Record<string, unknown>)
        if ('error' in read) return
        expect(read.metadata).toMatchObject({
          token_endpoint_auth_method: 'none',
          response_types: ['code'],
          grant_types: ['authorization_code', 'refresh_token'],
        })
        expect(read.metadata).not.toHaveProperty('jwks')
        expect(read.metadata).not.toHaveProperty('scope')
      }),
      { numRuns: 10_000 },
    )
  })

  it.each<[string, string, Buffer]>([
    ['another content type', 'text/plain', bytes(SDK_CLIENT)],
    ['broken JSON', JSON_TYPE, Buffer.from('{')],
    ['a list', JSON_TYPE, bytes([SDK_CLIENT])],
    ['broken UTF-8', JSON_TYPE, Buffer.from('{"client_name":"\xff"}', 'latin1')],
    ['40 KiB', JSON_TYPE, bytes({ ...SDK_CLIENT, x: 'y'.repeat(40_000) })],
  ])('sent as %s is 400 and not passed on', async (_, type, body) => {
    const provider = await registrar()
    expect(read(await front(provider.issuer).register(type, body))).toMatchObject({
      status: 400,
      body: { error: 'invalid_client_metadata' },
    })
    expect(provider.received.filter(one => one.method === 'POST')).toEqual([])
  })
})

/** A provider without admin API that returns registrations as sent. */
async function registrar(
  reply?: (response: { writeHead(status: number): { end(text: string): void } }) => void,
): Promise<Provider> {
  const provider = await providerThat(({ url, body }, response) => {
    if (url.endsWith('/.well-known/openid-configuration')) return void response.writeHead(503).end()
    if (reply !== undefined) return reply(response)
    response.writeHead(201).end(
      JSON.stringify({
        ...JSON.parse(body || '{}'),
        client_id: 'c1',
        client_secret: 's3cret',
        client_secret_expires_at: 0,
      }),
    )
  })
  closers.push(provider.close)
  return provider
}

describe('the response of the provider', () => {
  it('loses its secret; the scopes of the client are returned, not forwarded', async () => {
    const provider = await registrar()
    const { body } = read(
      await front(provider.issuer).register(
        JSON_TYPE,
        bytes({ ...SDK_CLIENT, junk: { a: 1 }, client_id: 'mine' }),
      ),
    )
    expect(body).not.toHaveProperty('client_secret')
    expect(body).not.toHaveProperty('client_secret_expires_at')
    expect(body).toMatchObject({ client_id: 'c1', scope: 'openid platform:read' })
    const sent = JSON.parse(provider.received.find(one => one.method === 'POST')!.body)
    expect(Object.keys(sent).sort()).toEqual([
      'application_type',
      'client_name',
      'grant_types',
      'redirect_uris',
      'response_types',
      'token_endpoint_auth_method',
    ])
  })

  it.each<[string, number, string, number, string]>([
    [
      'bad metadata',
      400,
      '{"error":"invalid_client_metadata","error_description":"no"}',
      400,
      'invalid_client_metadata',
    ],
    ['a bad redirect', 400, '{"error":"invalid_redirect_uri"}', 400, 'invalid_redirect_uri'],
    ['an unknown fault', 400, 'nonsense', 400, 'invalid_client_metadata'],
    [
      'a policy against it',
      403,
      '{"error":"insufficient_scope","error_description":"Policy Trusted Hosts"}',
      403,
      'access_denied',
    ],
    ['a token is needed', 401, '{"error":"invalid_token"}', 403, 'access_denied'],
    ['the endpoint does not exist', 404, '', 403, 'access_denied'],
    ['too many', 429, '', 429, 'temporarily_unavailable'],
    ['a failure', 500, '', 502, 'server_error'],
    ['success without a client', 201, '{}', 502, 'server_error'],
    ['a page', 200, '<html>', 502, 'server_error'],
    ['a redirect', 302, '', 502, 'server_error'],
  ])('%s becomes what is specified', async (_, given, text, status, error) => {
    const provider = await registrar(response => response.writeHead(given).end(text))
    expect(read(await front(provider.issuer).register(JSON_TYPE, bytes(SDK_CLIENT)))).toMatchObject({
      status,
      body: { error },
    })
  })

  it('is 502 when it is unavailable', async () => {
    expect(
      read(await front('http://127.0.0.1:9/realms/x').register(JSON_TYPE, bytes(SDK_CLIENT))),
    ).toMatchObject({ status: 502, body: { error: 'server_error' } })
  })
})

describe('the patch after registration', () => {
  /** Behaves like the admin API in what a running Keycloak cannot be made to do: tokens revoked, roles missing, failures in between. */
  async function withAdmin(fault: 'none' | 'revoked' | 'forbidden' | 'unknown' | 'put-fails' | 'no-token') {
    let tokens = 0
    const removed: string[] = []
    const provider = await providerThat(({ method, url, issuer }, response) => {
      const path = new URL(url, 'http://x').pathname
      if (path.endsWith('/openid-configuration')) return void response.writeHead(503).end()
      if (path.endsWith('/token')) {
        tokens++
        if (fault === 'no-token') return void response.writeHead(401).end('{"error":"invalid_client"}')
        return void response.end(JSON.stringify({ access_token: `admin-${tokens}`, expires_in: 300 }))
      }
      if (method === 'DELETE') {
        removed.push(path)
        return void response.writeHead(204).end()
      }
      if (method === 'POST')
        return void response.writeHead(201).end(
          JSON.stringify({
            client_id: 'c 1',
            registration_access_token: 'rat',
            registration_client_uri: `${issuer}/clients-registrations/openid-connect/c1`,
          }),
        )
      const bearer = provider.received.at(-1)!.headers.authorization
      if (fault === 'revoked' && bearer === 'Bearer admin-1') return void response.writeHead(401).end()
      if (fault === 'forbidden') return void response.writeHead(403).end()
      if (method === 'GET')
        return void response.end(
          JSON.stringify(
            fault === 'unknown'
              ? []
              : [
                  { id: 'other', clientId: 'c 1x' },
                  { id: 'uuid/1', clientId: 'c 1', secret: 's', name: 'kept', attributes: { mine: 'x' } },
                ],
          ),
        )
      response.writeHead(fault === 'put-fails' ? 409 : 204).end()
    })
    closers.push(provider.close)
    const egressed = frontOf(undefined)
    closers.push(egressed.close)
    const admin = keycloakAdmin({
      egress: egressed.egress,
      adminUrl: adminUrlOf(provider.issuer)!,
      tokenEndpoint: `${provider.issuer}/protocol/openid-connect/token`,
      clientId: 'admin',
      clientSecret: 'admin secret&',
      nowMs: Date.now,
    })
    return { provider, removed, made: front(provider.issuer, { admin }), tokens: () => tokens }
  }

  it('sets public, S256 and the attribute that drops iss, keeps the rest, and uses one token for several clients', async () => {
    const { provider, made, tokens } = await withAdmin('none')
    for (let i = 0; i < 3; i++) expect((await made.register(JSON_TYPE, bytes(SDK_CLIENT))).status).toBe(201)
    expect(tokens()).toBe(1)
    const put = provider.received.find(one => one.method === 'PUT')!
    expect(put.url).toBe('/admin/realms/x/clients/uuid%2F1')
    expect(JSON.parse(put.body)).toEqual({
      id: 'uuid/1',
      clientId: 'c 1',
      name: 'kept',
      publicClient: true,
      attributes: {
        mine: 'x',
        'pkce.code.challenge.method': 'S256',
        'exclude.issuer.from.auth.response': 'true',
      },
    })
    expect(provider.received.find(one => one.method === 'GET' && one.url.includes('clientId='))!.url).toBe(
      '/admin/realms/x/clients?clientId=c%201',
    )
    expect(provider.received.find(one => one.url.endsWith('/token'))!.body).toContain(
      'client_secret=admin+secret%26',
    )
  })

  it('gets a new token when the old one is not taken any more', async () => {
    const { made, tokens } = await withAdmin('revoked')
    expect((await made.register(JSON_TYPE, bytes(SDK_CLIENT))).status).toBe(201)
    expect(tokens()).toBe(2)
  })

  it.each(['forbidden', 'unknown', 'put-fails', 'no-token'] as const)(
    'removes the client again when it cannot be done: %s',
    async fault => {
      const { made, removed } = await withAdmin(fault)
      expect(read(await made.register(JSON_TYPE, bytes(SDK_CLIENT)))).toMatchObject({
        status: 502,
        body: { error: 'server_error' },
      })
      expect(removed).toEqual(['/realms/x/clients-registrations/openid-connect/c1'])
    },
  )

  it('knows the admin address of a realm, and of nothing else', () => {
    expect(adminUrlOf('https://id.example/auth/realms/platform')).toBe(
      'https://id.example/auth/admin/realms/platform',
    )
    expect(adminUrlOf('https://id.example/')).toBeUndefined()
  })
})

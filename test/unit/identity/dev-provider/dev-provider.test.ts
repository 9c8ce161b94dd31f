/** The embedded identity provider over real HTTP: every grant, the login page, registration, and that its tokens verify. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DevProvider, startDevProvider } from '../../../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { Browser } from '../browser.ts'
import { verifierFor } from '../provider.ts'

let dataDir: string
let provider: DevProvider
let metadata: Record<string, string>
const printed: string[] = []

/** Documents of clients by address. */
const CLIENT_DOCUMENTS: { readonly [address: string]: object } = {
  'https://app.example/client.json': { client_name: 'By document' },
  'https://other.example/client.json': { client_name: 'Other', client_id: 'https://app.example/client.json' },
  'https://robot.example/client.json': {
    client_name: 'Robot',
    grant_types: ['client_credentials'],
    response_types: [],
  },
}
const documents = async (address: string | URL | Request): Promise<Response> => {
  const document = CLIENT_DOCUMENTS[String(address)]
  if (document === undefined) return new Response('', { status: 404 })
  return Response.json({ client_id: String(address), redirect_uris: [REDIRECT], ...document })
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'toolgate-dev-'))
})
afterAll(() => rm(dataDir, { recursive: true }))

// for each test, so that a mutant of the start meets one; the folder keeps the signing key
beforeEach(async () => {
  const spies = (['log', 'info', 'warn', 'error'] as const).map(name =>
    vi.spyOn(console, name).mockImplementation((...parts) => void printed.push(parts.join(' '))),
  )
  provider = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir, log: SILENT, fetch: documents })
  for (const spy of spies) spy.mockRestore()
  metadata = (await (
    await fetch(`${provider.issuer}/.well-known/openid-configuration`)
  ).json()) as typeof metadata
})
afterEach(() => provider.close())

/** The form that redeems the code of a login. */
const exchangeOf = (client: string, landed: URL, verifier: string) => ({
  grant_type: 'authorization_code',
  client_id: client,
  code: landed.searchParams.get('code')!,
  redirect_uri: REDIRECT,
  code_verifier: verifier,
})

async function token(form: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(metadata.token_endpoint!, {
    method: 'POST',
    headers,
    body: new URLSearchParams(form),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}
const clientCredentials = (id: string, more: Record<string, string> = {}) =>
  token({ grant_type: 'client_credentials', client_id: id, client_secret: `${id}-secret`, ...more })

describe('the front', () => {
  it('says nothing on the console when it starts', () => {
    expect(printed).toEqual([])
  })

  it('shows a realm with the addresses of Keycloak, all under the issuer', () => {
    expect(provider.issuer).toBe(`http://localhost:${provider.port}/realms/platform`)
    expect(metadata).toMatchObject({
      issuer: provider.issuer,
      authorization_endpoint: `${provider.issuer}/protocol/openid-connect/auth`,
      token_endpoint: `${provider.issuer}/protocol/openid-connect/token`,
      jwks_uri: `${provider.issuer}/protocol/openid-connect/certs`,
      registration_endpoint: `${provider.issuer}/clients-registrations/openid-connect`,
      authorization_response_iss_parameter_supported: false,
      code_challenge_methods_supported: ['S256'],
    })
  })

  it('gives the same addresses whatever name it is reached under, and 404 outside the realm', async () => {
    const other = `http://127.0.0.1:${provider.port}`
    const seen = await fetch(`${other}/realms/platform/.well-known/openid-configuration`)
    expect(await seen.json()).toEqual(metadata)
    expect((await fetch(`${other}/`)).status).toBe(404)
    expect((await fetch(`${other}/realms/other/.well-known/openid-configuration`)).status).toBe(404)
  })

  it('publishes the public key only, and keeps the private one for its owner', async () => {
    const { keys } = (await (await fetch(metadata.jwks_uri!)).json()) as { keys: Record<string, string>[] }
    expect(keys).toHaveLength(1)
    expect(keys[0]).toMatchObject({ kty: 'RSA', alg: 'RS256', use: 'sig' })
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(keys[0]).not.toHaveProperty(secret)
    const file = join(dataDir, 'dev-identity', 'jwks.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).toContain('"d":')
  })
})

describe('client credentials', () => {
  it.each([
    ['demo-agent', 'platform:read platform:execute', []],
    ['demo-viewer', 'platform:read', []],
    ['demo-admin', 'platform:read platform:write platform:execute platform:admin', ['cpi-admin']],
  ])('gives %s the scopes it may have, its roles and its tenant', async (id, scope, roles) => {
    const { status, body } = await clientCredentials(id)
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'Bearer', scope, expires_in: 3600 })
    expect(decodeProtectedHeader(body.access_token!)).toMatchObject({ alg: 'RS256' })
    expect(decodeJwt(body.access_token!)).toMatchObject({
      iss: provider.issuer,
      aud: 'platform-mcp-gateway',
      azp: id,
      client_id: id,
      tenant_id: 'acme',
      realm_access: { roles },
      scope,
    })
  })

  it('grants no more than was asked for, and refuses what the client may not have', async () => {
    expect((await clientCredentials('demo-agent', { scope: 'platform:read' })).body.scope).toBe(
      'platform:read',
    )
    expect(await clientCredentials('demo-viewer', { scope: 'platform:execute' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_scope' },
    })
  })

  it('takes the secret in the Authorization header too, and refuses a wrong one', async () => {
    const basic = (secret: string) => ({
      authorization: `Basic ${Buffer.from(`demo-agent:${secret}`).toString('base64')}`,
    })
    expect((await token({ grant_type: 'client_credentials' }, basic('demo-agent-secret'))).status).toBe(200)
    expect(await token({ grant_type: 'client_credentials' }, basic('wrong'))).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    })
  })

  it('makes tokens for the resource that the client names, and for no other (RFC 8707)', async () => {
    const resource = 'http://localhost:8080/mcp/sse'
    const { body } = await clientCredentials('demo-agent', { resource })
    expect(decodeJwt(body.access_token!).aud).toBe(resource)
    expect(await clientCredentials('demo-agent', { resource: 'urn:other' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    })
  })

  it('makes tokens that the token verifier accepts', async () => {
    const verifier = verifierFor(provider)
    const { body } = await clientCredentials('demo-admin')
    expect(await verifier.verify(body.access_token!, Date.now())).toMatchObject({
      kind: 'token',
      consumer: 'demo-admin',
      tenant: 'acme',
      roles: ['cpi-admin'],
      scopes: ['admin', 'execute', 'read', 'write'],
    })
    await verifier.close()
  })
})

const REDIRECT = 'http://127.0.0.1:39999/callback'

async function register(more: object = {}) {
  const response = await fetch(metadata.registration_endpoint!, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: '<b>Test & Co</b>', redirect_uris: [REDIRECT], ...more }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

function authorization(clientId: string, scope: string | undefined, more: Record<string, string> = {}) {
  const verifier = randomBytes(32).toString('base64url')
  const url = new URL(metadata.authorization_endpoint!)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    ...(scope === undefined ? {} : { scope }),
    state: 'st',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }).toString()
  return { url: url.href, verifier }
}

async function signIn(
  clientId: string,
  scope: string | undefined,
  account: string,
  more: Record<string, string> = {},
) {
  const browser = new Browser()
  const { url, verifier } = authorization(clientId, scope, more)
  const page = await browser.follow(url, REDIRECT)
  const html = await page.response!.text()
  const done = await browser.follow(page.url, REDIRECT, { account })
  return { html, verifier, landed: new URL(done.url), browser }
}

describe('registration', () => {
  it('makes a public client and echoes what the client needs back', async () => {
    const { status, body } = await register()
    expect(status).toBe(201)
    expect(body).toMatchObject({
      client_name: '<b>Test & Co</b>',
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    })
    expect(body.client_id).toBeTypeOf('string')
    expect(body.registration_access_token).toBeTypeOf('string')
    expect(body.registration_client_uri).toContain(provider.issuer)
    expect(body).not.toHaveProperty('client_secret')
  })

  it.each([
    { token_endpoint_auth_method: 'client_secret_basic' },
    {
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials'],
      redirect_uris: [],
    },
    { scope: 'openid platform:admin' },
    { scope: 'platform:deploy' },
  ])('refuses a client that would be confidential or privileged: %o', async metadata => {
    expect(await register(metadata)).toMatchObject({
      status: 400,
      body: { error: 'invalid_client_metadata' },
    })
  })

  it('refuses metadata that makes no sense', async () => {
    expect(await register({ redirect_uris: ['not a url'] })).toMatchObject({
      status: 400,
      body: { error: 'invalid_redirect_uri' },
    })
    expect(await register({ grant_types: ['password'] })).toMatchObject({
      status: 400,
      body: { error: 'invalid_client_metadata' },
    })
  })
})

describe('authorization code with PKCE', () => {
  it('shows a page, signs in with one form, and gives tokens and a refresh token that works', async () => {
    const client = (await register()).body.client_id!
    const { html, verifier, landed } = await signIn(
      client,
      'openid platform:read platform:write platform:execute',
      'developer',
      {
        resource: 'http://localhost:8080/mcp',
      },
    )
    expect(html).toContain('&#60;b&#62;Test &#38; Co&#60;/b&#62;')
    expect(landed.searchParams.get('state')).toBe('st')
    expect(landed.searchParams.has('iss')).toBe(false)
    const exchange = exchangeOf(client, landed, verifier)
    const got = await token({ ...exchange, resource: 'http://localhost:8080/mcp' })
    expect(got.status).toBe(200)
    expect(decodeJwt(got.body.access_token!)).toMatchObject({
      sub: 'developer',
      azp: client,
      tenant_id: 'acme',
      aud: 'http://localhost:8080/mcp',
      scope: 'openid platform:read platform:write platform:execute',
    })
    expect(got.body.id_token).toBeTypeOf('string')
    const refreshed = await token({
      grant_type: 'refresh_token',
      client_id: client,
      refresh_token: got.body.refresh_token!,
    })
    expect(refreshed.status).toBe(200)
    expect(decodeJwt(refreshed.body.access_token!)).toMatchObject({
      sub: 'developer',
      scope: expect.stringContaining('platform:write'),
    })
    expect(await token(exchange)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
  })

  it('works without resource and without openid', async () => {
    const client = (await register()).body.client_id!
    const { verifier, landed } = await signIn(client, 'platform:read', 'viewer')
    const got = await token(exchangeOf(client, landed, verifier))
    expect(decodeJwt(got.body.access_token!)).toMatchObject({
      aud: 'platform-mcp-gateway',
      scope: 'platform:read',
      realm_access: { roles: ['viewer'] },
    })
  })

  it('accepts a request without scope, and gives what a caller of tools needs', async () => {
    const client = (await register()).body.client_id!
    const { html, verifier, landed } = await signIn(client, undefined, 'developer')
    expect(html).toContain('platform:execute')
    const got = await token(exchangeOf(client, landed, verifier))
    expect(decodeJwt(got.body.access_token!).scope).toBe('openid platform:read platform:execute')
  })

  it('accepts the address of a document in place of a registered client', async () => {
    expect(metadata.client_id_metadata_document_supported).toBe(true)
    const client = 'https://app.example/client.json'
    const { html, verifier, landed } = await signIn(
      client,
      'openid platform:read platform:execute',
      'developer',
    )
    expect(html).toContain('By document')
    const got = await token(exchangeOf(client, landed, verifier))
    expect(decodeJwt(got.body.access_token!)).toMatchObject({
      azp: client,
      sub: 'developer',
      tenant_id: 'acme',
    })
  })

  it.each([
    'https://other.example/client.json',
    'https://missing.example/client.json',
    'https://robot.example/client.json',
  ])('refuses %s: a document of another client, none, or one that acts without a user', async client => {
    const { url } = authorization(client, 'openid')
    const refused = await new Browser().open(url)
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('invalid_client')
  })

  it('gives an account no scope it may not have, and does not ask again for it', async () => {
    const client = (await register()).body.client_id!
    const { verifier, landed } = await signIn(client, 'openid platform:read platform:admin', 'developer')
    const got = await token(exchangeOf(client, landed, verifier))
    expect(decodeJwt(got.body.access_token!).scope).toBe('openid platform:read')
  })

  it('gives no registered client an administrative scope, for any account', async () => {
    const client = (await register()).body.client_id!
    const { verifier, landed } = await signIn(client, 'openid platform:read platform:admin', 'admin')
    const got = await token(exchangeOf(client, landed, verifier))
    expect(decodeJwt(got.body.access_token!).scope).toBe('openid platform:read')
  })

  it('refuses a wrong verifier, a missing challenge, the plain method and another redirect', async () => {
    const client = (await register()).body.client_id!
    const { landed } = await signIn(client, 'openid', 'developer')
    expect(await token(exchangeOf(client, landed, 'x'.repeat(43)))).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
    for (const more of [{ code_challenge: '' }, { code_challenge_method: 'plain' }]) {
      const { url } = await new Browser().follow(authorization(client, 'openid', more).url, REDIRECT)
      expect(new URL(url).searchParams.get('error')).toBe('invalid_request')
    }
    const { response } = await new Browser().follow(
      authorization(client, 'openid', { redirect_uri: 'http://evil.example/' }).url,
      REDIRECT,
    )
    expect(response?.status).toBe(400)
  })

  it('goes back with access_denied when the user declines or the account does not exist', async () => {
    const client = (await register()).body.client_id!
    const browser = new Browser()
    const page = await browser.follow(authorization(client, 'openid').url, REDIRECT)
    const { url } = await browser.follow(page.url, REDIRECT, { abort: '1' })
    expect(new URL(url).searchParams.get('error')).toBe('access_denied')
    expect(new URL(url).searchParams.has('iss')).toBe(false)
    expect((await signIn(client, 'openid', 'root')).landed.searchParams.get('error')).toBe('access_denied')
  })

  it('does not let another browser finish a sign-in, and bounds the form', async () => {
    const client = (await register()).body.client_id!
    const browser = new Browser()
    const page = await browser.follow(authorization(client, 'openid').url, REDIRECT)
    const stranger = await new Browser().open(page.url, { account: 'admin' })
    expect(stranger.status).toBe(400)
    expect((await browser.open(page.url, { account: 'x'.repeat(5000) })).status).toBe(413)
    expect((await browser.follow(page.url, REDIRECT, { account: 'admin' })).url).toContain('code=')
  })
})

describe('starting', () => {
  it('keeps its key across restarts, so that old tokens still verify', async () => {
    const { body } = await clientCredentials('demo-agent')
    const again = await startDevProvider({
      host: '127.0.0.1',
      port: 0,
      dataDir,
      log: SILENT,
      publicUrl: 'https://id.example',
    })
    expect(again.issuer).toBe('https://id.example/realms/platform')
    const local = `http://127.0.0.1:${again.port}/realms/platform`
    const { keys } = (await (await fetch(`${local}/protocol/openid-connect/certs`)).json()) as {
      keys: { kid: string }[]
    }
    expect(keys[0]!.kid).toBe(decodeProtectedHeader(body.access_token!).kid)
    const { token_endpoint } = (await (await fetch(`${local}/.well-known/openid-configuration`)).json()) as {
      token_endpoint: string
    }
    expect(token_endpoint).toBe('https://id.example/realms/platform/protocol/openid-connect/token')
    await again.close()
  })

  it('names the port and the setting when the port is taken, and the file when the key cannot be read', async () => {
    const squatter = createServer()
    await new Promise<void>(resolve => squatter.listen(0, '127.0.0.1', resolve))
    const { port } = squatter.address() as { port: number }
    await expect(startDevProvider({ host: '127.0.0.1', port, dataDir, log: SILENT })).rejects.toThrow(
      /AUTH_PORT/,
    )
    squatter.close()
    const broken = await mkdtemp(join(tmpdir(), 'toolgate-dev-'))
    const first = await startDevProvider({ host: '127.0.0.1', port: 0, dataDir: broken, log: SILENT })
    await first.close()
    await writeFile(join(broken, 'dev-identity', 'jwks.json'), '{}')
    await expect(
      startDevProvider({ host: '127.0.0.1', port: 0, dataDir: broken, log: SILENT }),
    ).rejects.toThrow(/jwks\.json is not a key set/)
    await rm(broken, { recursive: true })
  })
})

/** Tokens with one fault each get the specified refusal of the gateway, over REST and JSON-RPC; so does a REST request without a token. */
import { createHmac, createPublicKey, type KeyObject } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importJWK, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, read, rpc } from '../fixtures/deployment.ts'
import { requestToken } from '../fixtures/registered-client.ts'

let gateway: Deployment
let jwk: JWK
let key: Awaited<ReturnType<typeof importJWK>>
let good: string
beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tokens-'))
  gateway = await deploy({ DATA_DIR: dataDir, DATABASE_URL: 'pglite:memory' })
  // the provider's own key, so that each token differs from a good one in the single thing its test names
  const keys = JSON.parse(
    readFileSync(join(dataDir, 'dev-provider', 'dev-identity', 'jwks.json'), 'utf8'),
  ) as { keys: JWK[] }
  jwk = keys.keys[0]!
  key = await importJWK(jwk, 'RS256')
  good = await gateway.token('demo-agent')
})
afterAll(() => gateway.stop())

const nowSecs = () => Math.floor(Date.now() / 1000)
const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
function claims(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    iss: gateway.running.addresses.auth_url,
    sub: 'demo-agent',
    azp: 'demo-agent',
    aud: 'platform-mcp-gateway',
    tenant_id: 'acme',
    scope: 'platform:read platform:execute',
    iat: nowSecs(),
    exp: nowSecs() + 300,
    ...change,
  }
}
const signed = (change: Record<string, unknown> = {}, kid = jwk.kid!) =>
  new SignJWT(claims(change)).setProtectedHeader({ alg: 'RS256', kid }).sign(key)

const CASES: readonly [string, () => string | Promise<string>, string, RegExp][] = [
  ['expired', () => signed({ iat: nowSecs() - 900, exp: nowSecs() - 600 }), 'unauthorized', /expired/],
  ['not yet valid', () => signed({ nbf: nowSecs() + 600 }), 'unauthorized', /not valid yet/],
  ['issued in the future', () => signed({ iat: nowSecs() + 600 }), 'unauthorized', /not valid yet/],
  ['for another audience', () => signed({ aud: 'somebody-else' }), 'invalid_audience', /audience/i],
  ['from another issuer', () => signed({ iss: 'https://evil.example' }), 'unauthorized', /issuer/],
  [
    'without a signature (alg none)',
    () => `${base64url({ alg: 'none' })}.${base64url(claims())}.`,
    'unauthorized',
    /algorithm|signed JWT/,
  ],
  ['signed with the public key as a secret (HS256)', () => hs256(), 'unauthorized', /algorithm/],
  ['that names an unknown key', () => signed({}, 'no-such-key'), 'unauthorized', /key/],
  ['tampered with', () => tampered(), 'unauthorized', /signature/],
  ['without exp', () => signed({ exp: undefined }), 'unauthorized', /claim/],
  [
    'without a name of the consumer',
    () => signed({ azp: undefined, client_id: undefined, sub: undefined }),
    'unauthorized',
    /claim/,
  ],
  // no request id contains it by chance
  ['no JWT at all', () => 'not-a-signed-token', 'unauthorized', /JWT/],
]

function hs256(): string {
  const pem = (createPublicKey({ key: jwk as never, format: 'jwk' }) as KeyObject).export({
    type: 'spki',
    format: 'pem',
  })
  const body = `${base64url({ alg: 'HS256', kid: jwk.kid })}.${base64url(claims())}`
  return `${body}.${createHmac('sha256', pem).update(body).digest('base64url')}`
}

function tampered(): string {
  const [head, , signature] = good.split('.')
  return `${head}.${base64url(claims({ scope: 'platform:admin' }))}.${signature}`
}

it('takes the good one, so that the others are refused for their fault alone', async () => {
  expect((await gateway.post('/mcp/v1/tools', {}, await signed())).status).toBe(200)
})

it.each(CASES)('refuses a token %s', async (_, make, error, message) => {
  const token = await make()
  const rest = await gateway.post('/mcp/v1/tools', {}, token)
  expect([rest.status, rest.json.error]).toEqual([401, error])
  expect(rest.json.message).toMatch(message)
  expect(rest.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token".*resource_metadata="/)
  expect(rest.text).not.toContain(token)
  const over = await gateway.post('/mcp', rpc('tools/list'), token)
  expect([over.status, over.json.error.data.error]).toEqual([401, error])
})

it('asks for a token when there is none', async () => {
  const response = await gateway.post('/mcp/v1/tools', {})
  expect([response.status, response.json.error]).toEqual([401, 'unauthorized'])
  expect(response.headers.get('www-authenticate')).not.toContain('error=')
})
describe('a token for another resource (RFC 8707)', () => {
  const OTHER = 'https://api.other.example'

  it('is not requested by the gateway: invalid_target, for each grant', async () => {
    const { status, json } = await requestToken(gateway, 'developer', OTHER)
    expect([status, json.error]).toEqual([400, 'invalid_target'])
    for (const resource of [OTHER, `${gateway.url}.evil.example`, `${gateway.url}/t/acme/x`, 'urn:x']) {
      const form = { grant_type: 'client_credentials', client_id: 'demo-agent', resource }
      const refused = await read(
        await fetch(`${gateway.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) }),
      )
      expect([resource, refused.status, refused.json.error]).toEqual([resource, 400, 'invalid_target'])
    }
  })

  it('is refused when the provider issued it', async () => {
    const token = await gateway.token('demo-agent', { resource: OTHER })
    const refused = await gateway.post('/mcp/v1/tools', {}, token)
    expect([refused.status, refused.json.error]).toEqual([401, 'invalid_audience'])
  })

  it.each(['', '/', '/mcp', '/mcp/sse', '/mcp/shop'])('unlike one for %j of the gateway', async path => {
    const token = await gateway.token('demo-agent', { resource: `${gateway.url}${path}` })
    expect((await gateway.post('/mcp/v1/tools', {}, token)).status).toBe(200)
  })
})

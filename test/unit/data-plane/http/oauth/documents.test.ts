/** The discovery documents and challenges, as the official clients read them. */

import { extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js'
import {
  OAuthMetadataSchema,
  OAuthProtectedResourceMetadataSchema,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { bearerChallenge, FIRST_SCOPES } from '../../../../../src/data-plane/http/oauth/challenge.ts'
import { DOCUMENT_PREFLIGHT, resourceMetadataUrl } from '../../../../../src/data-plane/http/oauth/metadata.ts'
import { frontOf, GATEWAY, providerThat, read } from './front.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
function front(issuer: string | undefined) {
  const made = frontOf(issuer)
  closers.push(made.close)
  return made.front
}
/** No process listens on the discard port. */
const AWAY = 'http://127.0.0.1:9/realms/platform'

describe('the protected-resource documents', () => {
  it.each(['', '/mcp', '/mcp/sse'])('name exactly the resource they were asked for: "%s"', path => {
    const { status, headers, body } = read(front(AWAY).protectedResource(path))
    expect(status).toBe(200)
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'access-control-allow-origin': '*' })
    expect(OAuthProtectedResourceMetadataSchema.parse(body)).toMatchObject({
      resource: `${GATEWAY}${path}`,
      authorization_servers: [GATEWAY],
      bearer_methods_supported: ['header'],
    })
    expect(body.scopes_supported).toEqual(
      expect.arrayContaining([
        'openid',
        'profile',
        'email',
        'platform:read',
        'platform:write',
        'platform:execute',
        'platform:admin',
      ]),
    )
    expect(body.scopes_supported).not.toContain('offline_access')
  })

  it('exist for the resources alone', () => {
    const made = front(AWAY)
    expect(made.protectedResource('/mcp/')?.status).toBe(200)
    for (const path of ['/admin', '/mcp/sse/x', '/MCP', '//mcp', '/mcp//'])
      expect(made.protectedResource(path), path).toBeUndefined()
  })
})

describe('the authorization-server document', () => {
  it('is served while the provider is unavailable, with the addresses of a Keycloak realm', () => {
    const { status, body } = read(front(AWAY).authorizationServer())
    expect(status).toBe(200)
    expect(OAuthMetadataSchema.parse(body)).toMatchObject({
      issuer: GATEWAY,
      authorization_endpoint: `${AWAY}/protocol/openid-connect/auth`,
      jwks_uri: `${AWAY}/protocol/openid-connect/certs`,
      token_endpoint: `${GATEWAY}/oauth/token`,
      registration_endpoint: `${GATEWAY}/oauth/register`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'client_credentials', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['S256'],
    })
    expect(body.subject_types_supported).toEqual(['public'])
    for (const trap of [
      'authorization_response_iss_parameter_supported',
      'client_id_metadata_document_supported',
    ])
      expect(body).not.toHaveProperty(trap)
  })

  it('discovers the addresses of a provider that is not Keycloak', async () => {
    const provider = await providerThat(({ issuer }, response) =>
      response.end(
        JSON.stringify({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          jwks_uri: `${issuer}/keys`,
          token_endpoint: 'javascript:alert(1)',
          client_id_metadata_document_supported: true,
        }),
      ),
    )
    closers.push(provider.close)
    const made = front(provider.issuer)
    await vi.waitUntil(
      () => read(made.authorizationServer()).body.authorization_endpoint === `${provider.issuer}/authorize`,
      15_000,
    )
    expect(read(made.authorizationServer()).body.jwks_uri).toBe(`${provider.issuer}/keys`)
    expect(read(made.authorizationServer()).body.client_id_metadata_document_supported).toBe(true)
    expect(read(front(AWAY).authorizationServer()).body).not.toHaveProperty(
      'client_id_metadata_document_supported',
    )
  })
})

describe('the OpenID configuration', () => {
  it('is the document of the provider with two addresses replaced', async () => {
    const provider = await providerThat(({ issuer }, response) =>
      response.end(
        JSON.stringify({
          issuer,
          token_endpoint: 'http://x/t',
          registration_endpoint: 'http://x/r',
          userinfo_endpoint: 'http://x/u',
          claims_supported: ['sub'],
        }),
      ),
    )
    closers.push(provider.close)
    const { status, body } = read(await front(provider.issuer).openidConfiguration())
    expect(status).toBe(200)
    expect(body).toEqual({
      issuer: provider.issuer,
      token_endpoint: `${GATEWAY}/oauth/token`,
      registration_endpoint: `${GATEWAY}/oauth/register`,
      userinfo_endpoint: 'http://x/u',
      claims_supported: ['sub'],
    })
  })

  it('is 503 without a provider', async () => {
    const made = front(undefined)
    expect(read(await made.openidConfiguration())).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
    })
    expect(made.authorizationServer().status).toBe(503)
    expect((await made.register('application/json', Buffer.from('{}'))).status).toBe(502)
  })

  it.each<[string, number, string]>([
    ['an error', 500, '{}'],
    ['a page', 200, '<html>'],
    ['a list', 200, '[]'],
    ['the document of another issuer', 200, '{"issuer":"http://evil.example"}'],
    ['a redirect', 302, ''],
    ['too much', 200, JSON.stringify({ filler: 'x'.repeat(300_000) })],
  ])('is 502 when the provider returns %s', async (_, status, text) => {
    const provider = await providerThat((__, response) =>
      response.writeHead(status, { location: 'http://evil.example/' }).end(text),
    )
    closers.push(provider.close)
    expect(read(await front(provider.issuer).openidConfiguration())).toMatchObject({
      status: 502,
      body: { error: 'server_error' },
    })
  })

  it('is 502 when the provider is unavailable, and one request serves many', async () => {
    expect((await front(AWAY).openidConfiguration()).status).toBe(502)
    const provider = await providerThat(
      ({ issuer }, response) => void setTimeout(() => response.end(JSON.stringify({ issuer })), 30),
    )
    closers.push(provider.close)
    const made = front(provider.issuer)
    const responses = await Promise.all(Array.from({ length: 50 }, () => made.openidConfiguration()))
    expect(new Set(responses.map(response => response.status))).toEqual(new Set([200]))
    expect(provider.received.length).toBeLessThanOrEqual(2)
  })
})

describe('challenges', () => {
  const params = (header: string) =>
    extractWWWAuthenticateParams(new Response(null, { status: 401, headers: { 'www-authenticate': header } }))

  it('say where the document is and what to ask for, without an error when no credential was shown', () => {
    const header = bearerChallenge({
      resourceMetadataUrl: resourceMetadataUrl(GATEWAY, '/mcp/sse'),
      scopes: FIRST_SCOPES,
    })
    expect(header).toBe(
      `Bearer resource_metadata="${GATEWAY}/.well-known/oauth-protected-resource/mcp/sse", scope="openid platform:read platform:execute"`,
    )
    expect(params(header)).toMatchObject({ scope: 'openid platform:read platform:execute' })
    expect(String(params(header).resourceMetadataUrl)).toBe(
      `${GATEWAY}/.well-known/oauth-protected-resource/mcp/sse`,
    )
  })

  it('name the fault of a bad token, and the scopes a step up needs', () => {
    const url = resourceMetadataUrl(GATEWAY, '/admin/quotas')
    expect(url).toBe(`${GATEWAY}/.well-known/oauth-protected-resource`)
    expect(
      params(
        bearerChallenge({
          resourceMetadataUrl: url,
          error: 'invalid_token',
          description: 'expired',
          scopes: FIRST_SCOPES,
        }),
      ).error,
    ).toBe('invalid_token')
    expect(
      params(
        bearerChallenge({
          resourceMetadataUrl: url,
          error: 'insufficient_scope',
          scopes: ['openid', 'read', 'platform:execute'],
        }),
      ),
    ).toMatchObject({
      error: 'insufficient_scope',
      scope: 'openid platform:read platform:execute',
    })
  })

  it('keep any text inside its quotes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (description, scope) => {
        const header = bearerChallenge({
          resourceMetadataUrl: `http://gw/${description}`,
          error: 'invalid_token',
          description,
          scopes: [scope],
        })
        expect(header).toMatch(
          /^Bearer error="invalid_token", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]*", resource_metadata="[^"\\]*", scope="[^"\\]*"$/,
        )
        expect(() => new Headers({ 'www-authenticate': header })).not.toThrow()
      }),
      { numRuns: 5000 },
    )
  })
})

describe('the preflight of a document', () => {
  it('lets every page send the version header', () => {
    const { status, headers } = read(DOCUMENT_PREFLIGHT)
    expect(status).toBe(204)
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['access-control-allow-headers']).toContain('MCP-Protocol-Version')
  })
})

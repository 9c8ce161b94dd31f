/** The documents on the protected resource and the authorization server, with scopes, preflight and the address in challenges. */
import { canonicalResource } from '../../../base/canonical-resource.ts'
import { json, type OAuthResponse } from './oauth-response.ts'
import type { ProviderAddresses } from './provider-endpoints.ts'

/** `offline_access` is missing on purpose: clients would request every scope that is listed. */
export const SUPPORTED_SCOPES: readonly string[] = Object.freeze([
  'openid',
  'profile',
  'email',
  'platform:read',
  'platform:write',
  'platform:execute',
  'platform:admin',
])

/** Paths that are separate protected resources: a client derives the document's address from the one it connects to (RFC 9728 §3.1). */
const RESOURCE_PATH = /^(?:\/mcp(?:\/[A-Za-z0-9._-]{1,128})?)?\/?$/

/** Public documents may be read by any page: they hold nothing about the caller. */
const OPEN: readonly string[] = ['access-control-allow-origin', '*', 'cache-control', 'public, max-age=300']

/** Response to the preflight of a document. Browser clients send `MCP-Protocol-Version` even there. */
export const DOCUMENT_PREFLIGHT: OAuthResponse = Object.freeze({
  status: 204,
  headers: Object.freeze([
    'access-control-allow-origin',
    '*',
    'access-control-allow-methods',
    'GET',
    'access-control-allow-headers',
    'MCP-Protocol-Version, Authorization, Content-Type, Accept',
    'access-control-max-age',
    '600',
  ]),
  body: '',
})

/** Address of the document that describes the resource a request was made to; for challenges. Absolute, as RFC 9728 §5.1 wants. */
export function resourceMetadataUrl(gatewayUrl: string, path: string): string {
  const resource = RESOURCE_PATH.test(path) ? path : path.startsWith('/mcp') ? '/mcp' : ''
  return `${gatewayUrl}/.well-known/oauth-protected-resource${resource}`
}

/** Whether tokens for this resource (RFC 8707) are for the gateway, or one of its tool sets. */
export function isResource(gatewayUrl: string, resource: string): boolean {
  const [address, base] = [canonicalResource(resource), canonicalResource(gatewayUrl)]
  return address.startsWith(base) && RESOURCE_PATH.test(address.slice(base.length))
}

/**
 * `/.well-known/oauth-protected-resource` and its variants (RFC 9728 §3.2).
 * @param path what follows the well-known name: '', '/mcp', '/mcp/sse' or '/mcp/{toolset}', with the final slash of the client's address, which
 * compares the document with it (RFC 9728 §3.3); undefined comes back for any other (404).
 */
export function protectedResource(gatewayUrl: string, path: string): OAuthResponse | undefined {
  if (!RESOURCE_PATH.test(path)) return undefined
  return json(
    200,
    {
      resource: `${gatewayUrl}${path}`,
      authorization_servers: [gatewayUrl],
      scopes_supported: SUPPORTED_SCOPES,
      bearer_methods_supported: ['header'],
      resource_name: 'Toolgate',
    },
    OPEN,
  )
}

/**
 * `/.well-known/oauth-authorization-server` (RFC 8414 §3.2; fixed values). `issuer` is exactly the gateway:
 * newer clients compare it with the address they asked.
 */
export function authorizationServer(gatewayUrl: string, provider: ProviderAddresses): OAuthResponse {
  return json(
    200,
    {
      issuer: gatewayUrl,
      authorization_endpoint: provider.authorizationEndpoint,
      token_endpoint: `${gatewayUrl}/oauth/token`,
      registration_endpoint: `${gatewayUrl}/oauth/register`,
      ...(provider.revocationEndpoint === undefined
        ? undefined
        : { revocation_endpoint: `${gatewayUrl}/oauth/revoke` }),
      jwks_uri: provider.jwksUri,
      scopes_supported: SUPPORTED_SCOPES,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'client_credentials', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['S256'],
      subject_types_supported: ['public'],
      // the authorization endpoint is the provider's, so only the provider can accept such a client
      ...(provider.acceptsClientDocuments ? { client_id_metadata_document_supported: true } : undefined),
    },
    OPEN,
  )
}

/** The OAuth endpoints as one object, discovery of the identity provider at the start, and a warning about its scopes. `routes.ts` mounts them. */
import type { Egress } from '../../../net/egress/egress.ts'
import type { Log } from '../../../telemetry/log.ts'
import { authorizationServer, protectedResource } from './metadata.ts'
import { json, NO_STORE, type OAuthResponse, oauthError } from './oauth-response.ts'
import type { ProviderAdmin } from './provider-admin.ts'
import { ProviderEndpoints } from './provider-endpoints.ts'
import { registerClient } from './register-proxy.ts'
import { forwardRevocation, forwardToken, type TokenRequest } from './token-proxy.ts'

export interface OAuthFrontOptions {
  /** Public address of the gateway without trailing slash: the `issuer` of the authorization-server document. */
  readonly gatewayUrl: string
  /** undefined: no identity provider is configured. */
  readonly issuer: string | undefined
  readonly egress: Egress
  readonly admin: ProviderAdmin | undefined
  /** The provider gives no registered client administrative scopes. */
  readonly guarded: boolean
  readonly log: Log
}

export interface OAuthFront {
  /** Path of the gateway's public address: '', or '/tools' behind a proxy that removes that prefix. */
  readonly pathPrefix: string
  /** GET /.well-known/oauth-protected-resource{path}; undefined = 404. */
  protectedResource(path: string): OAuthResponse | undefined
  /** GET /.well-known/oauth-authorization-server. */
  authorizationServer(): OAuthResponse
  /** GET /.well-known/openid-configuration. */
  openidConfiguration(): Promise<OAuthResponse>
  /** POST /oauth/token. */
  token(request: TokenRequest): Promise<OAuthResponse>
  /** POST /oauth/revoke. */
  revoke(request: TokenRequest): Promise<OAuthResponse>
  /** POST /oauth/register. */
  register(contentType: string, body: Uint8Array): Promise<OAuthResponse>
}

/** Starts discovery of the provider. Of the documents only `openidConfiguration` waits for it; the proxies wait for the addresses. */
export function createOAuthFront({
  gatewayUrl,
  issuer,
  egress,
  admin,
  guarded,
  log,
}: OAuthFrontOptions): OAuthFront {
  const provider = issuer === undefined ? undefined : new ProviderEndpoints(issuer, egress)
  const discovered = provider?.discover()
  if (!guarded) void discovered?.then(document => warnOfOpenAdminScope(document, log))
  // without a provider the documents on it say 503, the proxies 502: their status tables have no 503
  return {
    pathPrefix: new URL(gatewayUrl).pathname.replace(/\/$/, ''),
    protectedResource: path => protectedResource(gatewayUrl, path),
    authorizationServer: () =>
      provider === undefined ? notConfigured(503) : authorizationServer(gatewayUrl, provider.addresses),
    openidConfiguration: () => openidConfiguration(gatewayUrl, provider),
    token: async request =>
      provider === undefined
        ? notConfigured(502)
        : forwardToken(request, (await provider.learnt()).tokenEndpoint, egress, gatewayUrl),
    revoke: async request =>
      provider === undefined
        ? notConfigured(502)
        : forwardRevocation(request, (await provider.learnt()).revocationEndpoint, egress),
    register: async (contentType, body) =>
      provider === undefined
        ? notConfigured(502)
        : registerClient(contentType, body, {
            egress,
            registrationEndpoint: (await provider.learnt()).registrationEndpoint,
            admin,
            log,
          }),
  }
}

/** Whether a provider restricts the scopes of registered clients is not in its document, so this can only warn. */
function warnOfOpenAdminScope(document: Readonly<Record<string, unknown>> | string, log: Log): void {
  if (typeof document === 'string' || document.registration_endpoint === undefined) return
  const scopes = Array.isArray(document.scopes_supported) ? document.scopes_supported : []
  if (!scopes.includes('platform:admin')) return
  log.warn(
    { issuer: document.issuer },
    'the identity provider offers the scope platform:admin and accepts registrations: a registered client could get this scope. ' +
      'Restrict the scopes of registered clients at the provider, or set SCOPES=intersection.',
  )
}

function notConfigured(status: 502 | 503): OAuthResponse {
  const error = status === 502 ? 'server_error' : 'temporarily_unavailable'
  return oauthError(status, error, 'No identity provider is configured.')
}

/** Readable by any page and never cached: it repeats what the provider publishes now. */
const OPEN: readonly string[] = ['access-control-allow-origin', '*', ...NO_STORE]

/** 200, 502 when the provider gives no document, 503 when none is configured (docs/reference/http.md, OAuth and discovery). Never rejects. */
async function openidConfiguration(
  gatewayUrl: string,
  provider: ProviderEndpoints | undefined,
): Promise<OAuthResponse> {
  if (provider === undefined)
    return fault(503, 'temporarily_unavailable', 'No identity provider is configured.')
  const document = await provider.discover()
  if (typeof document === 'string')
    return fault(502, 'server_error', `The identity provider is unavailable: ${document}.`)
  return json(
    200,
    {
      ...document,
      token_endpoint: `${gatewayUrl}/oauth/token`,
      ...(document.revocation_endpoint === undefined
        ? undefined
        : { revocation_endpoint: `${gatewayUrl}/oauth/revoke` }),
      registration_endpoint: `${gatewayUrl}/oauth/register`,
    },
    OPEN,
  )
}

function fault(status: number, error: string, description: string): OAuthResponse {
  return json(status, { error, error_description: description }, OPEN)
}

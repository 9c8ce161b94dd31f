/** The OAuth endpoints as one object. Mounting, body limits and CORS of the two POSTs are in `routes.ts`. */
import type { Egress } from '../../../shared/egress/egress.ts'
import type { Log } from '../../../shared/telemetry/log.ts'
import { authorizationServer, protectedResource } from './metadata.ts'
import { type OAuthResponse, oauthError } from './oauth-response.ts'
import { openidConfiguration } from './openid-configuration.ts'
import type { ProviderAdmin } from './provider-admin.ts'
import { ProviderEndpoints } from './provider-endpoints.ts'
import { registerClient } from './register-proxy.ts'
import { forwardToken, type TokenRequest } from './token-proxy.ts'

export interface OAuthFrontOptions {
  /** Public address of the gateway without trailing slash: the `issuer` of the authorization-server document. */
  readonly gatewayUrl: string
  /** undefined: no identity provider is configured. */
  readonly issuer: string | undefined
  readonly egress: Egress
  readonly admin: ProviderAdmin | undefined
  readonly log: Log
}

export interface OAuthFront {
  /** GET /.well-known/oauth-protected-resource{path}; undefined = 404. */
  protectedResource(path: string): OAuthResponse | undefined
  /** GET /.well-known/oauth-authorization-server. */
  authorizationServer(): OAuthResponse
  /** GET /.well-known/openid-configuration. */
  openidConfiguration(): Promise<OAuthResponse>
  /** POST /oauth/token. */
  token(request: TokenRequest): Promise<OAuthResponse>
  /** POST /oauth/register. */
  register(contentType: string, body: Uint8Array): Promise<OAuthResponse>
}

/** Starts discovery of the provider; the documents do not wait for it. */
export function createOAuthFront({ gatewayUrl, issuer, egress, admin, log }: OAuthFrontOptions): OAuthFront {
  const provider = issuer === undefined ? undefined : new ProviderEndpoints(issuer, egress)
  void provider?.learnt()
  // without a provider the documents say 503, the two proxies 502: their status tables know no 503
  return {
    protectedResource: path => protectedResource(gatewayUrl, path),
    authorizationServer: () =>
      provider === undefined ? notConfigured(503) : authorizationServer(gatewayUrl, provider.addresses),
    openidConfiguration: () => openidConfiguration(gatewayUrl, provider),
    token: async request =>
      provider === undefined
        ? notConfigured(502)
        : forwardToken(request, (await provider.learnt()).tokenEndpoint, egress),
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

function notConfigured(status: 502 | 503): OAuthResponse {
  const error = status === 502 ? 'server_error' : 'temporarily_unavailable'
  return oauthError(status, error, 'No identity provider is configured.')
}

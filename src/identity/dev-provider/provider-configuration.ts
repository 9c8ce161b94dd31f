/** The configuration of `oidc-provider` for the development provider, and the audience of its tokens. */
import { randomBytes } from 'node:crypto'
import type { JWK } from 'jose'
import type { Client, ClientMetadata, Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { DEV_ACCOUNTS, type DevClient, OIDC_SCOPES, PLATFORM_SCOPES, REGISTERED_SCOPES } from './people.ts'

/** In `aud` of every access token without a named resource, as the audience mapper of a real deployment would put it (docs/reference/http.md). */
export const GATEWAY_AUDIENCE = 'platform-mcp-gateway'
/** Stands for the gateway when a client names no resource (RFC 8707 is optional for it). */
const DEFAULT_RESOURCE = 'urn:toolgate:gateway'
const HOUR_SECS = 3600

export interface ConfigurationParts {
  /** Unix ms; access tokens are issued at this time. */
  readonly now: () => number
  readonly keys: readonly JWK[]
  readonly clients: readonly DevClient[]
  /** Path of the issuer, before every address. */
  readonly mountPath: string
  /** Reads documents of clients; undefined: the library's, which reaches public addresses only. */
  readonly fetch: Configuration['fetch']
  /** For the library: thrown for a resource that is not a URL. */
  readonly InvalidTarget: new (
    description?: string,
  ) => Error
  /** For the library: thrown for a client that may not be registered. */
  readonly InvalidClientMetadata: new (
    description: string,
  ) => Error
}

export function providerConfiguration(parts: ConfigurationParts): Configuration {
  const { keys, clients, mountPath, now, InvalidTarget, InvalidClientMetadata } = parts
  const byId = new Map(clients.map(client => [client.id, client]))
  return {
    jwks: { keys: keys as never },
    ...(parts.fetch === undefined ? undefined : { fetch: parts.fetch }),
    clients: clients.map(client => ({
      client_id: client.id,
      client_secret: client.secret,
      // Takes Basic and the form field alike.
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      scope: client.scopes.join(' '),
    })),
    // Registered clients are public and get no administrative scope.
    clientDefaults: {
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    extraClientMetadata: {
      properties: ['registered_by'],
      validator(ctx, _name, _value, metadata) {
        // without a request: a seeded client, or one that was registered before
        if (ctx?.method !== 'POST' || !ctx.path.endsWith('/clients-registrations/openid-connect')) return
        const fault = registrationFault(metadata)
        if (fault !== undefined) throw new InvalidClientMetadata(fault)
      },
    },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    responseTypes: ['code'],
    pkce: { required: () => true },
    scopes: [...OIDC_SCOPES, ...PLATFORM_SCOPES],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email'] },
    findAccount: (_, id) => findAccount(id),
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    extraTokenClaims: (_, token) => platformClaims(token, byId),
    formats: {
      customizers: {
        jwt: (_, token, parts) => {
          const resource = token.resourceServer?.identifier()
          // a token for a named resource is for no other (RFC 8707 §2.2)
          parts.payload.aud =
            resource === undefined || resource === DEFAULT_RESOURCE ? GATEWAY_AUDIENCE : resource
          parts.payload.azp = parts.payload.client_id
          // the library reads the clock of the machine
          const aheadSecs = Math.floor((now() - Date.now()) / 1000)
          for (const claim of ['iat', 'nbf', 'exp']) {
            const at = parts.payload[claim]
            if (typeof at === 'number') parts.payload[claim] = at + aheadSecs
          }
        },
      },
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true, initialAccessToken: false },
      revocation: {
        enabled: true,
        // RFC 7009 §2.1; the library's own rule writes a notice
        allowedPolicy: (_, client, token) => token.clientId === client.clientId,
      },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowClient: (_, client) =>
          client.tokenEndpointAuthMethod === 'none' && !client.grantTypeAllowed('client_credentials'),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_, __, oneOf) => oneOf?.[0] ?? DEFAULT_RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource, client) => {
          if (resource !== DEFAULT_RESOURCE && !/^https?:\/\//.test(resource))
            throw new InvalidTarget('the parameter resource must be an http:// or https:// URL')
          return resourceServerInfo(ctx, client)
        },
      },
    },
    ttl: {
      AccessToken: HOUR_SECS,
      ClientCredentials: HOUR_SECS,
      AuthorizationCode: 60,
      IdToken: HOUR_SECS,
      Interaction: HOUR_SECS,
      RefreshToken: 24 * HOUR_SECS,
      Session: 24 * HOUR_SECS,
      Grant: 24 * HOUR_SECS,
    },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    clientBasedCORS: () => true,
    routes: {
      authorization: '/protocol/openid-connect/auth',
      token: '/protocol/openid-connect/token',
      jwks: '/protocol/openid-connect/certs',
      userinfo: '/protocol/openid-connect/userinfo',
      revocation: '/protocol/openid-connect/revoke',
      end_session: '/protocol/openid-connect/logout',
      registration: '/clients-registrations/openid-connect',
    },
    interactions: { url: (_, interaction) => `${mountPath}/interaction/${interaction.uid}` },
    renderError: (ctx, out) => {
      ctx.type = 'text/plain'
      ctx.body = `${out.error}: ${out.error_description ?? 'the request failed'}\n`
    },
  }
}

function registrationFault({
  token_endpoint_auth_method: method,
  grant_types: grants,
  scope,
}: ClientMetadata): string | undefined {
  if (method !== 'none')
    return 'token_endpoint_auth_method must be none: only public clients can be registered'
  if (grants?.includes('client_credentials')) return 'grant_types must not include client_credentials'
  const refused = scope?.split(' ').find(one => !REGISTERED_SCOPES.includes(one))
  return refused === undefined ? undefined : `scope must not include ${refused.slice(0, 64)}`
}

/** Any absolute http(s) address: the provider does not know where the gateway will be reachable. */
function resourceServerInfo(ctx: KoaContextWithOIDC, client: Client) {
  const params = ctx.oidc.params
  // Keycloak grants a client all its default scopes when none is named; the library would grant none.
  if (params?.grant_type === 'client_credentials' && params.scope === undefined) params.scope = client.scope
  return {
    scope: [...OIDC_SCOPES, ...PLATFORM_SCOPES].join(' '),
    audience: GATEWAY_AUDIENCE,
    accessTokenTTL: HOUR_SECS,
    accessTokenFormat: 'jwt' as const,
    jwt: { sign: { alg: 'RS256' as const } },
  }
}

function platformClaims(token: object, clients: ReadonlyMap<string, DevClient>) {
  const { accountId, clientId } = token as { accountId?: string; clientId?: string }
  const who =
    accountId === undefined
      ? clients.get(clientId ?? '')
      : DEV_ACCOUNTS.find(account => account.id === accountId)
  return who === undefined
    ? undefined
    : { tenant_id: who.tenant, realm_access: { roles: who.roles }, preferred_username: accountId ?? clientId }
}

function findAccount(id: string) {
  const account = DEV_ACCOUNTS.find(one => one.id === id)
  if (account === undefined) return undefined
  return {
    accountId: id,
    claims: () => ({
      sub: id,
      name: account.name,
      preferred_username: id,
      email: `${id}@acme.example`,
    }),
  }
}

/** Who exists in the development identity provider: seeded clients and accounts, and the scopes, as plain data. */

/** What a credential of the development provider may carry into a token. */
interface Grants {
  /** With the prefix `platform:`; no other scope with this prefix is granted. */
  readonly scopes: readonly string[]
  /** Go into `realm_access.roles`. */
  readonly roles: readonly string[]
  /** Goes into `tenant_id`; undefined = it belongs to none. */
  readonly tenant: string | undefined
}

/** A confidential client for the client-credentials grant. */
export interface DevClient extends Grants {
  readonly id: string
  readonly secret: string
}

/** A person who can sign in on the login page without a password: the provider is for development only. */
export interface DevAccount extends Grants {
  readonly id: string
  readonly name: string
}

/** Clients that exist without any setting. */
export const SEEDED_CLIENTS: readonly DevClient[] = [
  {
    id: 'demo-agent',
    secret: 'demo-agent-secret',
    scopes: ['platform:read', 'platform:execute'],
    roles: [],
    tenant: 'acme',
  },
  { id: 'demo-viewer', secret: 'demo-viewer-secret', scopes: ['platform:read'], roles: [], tenant: 'acme' },
  {
    id: 'demo-admin',
    secret: 'demo-admin-secret',
    scopes: ['platform:read', 'platform:write', 'platform:execute', 'platform:admin'],
    roles: ['cpi-admin'],
    tenant: 'acme',
  },
  // A gateway that runs apart from its control plane.
  { id: 'gateway', secret: 'gateway-secret', scopes: ['platform:deploy'], roles: [], tenant: undefined },
]

export const DEV_ACCOUNTS: readonly DevAccount[] = [
  {
    id: 'developer',
    name: 'Dana Developer',
    scopes: ['platform:read', 'platform:write', 'platform:execute'],
    roles: [],
    tenant: 'acme',
  },
  { id: 'viewer', name: 'Vic Viewer', scopes: ['platform:read'], roles: ['viewer'], tenant: 'acme' },
  {
    id: 'admin',
    name: 'Ada Admin',
    scopes: ['platform:read', 'platform:write', 'platform:execute', 'platform:admin'],
    roles: ['cpi-admin'],
    tenant: 'acme',
  },
]

export const OIDC_SCOPES = ['openid', 'profile', 'email', 'offline_access'] as const
export const PLATFORM_SCOPES = [
  'platform:read',
  'platform:write',
  'platform:execute',
  'platform:admin',
  'platform:deploy',
] as const

/** The scopes that a client which registered itself can get, for whichever account. */
export const REGISTERED_SCOPES: readonly string[] = [
  ...OIDC_SCOPES,
  ...PLATFORM_SCOPES.filter(scope => scope !== 'platform:admin' && scope !== 'platform:deploy'),
]

/** The principal of a call, the roles that code names, and what follows from them. */

/** The authenticated caller of one exchange (docs/reference/http.md, Claims). Frozen; shared by every call that shows the same credential. */
export interface Principal {
  readonly kind: 'token' | 'api_key' | 'anonymous'
  /** JWT `sub`, or the API key's id. */
  readonly subject: string
  /** `azp`, else `client_id`, else `sub`; for a key the application of its subscription. Quotas count per consumer. */
  readonly consumer: string
  /** `preferred_username`, else `email`: for people who read lists. It identifies no caller. */
  readonly name?: string | undefined
  /** `tenant_id`, else `tenant`; undefined when the credential names none. */
  readonly tenant: string | undefined
  /** From `realm_access.roles`, `roles` or `groups`, leading `/` dropped; sorted, unique. */
  readonly roles: readonly string[]
  /** Scopes the token itself carries, `platform:` prefix dropped; sorted, unique. Scopes of roles are added by the policy. */
  readonly scopes: readonly string[]
  /** `intersection`: token and roles must both grant a scope (`SCOPES`). Absent: either is enough. */
  readonly rights?: 'intersection'
  /** Set when the credential is a key of this subscription. */
  readonly subscriptionId: string | undefined
  /** Set when the credential is a key: the only APIs that it opens. */
  readonly apiIds?: readonly string[] | undefined
  /** Set when the credential is a key of an application of another tenant than `tenant`, which owns the API: name of the application's tenant. */
  readonly subscriber?: string
  /** Set when the credential is a key: its public prefix, by which the configuration is searched for it again. */
  readonly keyPrefix?: string
  /** Unix ms after which the credential is no longer valid. */
  readonly expiresAtMs: number
  /**
   * Tenant, roles, scopes in canonical form, how they combine, and the APIs of a key. Callers with the same key see and may do the same,
   * unless the policy reads further facts. Tool lists and decisions are cached under it, and under those facts.
   */
  readonly visibilityKey: string
}

/** Builds a frozen Principal, computing the canonical lists and the visibility key. */
export function principal(fields: Omit<Principal, 'visibilityKey'>): Principal {
  const roles = canonical(fields.roles)
  const scopes = canonical(fields.scopes)
  // each field by name: V8 freezes objects of one known shape many times faster than copies
  return Object.freeze({
    kind: fields.kind,
    subject: fields.subject,
    consumer: fields.consumer,
    ...(fields.name === undefined ? undefined : { name: fields.name }),
    tenant: fields.tenant,
    roles,
    scopes,
    ...(fields.rights === undefined ? undefined : { rights: fields.rights }),
    subscriptionId: fields.subscriptionId,
    ...(fields.apiIds === undefined ? undefined : { apiIds: fields.apiIds }),
    ...(fields.subscriber === undefined ? undefined : { subscriber: fields.subscriber }),
    ...(fields.keyPrefix === undefined ? undefined : { keyPrefix: fields.keyPrefix }),
    expiresAtMs: fields.expiresAtMs,
    visibilityKey: JSON.stringify([fields.tenant ?? null, roles, scopes, ...confinement(fields)]),
  })
}

/** What distinguishes callers with the same tenant, roles and scopes; empty for most of them. */
function confinement({ rights, apiIds }: Pick<Principal, 'rights' | 'apiIds'>): readonly (string | null)[] {
  return rights === undefined && apiIds === undefined ? [] : [rights ?? null, apiIds?.join(' ') ?? null]
}

/** The role that may act for every tenant; `policies/toolgate/rules/tenant` names it as well. */
export const PLATFORM_ADMIN = 'cpi-admin'

/** The role that decides about the applications of its tenant; `policies/toolgate/operations` names it as well. */
export const TENANT_ADMIN = 'tenant-admin'

/** Whether a scope of the caller may concern every tenant: with the role, or with a token that belongs to no tenant. */
export function reachesEveryTenant({ kind, tenant, roles }: Principal): boolean {
  return kind === 'token' && (tenant === undefined || roles.includes(PLATFORM_ADMIN))
}

/**
 * The caller of a page of ours. All users of the page share its OAuth client, so each of them is a separate application. A client
 * that acts for itself stays what it is.
 */
export function asUser(caller: Principal): Principal {
  if (caller.kind !== 'token' || caller.subject === caller.consumer) return caller
  return principal({ ...caller, consumer: `user:${caller.subject}` })
}

/**
 * Whether calls are counted for a user. A token that a client got for itself names the client, or its service account as Keycloak does; users choose
 * their names, so nothing else may follow from it.
 */
export function isOfUser({ kind, subject, consumer, name }: Principal): boolean {
  return kind === 'token' && subject !== consumer && name !== `service-account-${consumer.toLowerCase()}`
}

interface Known {
  readonly given: readonly string[]
  readonly canonical: readonly string[]
}

/** The few combinations of roles and scopes that a deployment has: sorting and freezing cost more than finding them again. */
const known = new Map<string, Known>()
const MAX_KNOWN = 1024
/** Longer lists are not kept. */
const MAX_KNOWN_CHARS = 2048

function canonical(given: readonly string[]): readonly string[] {
  const name = given.join(' ')
  const entry = known.get(name)
  // names that hold spaces can make two lists look alike
  if (entry !== undefined && sameTexts(entry.given, given)) return entry.canonical
  const made = Object.freeze([...new Set(given)].sort())
  if (entry === undefined && name.length <= MAX_KNOWN_CHARS) {
    // every new token can bring a new list, so a full table is cleared instead of growing
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(name, { given: [...given], canonical: made })
  }
  return made
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}

/** A caller without a credential, where none is required: of an API that requires no authentication, or of the public catalog. */
export const ANONYMOUS = principal({
  kind: 'anonymous',
  subject: 'anonymous',
  consumer: 'anonymous',
  tenant: undefined,
  roles: [],
  scopes: [],
  subscriptionId: undefined,
  expiresAtMs: Number.POSITIVE_INFINITY,
})

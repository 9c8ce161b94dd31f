/** Who is calling, after authentication: plain data. It holds no rule about what the caller may do. */

/** The authenticated caller of one exchange (contract §2). Frozen; shared by every call that shows the same credential. */
export interface Principal {
  readonly kind: 'token' | 'api_key' | 'anonymous'
  /** JWT `sub`, or the API key's id. */
  readonly subject: string
  /** `azp`, else `client_id`, else `sub`; for a key the application of its subscription. Quotas count per consumer. */
  readonly consumer: string
  /** `tenant_id`, else `tenant`; undefined when the credential names none. */
  readonly tenant: string | undefined
  /** From `realm_access.roles`, `roles` or `groups`, leading `/` dropped; sorted, unique. */
  readonly roles: readonly string[]
  /** Scopes the token itself carries, `platform:` prefix dropped; sorted, unique. Scopes of roles are added by the policy. */
  readonly scopes: readonly string[]
  /** Set when the credential is a key of this subscription. */
  readonly subscriptionId: string | undefined
  /** Unix ms after which the credential is no longer valid. */
  readonly expiresAtMs: number
  /**
   * Callers with the same key see and may do the same: tenant, roles and scopes in canonical form.
   * Tool lists and decisions are remembered under it.
   */
  readonly visibilityKey: string
}

/** Builds a frozen Principal, computing the canonical lists and the visibility key. */
export function principal(fields: Omit<Principal, 'visibilityKey'>): Principal {
  const roles = [...new Set(fields.roles)].sort()
  const scopes = [...new Set(fields.scopes)].sort()
  const visibilityKey = JSON.stringify([fields.tenant ?? null, roles, scopes])
  return Object.freeze({
    ...fields,
    roles: Object.freeze(roles),
    scopes: Object.freeze(scopes),
    visibilityKey,
  })
}

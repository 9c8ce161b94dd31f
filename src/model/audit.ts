/** An audit record: who did what, when, and how the resource was before and after; and the names of resource types. The file computes no hash. */

export interface AuditActor {
  /** `system`: the control plane itself, such as an expiry. */
  readonly kind: 'token' | 'api_key' | 'anonymous' | 'system'
  readonly subject: string
  readonly consumer: string
  readonly tenant: string | null
}

/** Who changes, by which action and in which request; common to all records of one transaction. */
export interface AuditOrigin {
  readonly actor: AuditActor
  /** Action of the policy input, `admin.<resource>.<verb>` of a gateway, or `system.<resource>.<verb>`. */
  readonly action: string
  /** '' without a request. */
  readonly requestId: string
  /** Name of the gateway that reported the action; null: the control plane. */
  readonly gateway: string | null
}

export interface NewAuditRecord extends AuditOrigin {
  readonly id: string
  readonly at: Date
  /** Id of the tenant that the resource belongs to; null: none. */
  readonly tenantId: string | null
  readonly resourceType: string
  readonly resourceId: string
  /** JSON of the resource without secrets; null: it did not exist, or has no state. */
  readonly before: string | null
  readonly after: string | null
}

export interface AuditRecord extends NewAuditRecord {
  /** Without gaps, in the order of the commits. */
  readonly seq: number
  /** SHA-256 over the hash of the record before and the content of this one, hex. */
  readonly hash: string
}

/** The part of a record that the chain protects, as text. */
export function auditContent(record: NewAuditRecord): string {
  const { id, at, actor, action, requestId, gateway, tenantId } = record
  const { resourceType, resourceId, before, after } = record
  const { kind, subject, consumer, tenant } = actor
  return JSON.stringify([
    ...[id, at.toISOString(), kind, subject, consumer, tenant, action, requestId],
    ...[gateway, tenantId, resourceType, resourceId, before, after],
  ])
}

/** The type of a resource as records name it. */
export function resourceTypeOf(tag: string): string {
  return tag.toLowerCase().replaceAll(' ', '_')
}

/** Records of actions without a row had these before. */
const FORMER_TYPES: { readonly [type: string]: string } = {
  api: 'API',
  api_key: 'API key',
  audit_record: 'audit record',
}

/** All that records of this type may hold. */
export function spellingsOf(type: string): readonly string[] {
  const current = resourceTypeOf(type)
  const former = FORMER_TYPES[current]
  return former === undefined ? [type] : [current, former]
}

/** Changes that the control plane makes by itself. */
export function systemOrigin(action: string): AuditOrigin {
  return {
    actor: { kind: 'system', subject: 'control-plane', consumer: 'control-plane', tenant: null },
    action,
    requestId: '',
    gateway: null,
  }
}

/** What the shipped policy requires for each action, for the served OpenAPI document. It decides nothing: the policy does. */
import { AUTHORITIES, AUTHORITY, type Authority } from '../../../model/schema/authority.ts'

/** A row of `policies/toolgate/operations/data.yaml`, with the confined roles that grant the action without a scope; a test compares both. */
interface Requirement {
  /** All of these scopes. */
  readonly all?: readonly string[]
  /** One of these scopes. */
  readonly any?: readonly string[]
  /** Instead of `all` where the resource belongs to no tenant. */
  readonly shared?: readonly string[]
  /** One of these roles in addition. */
  readonly roles?: readonly string[]
  /** True: the owner of the resource needs none of `roles`. */
  readonly own?: boolean
  /** True: beyond the caller's tenant it needs the role cpi-admin or a token without tenant. */
  readonly every_tenant?: boolean
  /** Confined role → the resources on which it grants the action. */
  readonly confined?: { readonly [role: string]: 'any' | 'own' }
}

const READ: Requirement = { all: ['read'] }
const WRITE: Requirement = { all: ['write'] }
const DEPLOY: Requirement = { all: ['deploy'] }
const READ_OR_AUDIT: Requirement = { any: ['read', 'audit'] }
const AUDIT: Requirement = { any: ['audit', 'admin'] }
const DECIDE: Requirement = { all: ['write'], roles: ['tenant-admin', 'cpi-admin'] }
const OWN: Requirement = { ...DECIDE, own: true }
const TENANTS: Requirement = { all: ['admin'], every_tenant: true }
const PLANS: Requirement = { ...DECIDE, shared: ['admin'], every_tenant: true }

/** The first pattern that matches; else an action that reads needs `read`, another one `write`. */
const ROWS: readonly (readonly [pattern: RegExp, requirement: Requirement])[] = [
  [/^public\./, { all: [] }],
  [/^tenants\.read$/, { any: ['read', 'admin'], every_tenant: true }],
  [/^tenants\.|^policy\.|^gateways\.delete$/, TENANTS],
  [/^plans\.(create|update|delete)$/, PLANS],
  [/^subscriptions\.(approve|reject|suspend|resume|migrate)$/, DECIDE],
  [/^(config\.apply|consumers\.update|(apis|products)\.(create|delete|govern))$/, DECIDE],
  [/^(webhooks\.(update|delete|test)|deliveries\.retry)$/, OWN],
  [/^config\.read$/, { ...READ, roles: DECIDE.roles! }],
  [/^subscriptions\.(create|update|revoke)$|^apikeys\.(create|rotate|revoke)$/, OWN],
  [/^(gateways\.connect|deployments\.sync)$/, DEPLOY],
  [/^(audit|calls)\.read$/, AUDIT],
  [/^(metrics|deliveries|gateways|deployments)\.(list|read)$/, READ_OR_AUDIT],
  [/\.(list|read)$/, READ],
]
const CATALOG = /^(portal|plans)\.(list|read)$/
const OF_APPLICATION = /^(subscriptions\.(list|read|create|update|revoke)|usage\.read|apikeys\.\w+)$/

/** @param action `control.<resource>.<verb>` */
export function requirementOf(action: string): Requirement {
  const name = action.slice('control.'.length)
  const row = ROWS.find(([pattern]) => pattern.test(name))?.[1] ?? WRITE
  if (CATALOG.test(name)) return { ...row, confined: { subscriber: 'any' } }
  return OF_APPLICATION.test(name) ? { ...row, confined: { subscriber: 'own' } } : row
}

/** The requirement in one or more sentences. */
export function requirementText(action: string): string {
  const { all, any, shared, roles, own, every_tenant: everyTenant, confined } = requirementOf(action)
  if ([all, any, shared, roles].every(each => each === undefined || each.length === 0))
    return 'Needs no token.'
  const scopes = [...(all ?? []), ...(any ?? [])].map(scope => `\`${scope}\``)
  const role = roles === undefined ? '' : `, and the role ${roles.join(' or ')}`
  const sentences = [`Needs the scope ${scopes.join(' or ')}${role}.`]
  if (own === true)
    sentences.push("For a resource that belongs to the caller's application, the scope alone is enough.")
  if (shared !== undefined)
    sentences.push(
      `For a resource that belongs to no tenant, the caller needs the scope \`${shared.join('` and `')}\` instead of this scope and role.`,
    )
  if (everyTenant === true)
    sentences.push(
      'For a resource that belongs to another tenant or to no tenant, the caller also needs the role cpi-admin or a token without a tenant.',
    )
  for (const [name, reach] of Object.entries(confined ?? {}))
    sentences.push(
      `A caller with the role ${name} needs no scope${reach === 'own' ? " for resources of the caller's application" : ''}.`,
    )
  return sentences.join(' ')
}

/** Puts the authority that changes a field into the field and its description. @param node changed in place */
export function describeAuthorities(node: object): void {
  const { [AUTHORITIES]: authorities, properties } = node as {
    readonly [AUTHORITIES]?: { readonly [field: string]: Authority }
    readonly properties?: { readonly [field: string]: { readonly description?: string } }
  }
  if (authorities !== undefined) {
    for (const [name, field] of Object.entries(properties ?? {})) {
      const authority = authorities[name]
      if (authority === undefined) throw new Error(`no authority is declared for the field ${name}`)
      Object.assign(field, { [AUTHORITY]: authority })
      if (authority === 'member') continue
      Object.assign(field, { description: `${field.description ?? ''} Authority: \`${authority}\`.`.trim() })
    }
    delete (node as { [AUTHORITIES]?: unknown })[AUTHORITIES]
  }
  for (const value of Object.values(node))
    if (typeof value === 'object' && value !== null) describeAuthorities(value)
}

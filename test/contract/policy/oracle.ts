/** The table of docs/reference/policy-input.md, Scopes and roles of the shipped policy, written independently: it shares nothing with the policies. */
import type { PolicyInput } from '../../../src/policy/engine.ts'

/** Role or group → scopes. */
const SCOPES_OF_ROLES: Readonly<Record<string, string>> = {
  'cpi-admin': 'admin read write execute deploy audit',
  'tenant-admin': 'read write execute',
  devops: 'read write deploy',
  viewer: 'read',
}

export interface Expected {
  readonly allow: boolean
  /** Sorted. */
  readonly codes: readonly string[]
  /** All scopes the reasons name, sorted. */
  readonly scopes: readonly string[]
}

export function expectedOf(input: PolicyInput): Expected {
  const codes = new Set<string>()
  const scopes = new Set<string>()
  const granted = new Set(input.subject.properties.scopes)
  for (const role of input.subject.properties.roles) {
    for (const scope of SCOPES_OF_ROLES[role]?.split(' ') ?? []) granted.add(scope)
  }
  const subscribes = isSubscriber(input) && maySubscriber(input)
  function need(scope: string): void {
    if (granted.has(scope) || subscribes) return
    codes.add('insufficient_scope')
    scopes.add(scope)
  }
  function needEither(first: string, second: string): void {
    if (!granted.has(second)) need(first)
  }
  const { name } = input.action
  const { tenant, annotations, own } = input.resource.properties

  switch (kindOf(name)) {
    case 'read':
      need('read')
      break
    case 'call':
      need('execute')
      if (
        name === 'tools.call' &&
        annotations?.readOnlyHint !== true &&
        annotations?.destructiveHint !== false
      )
        need('write')
      break
    case 'proxy':
      // docs/reference/policy-input.md, Actions: an API without `auth_required` asks nothing of its callers
      if (tenant !== null) need('execute')
      break
    case 'admin':
      need('admin')
      break
    case 'audit':
      needEither('read', 'audit')
      break
    case 'own tenant':
      needEither('read', 'admin')
      break
    case 'decisions':
      needEither('audit', 'admin')
      break
    case 'everyone':
      break
    case 'write':
      need('write')
      break
    case 'plan':
      need(tenant === null ? 'admin' : 'write')
      if (tenant !== null && !isTenantAdmin(input)) codes.add('role_required')
      break
    case 'read by role':
    case 'write by role':
      need(kindOf(name) === 'read by role' ? 'read' : 'write')
      if (!isTenantAdmin(input)) codes.add('role_required')
      break
    case 'deploy':
      need('deploy')
      break
    case 'for others':
      need('write')
      if (!isTenantAdmin(input) && !(own === true && !name.endsWith('.approve'))) codes.add('role_required')
      break
    default:
      codes.add('unknown_operation')
  }

  const everyTenant = concernsEveryTenant(name)
  const reaches = everyTenant && reachesEveryTenant(input)
  if (tenant === null) {
    if (everyTenant && !reaches) codes.add('every_tenant')
  } else if (tenant !== input.subject.properties.tenant && !reaches) codes.add('other_tenant')
  if (isSubscriber(input) && !hasOtherRole(input) && name.startsWith('control.') && !subscribes)
    codes.add('confined_role')
  return { allow: codes.size === 0, codes: [...codes].sort(), scopes: [...scopes].sort() }
}

function concernsEveryTenant(name: string): boolean {
  return (
    name === 'admin' ||
    /^control\.(tenants\.|plans\.(create|update|delete)$|policy\.|gateways\.delete$)/.test(name)
  )
}

/** "The role cpi-admin or a token without tenant". */
function reachesEveryTenant({ subject }: PolicyInput): boolean {
  return subject.properties.roles.includes('cpi-admin') || subject.properties.tenant === null
}

function isTenantAdmin(input: PolicyInput): boolean {
  const { roles } = input.subject.properties
  return roles.includes('tenant-admin') || roles.includes('cpi-admin')
}

/** "Role `subscriber`: read the catalog, request subscriptions for its own consumer, own keys and usage; nothing else." */
function isSubscriber(input: PolicyInput): boolean {
  return input.subject.properties.roles.includes('subscriber')
}

function hasOtherRole(input: PolicyInput): boolean {
  return input.subject.properties.roles.some(role => SCOPES_OF_ROLES[role] !== undefined)
}

function maySubscriber({ action, resource }: PolicyInput): boolean {
  if (/^control\.(portal|plans)\.(list|read)$/.test(action.name)) return true
  const ofSubscriptions = /^control\.(subscriptions\.(list|read|create|update|revoke)|usage\.read)$/.test(
    action.name,
  )
  const ofKeys = /^control\.apikeys\.(list|read|create|rotate|revoke)$/.test(action.name)
  return (ofSubscriptions || ofKeys) && resource.properties.own === true
}

/** The rows of the table. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  read: [
    'tools.list resources.list resources.read prompts.list prompts.get capabilities.read',
    'control.apis.list control.apis.read control.subscriptions.list control.subscriptions.read control.usage.read',
    'control.apikeys.list control.apikeys.read control.plans.list control.plans.read',
    'control.webhooks.list control.webhooks.read control.consumers.list control.consumers.read',
    'control.portal.list control.portal.read control.products.list control.products.read',
  ],
  audit: [
    'control.metrics.read control.deliveries.list control.deliveries.read',
    'control.gateways.list control.gateways.read control.deployments.list control.deployments.read',
  ],
  everyone: ['control.public.list control.public.read'],
  call: ['tools.call'],
  proxy: ['proxy'],
  admin: [
    'admin control.tenants.list control.tenants.create control.tenants.update control.tenants.delete control.gateways.delete',
    'control.policy.read control.policy.check control.policy.change',
  ],
  'own tenant': ['control.tenants.read'],
  decisions: ['control.decisions.read control.audit.read control.calls.read'],
  'read by role': ['control.config.read'],
  'write by role': [
    'control.consumers.update control.config.apply',
    'control.subscriptions.reject control.subscriptions.suspend control.subscriptions.resume',
    'control.subscriptions.migrate',
    'control.apis.create control.apis.delete control.apis.govern',
    'control.products.create control.products.delete control.products.govern',
  ],
  write: ['control.apis.update control.products.update control.webhooks.create'],
  plan: ['control.plans.create control.plans.update control.plans.delete'],
  deploy: ['control.deployments.sync control.gateways.connect'],
  'for others': [
    'control.subscriptions.approve control.subscriptions.revoke control.apikeys.rotate control.apikeys.revoke',
    'control.subscriptions.create control.subscriptions.update control.apikeys.create',
    'control.webhooks.update control.webhooks.delete control.webhooks.test control.deliveries.retry',
  ],
}

const KIND_OF = new Map(
  Object.entries(ROWS).flatMap(([kind, lines]) =>
    lines.flatMap(line => line.split(' ').map(name => [name, kind] as const)),
  ),
)

function kindOf(action: string): string | undefined {
  return KIND_OF.get(action)
}

/** Every operation of the table. */
export const OPERATIONS: readonly string[] = [...KIND_OF.keys()]

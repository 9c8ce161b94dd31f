/** Who may do what, by hand from the scopes and roles in docs/reference/policy-input.md: the oracle for the shipped policy at the control plane. */
import type { Caller } from './plane.ts'

const READ: readonly Caller[] = ['platform', 'admin', 'devops', 'viewer', 'app']
/** The catalog, and the lists of which a subscriber gets its own part. */
const CATALOG: readonly Caller[] = [...READ, 'subscriber', 'portal']
const READ_OR_AUDIT: readonly Caller[] = [...READ, 'auditor']
const WRITE: readonly Caller[] = ['platform', 'admin', 'devops', 'app']
/** Deciding about others takes a role; `app` is the application that the subscription and the key belong to. */
const DECIDE: readonly Caller[] = ['platform', 'admin']
const OWN: readonly Caller[] = [...DECIDE, 'app']
const ADMIN: readonly Caller[] = ['platform']
/** Every tenant: the role cpi-admin, or the scope on a token without tenant. `scoped` has the scope on a token of acme. */
const EVERY_TENANT: readonly Caller[] = ['platform', 'operator']
const DEPLOY: readonly Caller[] = ['platform', 'devops']
/** Snapshots hold every tenant's secrets: `devops` has the scope `deploy`, but belongs to a tenant. */
const CONNECT: readonly Caller[] = ['platform', 'gateway']

/** Action → callers of tenant acme, and of none, who may do it to things of acme. An action that is missing here fails the matrix. */
export const MAY: { readonly [action: string]: readonly Caller[] } = {
  'control.tenants.create': EVERY_TENANT,
  'control.tenants.list': EVERY_TENANT,
  'control.tenants.read': [...READ, 'scoped', 'operator'],
  'control.tenants.update': EVERY_TENANT,
  'control.tenants.delete': EVERY_TENANT,
  'control.apis.create': DECIDE,
  'control.apis.list': READ,
  'control.apis.read': READ,
  // The recipes change fields of all authorities; `authority.test.ts` has each field.
  'control.apis.update': DECIDE,
  'control.apis.delete': DECIDE,
  // To accept what an MCP server announces. `authority.test.ts` has the fields.
  'control.apis.govern': DECIDE,
  'control.products.create': DECIDE,
  'control.products.list': READ,
  'control.products.read': READ,
  'control.products.update': DECIDE,
  'control.products.delete': DECIDE,
  // The recipe subscribes another application; `own-and-other.test.ts` has both.
  'control.subscriptions.create': DECIDE,
  'control.subscriptions.list': CATALOG,
  'control.subscriptions.read': READ,
  'control.subscriptions.approve': DECIDE,
  'control.subscriptions.reject': DECIDE,
  'control.subscriptions.suspend': DECIDE,
  'control.subscriptions.resume': DECIDE,
  'control.subscriptions.migrate': DECIDE,
  'control.subscriptions.update': OWN,
  'control.subscriptions.revoke': OWN,
  'control.usage.read': READ,
  'control.apikeys.create': OWN,
  'control.apikeys.list': CATALOG,
  'control.apikeys.rotate': OWN,
  'control.apikeys.revoke': OWN,
  // The recipes create global plans; plans of a tenant have a separate test.
  'control.plans.create': ADMIN,
  'control.plans.list': CATALOG,
  'control.plans.read': CATALOG,
  'control.plans.update': ADMIN,
  'control.plans.delete': ADMIN,
  'control.webhooks.create': WRITE,
  'control.webhooks.list': READ,
  'control.webhooks.read': READ,
  // The recipes make webhooks of an administrator; `own-and-other.test.ts` has those of an application.
  'control.webhooks.update': DECIDE,
  'control.webhooks.delete': DECIDE,
  'control.webhooks.test': DECIDE,
  'control.deliveries.list': READ_OR_AUDIT,
  'control.deliveries.read': READ_OR_AUDIT,
  'control.deliveries.retry': DECIDE,
  'control.metrics.read': READ_OR_AUDIT,
  'control.consumers.list': READ,
  'control.audit.read': ['platform', 'auditor', 'scoped'],
  'control.calls.read': ['platform', 'auditor', 'scoped'],
  'control.consumers.read': READ,
  'control.consumers.update': DECIDE,
  'control.gateways.delete': EVERY_TENANT,
  'control.policy.read': EVERY_TENANT,
  'control.policy.check': EVERY_TENANT,
  'control.policy.change': EVERY_TENANT,
  'control.portal.list': CATALOG,
  'control.portal.read': CATALOG,
  'control.gateways.list': READ_OR_AUDIT,
  'control.gateways.read': READ_OR_AUDIT,
  'control.gateways.connect': CONNECT,
  'control.deployments.list': READ_OR_AUDIT,
  'control.deployments.read': READ_OR_AUDIT,
  'control.deployments.sync': DEPLOY,
  'control.config.read': DECIDE,
  'control.config.apply': DECIDE,
}

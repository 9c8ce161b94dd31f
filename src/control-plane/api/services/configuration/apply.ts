/**
 * Applies a configuration tree in the transaction of the caller: comparison, authorization, changes and the record of owners.
 * `write.ts` writes a single change.
 */
import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../../link/document.ts'
import {
  type Applied,
  type Change,
  type Comparison,
  compareConfigurations,
  pathOf,
  type Resource,
} from '../../../../model/configuration.ts'
import type { Tenant } from '../../../../model/tenant.ts'
import type { AppliedResource } from '../../../store/configuration-repository.ts'
import { EVERY_TENANT, type Transaction } from '../../../store/store.ts'
import { entityTag } from '../../http/entity-tag.ts'
import { conflict, type FieldFault, invalid, invalidField, Problem } from '../../http/problem.ts'
import { type ConfigurationTree, DEFAULT_OWNER, resourcesOf } from '../../schemas/configuration-tree.ts'
import type { Services } from '../../services.ts'
import { globalPlanRefused } from '../plans.ts'
import { requireWritable } from '../tenants.ts'
import { changedSecrets } from './declared-webhooks.ts'
import { type LiveConfiguration, type LiveResource, MAX_RESOURCES, readLive } from './live.ts'
import { Secrets } from './secrets.ts'
import { suspend, writeChange } from './write.ts'

export interface ApplyRequest {
  readonly tree: ConfigurationTree
  /** Name → value. */
  readonly secrets: { readonly [name: string]: string }
  readonly dryRun: boolean
  readonly prune: boolean
  readonly overwriteDrift: boolean
  readonly takeOver: boolean
  /** '' = no precondition. */
  readonly ifMatch: string
  /** Subject of the caller. */
  readonly appliedBy: string
  /** Whose keys new webhooks receive. */
  readonly keysOf: string
  readonly services: Services
  readonly authorize: (action: string, tenant: string | null) => Promise<void>
}

export interface ApplyResult extends Comparison {
  readonly missingSecrets: readonly string[]
  /** Version of the live state that the changes were compared with. */
  readonly version: string
}

const MAX_DETAILS = 50

/** @throws Problem for drift, resources of other owners, missing secrets, changes that the policy or a service refuses */
export async function applyConfiguration(tx: Transaction, request: ApplyRequest): Promise<ApplyResult> {
  const { tree, dryRun, ifMatch } = request
  const owner = tree.owner ?? DEFAULT_OWNER
  const wanted = resourcesOf(tree)
  if (wanted.length > MAX_RESOURCES)
    throw new Problem(
      'payload_too_large',
      `The configuration has more than ${MAX_RESOURCES} resources. Split the configuration into trees with different owners.`,
    )
  await requireReach(tx, tree)
  await tx.configuration.lock()
  const names = Object.keys(tree.tenants)
  const subjects = wanted.filter(({ kind }) => kind === 'consumer').map(({ key }) => key)
  const live = await readLive(tx, { tenants: { names, owner }, subjects })
  requireTenants(tree, live)
  const { prune, takeOver } = request
  const compared = compareConfigurations({
    owner,
    wanted,
    prune,
    takeOver,
    live: live.resources,
    applied: live.applied,
  })
  const secrets = new Secrets(request.secrets)
  const comparison = { ...compared, changes: await withSecrets(tx, compared, live, secrets) }
  const version = versionOf(wanted, live, owner)
  if (!dryRun) {
    if (ifMatch !== '' && ifMatch.trim() !== '*' && ifMatch !== entityTag(version))
      throw outdated(comparison.changes)
    if (comparison.foreign.length > 0) throw ofOtherOwners(comparison.foreign)
    if (comparison.drift.length > 0 && !request.overwriteDrift) throw drifted(comparison)
  }
  await authorizeChanges(comparison.changes, request)
  await writeChanges(tx, comparison.changes, live, secrets, request)
  if (secrets.missing.length > 0 && !dryRun)
    throw invalid(
      secrets.missing.map(name => ({
        field: `secrets.${name}`,
        message:
          'is required, because a "from" field of the configuration refers to this secret. Send the value in secrets.',
      })),
    )
  await recordOwner(tx, comparison, owner, request)
  return { ...comparison, missingSecrets: secrets.missing, version }
}

/** A caller acting for one tenant names no other one. @throws Problem forbidden */
async function requireReach(tx: Transaction, tree: ConfigurationTree): Promise<void> {
  if (tx.scope === EVERY_TENANT) return
  const own = (await tx.tenants.find(tx.scope))?.name
  const others = Object.keys(tree.tenants).filter(name => name !== own)
  if (others.length > 0)
    throw new Problem(
      'forbidden',
      'The configuration contains tenants other than the tenant for which the request acts: see the details.',
      others.slice(0, MAX_DETAILS).map(name => ({
        field: `tenants.${name}`,
        message: 'is not the tenant for which the request acts.',
      })),
    )
}

/** @throws Problem validation_error for a tenant that is not declared, and does not exist or is being deleted */
function requireTenants(tree: ConfigurationTree, { tenants }: LiveConfiguration): void {
  for (const [name, { tier }] of Object.entries(tree.tenants))
    if (tier === undefined && !tenants.has(name))
      throw invalidField(`tenants.${name}`, 'does not exist. Add tier to declare the tenant.')
}

/** The changes, and those of webhooks that only a new value of a secret causes. */
async function withSecrets(
  tx: Transaction,
  { changes, owned }: Comparison,
  { resources }: LiveConfiguration,
  secrets: Secrets,
): Promise<readonly Change[]> {
  const all = new Map(changes.map(change => [change.path, change]))
  const rows = new Map(resources.map(resource => [pathOf(resource), resource]))
  for (const resource of owned) {
    const path = pathOf(resource)
    const current = rows.get(path)
    if (resource.kind !== 'webhook' || current === undefined) continue
    const { fields: values } = resource
    const known = all.get(path)?.fields ?? []
    const fresh = (await changedSecrets(tx, { row: current.row, fields: values }, secrets))
      .filter(field => known.every(each => each.field !== field))
      .map(field => ({ field, from: current.fields[field]!, to: values[field]! }))
    if (fresh.length > 0) all.set(path, { action: 'update', path, resource, fields: [...known, ...fresh] })
  }
  return [...all.values()]
}

/** Equal as long as the resources of the tree and of its owner are as they are. */
function versionOf(
  wanted: readonly Resource[],
  { resources, applied }: LiveConfiguration,
  owner: string,
): string {
  const concerned = new Set([...wanted, ...applied.filter(each => each.owner === owner)].map(pathOf))
  const hash = createHash('sha256')
  for (const resource of resources) {
    const path = pathOf(resource)
    if (concerned.has(path)) hash.update(canonicalJson([path, resource.fields]))
  }
  return hash.digest('hex').slice(0, 32)
}

function outdated(changes: readonly Change[]): Problem {
  return new Problem(
    'precondition_failed',
    'The configuration has changed since the dry run. The details list the remaining differences. Repeat the dry run.',
    changes
      .flatMap(({ path, action, fields }) =>
        fields.map(({ field }) => ({
          field: `${path}/${field}`,
          message: `differs: an apply would ${action} the resource.`,
        })),
      )
      .slice(0, MAX_DETAILS),
  )
}

function ofOtherOwners(foreign: readonly Applied[]): Problem {
  return conflict(
    'The configuration changes resources of other owners. Remove them from the tree, or repeat the request with take_over=true.',
    foreign
      .slice(0, MAX_DETAILS)
      .map(each => ({ field: pathOf(each), message: `belongs to ${each.owner}.` })),
  )
}

function drifted({ drift }: Comparison): Problem {
  const details: FieldFault[] = drift.slice(0, MAX_DETAILS).map(({ path, field }) => ({
    field: field === null ? path : `${path}/${field}`,
    message:
      field === null ? 'was deleted outside of `config apply`.' : 'was changed outside of `config apply`.',
  }))
  return conflict(
    'Resources were changed or deleted outside of `config apply`. Add these changes to the tree, or repeat the request with overwrite_drift=true.',
    details,
  )
}

/** Each change needs the right that a single request for it needs. @throws Problem forbidden */
async function authorizeChanges(changes: readonly Change[], { authorize }: ApplyRequest): Promise<void> {
  const asked = new Set<string>()
  for (const { action, resource } of changes) {
    const { kind, tenant } = resource
    // consumers appear by themselves, so creating and deleting them need the right to update
    const verb = kind === 'consumer' ? 'update' : action
    const owner = kind === 'tenant' && action === 'create' ? null : tenant
    const question = `control.${kind}s.${verb}`
    if (asked.has(`${question} ${owner}`)) continue
    asked.add(`${question} ${owner}`)
    await authorize(question, owner)
  }
}

/** Plans before the consumers that have them, tenants before their resources; deletions last, in the opposite order. */
function rankOf({ action, resource: { kind, tenant, fields } }: Change): number {
  const rank =
    kind === 'plan' && tenant === null
      ? 0
      : ['tenant', 'plan', 'api', 'product', 'consumer', 'webhook'].indexOf(kind) + 1
  // the version that ceases to be the default of a path comes before the one that becomes it
  const { versioning } = fields as { readonly versioning?: { readonly default: boolean } | null }
  const last = versioning?.default === true ? 0.5 : 0
  return action === 'delete' ? 20 - rank : rank + last
}

async function writeChanges(
  tx: Transaction,
  changes: readonly Change[],
  live: LiveConfiguration,
  secrets: Secrets,
  { services, keysOf, authorize }: ApplyRequest,
): Promise<void> {
  const rows = new Map<string, LiveResource>(live.resources.map(resource => [pathOf(resource), resource]))
  const tenants = new Map<string, Tenant>(live.tenants)
  const apiIds = new Map<string, string>()
  for (const { kind, row, ...resource } of live.resources)
    if (kind === 'api') apiIds.set(pathOf({ kind, ...resource }), row.id)
  const suspended: string[] = []
  for (const change of [...changes].sort((a, b) => rankOf(a) - rankOf(b))) {
    const { path, action, resource } = change
    const { kind, tenant: name, fields } = resource
    if (name === null && tx.scope !== EVERY_TENANT) throw globalPlanRefused()
    const tenant = name === null ? null : (tenants.get(name) ?? null)
    if (kind !== 'tenant' && tenant !== null) requireActive(tenant)
    const scoped = tenant === null ? tx : tx.within(tenant.id)
    const ask = (question: string): Promise<void> => authorize(question, name)
    const write = { tx: scoped, tenant, change, services, secrets, keysOf, apiIds, ask }
    const written = await writeChange(write, rows.get(path)).catch(error => {
      throw locatedAt(path, error)
    })
    if (written === undefined) continue
    tenants.set(written.name, written)
    if (action !== 'delete' && fields.suspended === true && written.status !== 'suspended')
      suspended.push(written.name)
  }
  for (const name of suspended) await suspend(tx, tenants.get(name)!)
}

/** @throws Problem tenant_suspended, conflict */
function requireActive(tenant: Tenant): void {
  requireWritable(tenant)
  if (tenant.status === 'suspended')
    throw new Problem(
      'tenant_suspended',
      `The tenant ${tenant.name} is suspended. Set suspended to false for the tenant first.`,
    )
}

/** The same problem with the place in the tree. */
function locatedAt(path: string, error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  const details =
    error.details.length === 0
      ? [{ field: path, message: error.message }]
      : error.details.map(({ field, message }) => ({
          field: field.startsWith(path) ? field : `${path}/${field}`,
          message,
        }))
  return new Problem(error.code, `${path}: ${error.message}`, details, error.headers)
}

async function recordOwner(
  tx: Transaction,
  { owned, released }: Comparison,
  owner: string,
  { appliedBy }: ApplyRequest,
): Promise<void> {
  const ids = new Map<string, string>()
  const idOf = async (name: string): Promise<string | undefined> => {
    if (!ids.has(name)) {
      const found = await tx.tenants.resolve(name)
      if (found !== undefined) ids.set(name, found.id)
    }
    return ids.get(name)
  }
  const rows: AppliedResource[] = []
  for (const { kind, tenant, key, fields } of owned) {
    // a global plan that a caller of one tenant names as it is has no owner by that
    if (tenant === null && tx.scope !== EVERY_TENANT) continue
    const tenantId = tenant === null ? null : await idOf(tenant)
    if (tenantId !== undefined) rows.push({ tenantId, kind, key, owner, fields, appliedBy })
  }
  await tx.configuration.record(rows)
  for (const { kind, tenant, key } of released) {
    const tenantId = tenant === null ? null : await idOf(tenant)
    if (tenantId !== undefined) await tx.configuration.release([{ tenantId, kind, key }])
  }
}

/**
 * Creates, changes, activates, deletes and purges tenants, and checks that a tenant is writable.
 * It handles no HTTP except `If-Match` and the problems it throws.
 */
import type { TenantSettings, Tier } from '../../../model/schema/tenant.ts'
import { moveTenant, type Tenant, type TenantStatus } from '../../../model/tenant.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { conflict, requireFound } from '../http/problem.ts'
import { newRecord } from './records.ts'
import { revokeSubscription } from './subscriptions.ts'

export interface NewTenant {
  readonly name: string
  readonly tier: Tier
  readonly adminEmail: string | null
  readonly region: string
}

export async function createTenant(tx: Transaction, fields: NewTenant): Promise<Tenant> {
  const tenant: Tenant = {
    ...fields,
    ...newRecord(tx, 'tenant'),
    status: 'provisioning',
    settings: {},
  }
  await tx.tenants.insert(tenant)
  announce(tx, 'tenant.created', tenant)
  return tenant
}

export interface TenantPatch {
  readonly tier?: Tier | undefined
  readonly adminEmail?: string | null | undefined
  readonly settings?: TenantSettings | undefined
  readonly status?: Exclude<TenantStatus, 'provisioning' | 'deleting'> | undefined
}

/** @throws Problem not_found, precondition_failed, conflict for an invalid status change */
export async function patchTenant(
  tx: Transaction,
  id: string,
  patch: TenantPatch,
  ifMatch: string,
): Promise<Tenant> {
  const tenant = requireFound(
    await tx.tenants.find(id, patch.status === undefined ? 'lock' : 'exclusive'),
    'tenant',
  )
  checkIfMatch(ifMatch, tenant.revision)
  requireWritable(tenant)
  const move = moveTenant(tenant, patch.status ?? tenant.status)
  if (!move.ok) throw conflict(move.reason, [{ field: 'status', message: move.reason }])
  const updated = await tx.tenants.update({
    ...move.value,
    tier: patch.tier ?? tenant.tier,
    adminEmail: patch.adminEmail === undefined ? tenant.adminEmail : patch.adminEmail,
    settings: { ...tenant.settings, ...patch.settings },
  })
  announce(tx, 'tenant.updated', updated)
  return updated
}

/** Revokes the subscriptions and removes the tenant from the gateways; its row is deleted once no gateway serves it. Idempotent. */
export async function deleteTenant(tx: Transaction, id: string, ifMatch = ''): Promise<void> {
  const tenant = requireFound(await tx.tenants.find(id, 'exclusive'), 'tenant')
  checkIfMatch(ifMatch, tenant.revision)
  const move = moveTenant(tenant, 'deleting')
  if (!move.ok) throw conflict(move.reason)
  if (!move.changed) return
  for (const subscription of await tx.subscriptions.openOfTenant(id))
    await revokeSubscription(tx, subscription, 'The tenant was deleted.')
  announce(tx, 'tenant.deleted', await tx.tenants.update(move.value))
}

/** provisioning → active, once a gateway serves the tenant. Does nothing in any other state. */
export async function activateTenant(tx: Transaction, id: string): Promise<void> {
  const tenant = await tx.tenants.find(id, 'lock')
  if (tenant?.status !== 'provisioning') return
  announce(tx, 'tenant.activated', await tx.tenants.update({ ...tenant, status: 'active' }))
}

/** Longer than all attempts of a delivery take. */
const MAX_WAIT_FOR_WEBHOOKS_MS = 2 * 3_600_000

const HISTORY_AT_ONCE = 5_000
/** The rest follows in the next round of maintenance, so that its other work does not wait. */
const MAX_HISTORY_BATCHES = 20

/** Deletes metering and usage of a tenant that is being deleted, in many transactions: one would exceed the time of a statement. @returns whether none is left */
export async function purgeHistory(store: Store, id: string): Promise<boolean> {
  for (let batch = 0; batch < MAX_HISTORY_BATCHES; batch++) {
    const removed = await store.write(EVERY_TENANT, async tx =>
      (await tx.tenants.find(id))?.status === 'deleting' ? tx.tenants.removeHistory(id, HISTORY_AT_ONCE) : 0,
    )
    if (removed < HISTORY_AT_ONCE) return true
  }
  return false
}

/**
 * Deletes the tenant and everything it owns. Does nothing unless it is being deleted, and while its webhooks are still to be
 * notified of it.
 */
export async function purgeTenant(tx: Transaction, id: string): Promise<void> {
  const tenant = await tx.tenants.find(id, 'exclusive')
  if (tenant?.status !== 'deleting') return
  const waitedMs = tx.now.getTime() - tenant.updatedAt.getTime()
  if (waitedMs < MAX_WAIT_FOR_WEBHOOKS_MS && (await tx.deliveries.anyPending(id))) return
  await tx.tenants.remove(id)
  announce(tx, 'tenant.purged', tenant)
}

/** @throws Problem conflict for a tenant that is being deleted */
export function requireWritable(tenant: Tenant): void {
  if (tenant.status === 'deleting') throw conflict('The tenant is being deleted and cannot be changed.')
}

function announce(
  tx: Transaction,
  kind: 'tenant.created' | 'tenant.updated' | 'tenant.activated' | 'tenant.deleted' | 'tenant.purged',
  { id, name, status }: Tenant,
): void {
  tx.events.append({ kind, tenantId: id, resourceId: id, data: { tenant_id: id, name, status } })
}

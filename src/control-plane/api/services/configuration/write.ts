/** Writes a change of a configuration through the services of its kind, and suspends a tenant. `apply.ts` determines the changes. */
import { pathOf } from '../../../../model/configuration.ts'
import { camelCased } from '../../../../model/schema/names.ts'
import type { TenantSettings, tenantSettings } from '../../../../model/schema/tenant.ts'
import type { z } from '../../../../model/schema/zod.ts'
import type { Tenant } from '../../../../model/tenant.ts'
import type { Transaction } from '../../../store/store.ts'
import { entityTag } from '../../http/entity-tag.ts'
import { conflict, invalidField } from '../../http/problem.ts'
import { storedApiFields } from '../../schemas/api.ts'
import type { TreeResource } from '../../schemas/configuration-tree.ts'
import { storedPlanFields } from '../../schemas/plan.ts'
import {
  type ApiFields,
  createApi,
  deleteApi,
  patchApi,
  requireExchangeUrl,
  requireUsableSpec,
} from '../apis.ts'
import { ensureConsumer, patchConsumer } from '../consumers.ts'
import { createPlan, deletePlan, type PlanFields, patchPlan } from '../plans.ts'
import { createProduct, deleteProduct, patchProduct } from '../products.ts'
import { createTenant, deleteTenant, patchTenant } from '../tenants.ts'
import type { Write } from './change-context.ts'
import {
  createConfiguredWebhook,
  deleteConfiguredWebhook,
  updateConfiguredWebhook,
} from './declared-webhooks.ts'
import type { LiveResource } from './live.ts'

/** @returns the tenant after the change, of a change of a tenant */
export async function writeChange(write: Write, live: LiveResource | undefined): Promise<Tenant | undefined> {
  const { kind } = write.change.resource
  switch (kind) {
    case 'plan':
      return writePlan(write, live)
    case 'tenant':
      return writeTenant(write, live)
    case 'api':
      return writeApi(write, live)
    case 'product':
      return writeProduct(write, live)
    case 'consumer':
      return writeConsumer(write, live)
    case 'webhook':
      if (write.change.action === 'create') await createConfiguredWebhook(write)
      else if (write.change.action === 'update')
        await updateConfiguredWebhook(write, live!.row.id, tagOf(live))
      else await deleteConfiguredWebhook(write, live!.row.id)
      return undefined
  }
}

/** A row that was changed after it was read is not overwritten. */
function tagOf(live: LiveResource | undefined): string {
  return entityTag(live!.row.revision)
}

async function writePlan({ tx, tenant, change }: Write, live: LiveResource | undefined): Promise<undefined> {
  const { action, resource } = change
  const fields = storedPlanFields(resource.fields as Parameters<typeof storedPlanFields>[0])
  if (action === 'create') await createPlan(tx, tenant?.id ?? null, resource.key, fields as PlanFields)
  else if (action === 'update') await patchPlan(tx, live!.row.id, fields, tagOf(live))
  else await deletePlan(tx, live!.row.id)
}

interface TenantFields {
  readonly tier: Tenant['tier']
  readonly region: string
  readonly admin_email: string | null
  readonly suspended: boolean
  readonly settings: z.output<typeof tenantSettings>
}

/** A tenant is suspended by `suspend`, after its resources were written. */
async function writeTenant(
  { tx, change }: Write,
  live: LiveResource | undefined,
): Promise<Tenant | undefined> {
  const { action, resource } = change
  if (action === 'delete') {
    await deleteTenant(tx, live!.row.id)
    return undefined
  }
  const {
    tier,
    region,
    admin_email: adminEmail,
    suspended,
    settings,
  } = resource.fields as unknown as TenantFields
  // absent settings are removed
  const all = { rateLimitMultiplier: undefined, apiRequestsPerHour: undefined, ...camelCased(settings) }
  const patch = { tier, adminEmail, settings: all as TenantSettings }
  if (action === 'create') {
    const created = await createTenant(tx, { name: resource.key, tier, adminEmail, region })
    return patchTenant(tx, created.id, patch, '')
  }
  const row = live!.row as Tenant
  if (row.region !== region)
    throw conflict(`The region of the tenant ${row.name} cannot be changed.`, [
      { field: `${change.path}/region`, message: `is ${row.region} and cannot be changed.` },
    ])
  const resumed = row.status === 'suspended' && !suspended
  return patchTenant(tx, row.id, resumed ? { ...patch, status: 'active' } : patch, tagOf(live))
}

/** Last, because nothing can be written to a suspended tenant. */
export async function suspend(tx: Transaction, tenant: Tenant): Promise<void> {
  await patchTenant(tx, tenant.id, { status: 'suspended' }, '')
}

async function writeApi(
  { tx, tenant, change, services, apiIds, ask }: Write,
  live: LiveResource | undefined,
): Promise<undefined> {
  const { action, resource } = change
  if (action === 'delete') {
    await deleteApi(tx, live!.row.id)
    return
  }
  const { spec, fields, key } = resource as TreeResource
  const body = { ...fields, path: key.split('@')[0], spec } as Parameters<typeof storedApiFields>[0]
  const values = storedApiFields(body) as ApiFields
  const status = fields.status as 'active' | 'deprecated' | 'retired'
  if (change.fields.some(({ field }) => field === 'spec')) requireUsableSpec(values.spec, services)
  requireExchangeUrl(values.mcp, services)
  if (action === 'update') await patchApi(tx, live!.row.id, { ...values, status }, tagOf(live), ask, services)
  else {
    const api = await createApi(tx, tenant!.id, values, services)
    if (status !== api.status) await patchApi(tx, api.id, { status }, '', ask, services)
    apiIds.set(change.path, api.id)
  }
}

/** @throws Problem validation_error for a key that names no API of the tenant */
async function writeProduct(
  { tx, tenant, change, apiIds, ask }: Write,
  live: LiveResource | undefined,
): Promise<undefined> {
  const { action, resource } = change
  if (action === 'delete') {
    await deleteProduct(tx, live!.row.id)
    return
  }
  const { name, description, plan, apis, portal_visibility } = resource.fields as {
    readonly name: string
    readonly description: string
    readonly plan: string
    readonly apis: readonly string[]
    readonly portal_visibility: boolean
  }
  const ids = apis.map((key, at) => {
    const id = apiIds.get(pathOf({ kind: 'api', tenant: resource.tenant, key }))
    if (id === undefined) throw invalidField(`apis.${at}`, `${key} is not the key of an API of this tenant.`)
    return id
  })
  const fields = { name, description, plan, apiIds: ids, portalVisibility: portal_visibility }
  if (action === 'create') await createProduct(tx, tenant!.id, resource.key, fields, ids)
  else await patchProduct(tx, live!.row.id, fields, tagOf(live), ask)
}

/** A consumer is known from its calls and is never deleted: it loses its configuration. */
async function writeConsumer(
  { tx, tenant, change }: Write,
  live: LiveResource | undefined,
): Promise<undefined> {
  const { action, resource } = change
  const { name, plan, blocked, notes } = resource.fields as {
    readonly name: string
    readonly plan: string | null
    readonly blocked: boolean
    readonly notes: string
  }
  if (action === 'delete') {
    const patch = { name: resource.key, plan: null, status: 'active', notes: '' } as const
    await patchConsumer(tx, live!.row.id, patch, tagOf(live))
    return
  }
  const id = live?.row.id ?? (await ensureConsumer(tx, tenant!.id, resource.key)).id
  const status = blocked ? 'blocked' : 'active'
  await patchConsumer(tx, id, { name, plan, status, notes }, live === undefined ? '' : tagOf(live))
}

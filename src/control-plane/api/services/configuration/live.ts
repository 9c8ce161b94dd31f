/** Reads the live resources and the last applied states for a configuration. */

import { readJson } from '../../../../base/json/exact-number.ts'
import { type Api, apiKeyOf } from '../../../../model/api.ts'
import type { Applied, ResourceFields } from '../../../../model/configuration.ts'
import type { Consumer } from '../../../../model/consumer.ts'
import type { PlanRecord } from '../../../../model/plan.ts'
import type { Product } from '../../../../model/product.ts'
import { toWire } from '../../../../model/schema/names.ts'
import { type TenantSettings, tenantSettings } from '../../../../model/schema/tenant.ts'
import type { Tenant } from '../../../../model/tenant.ts'
import { secretNameOf, type Webhook } from '../../../../model/webhook.ts'
import type { ConfigurationFilter, ConfigurationRows } from '../../../store/configuration-repository.ts'
import type { Transaction } from '../../../store/store.ts'
import { Problem } from '../../http/problem.ts'
import { apiResource, apiShape, type TreeResource } from '../../schemas/configuration-tree.ts'
import { showLimits } from '../../schemas/plan.ts'
import { renamedFields } from '../../schemas/shown-api.ts'

/** For each kind that is read for one configuration, and of all kinds in one tree. */
export const MAX_RESOURCES = 10_000
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024

export interface LiveConfiguration {
  readonly resources: readonly LiveResource[]
  readonly applied: readonly Applied[]
  /** By name. */
  readonly tenants: ReadonlyMap<string, Tenant>
}

export interface LiveResource extends TreeResource {
  readonly row: PlanRecord | Tenant | Api | Product | Consumer | Webhook
}

/** @throws Problem payload_too_large when there is more than one configuration may hold */
export async function readLive(
  tx: Transaction,
  filter: Omit<ConfigurationFilter, 'limit' | 'maxDocumentBytes'>,
): Promise<LiveConfiguration> {
  const rows = await tx.configuration.load({
    ...filter,
    limit: MAX_RESOURCES,
    maxDocumentBytes: MAX_DOCUMENT_BYTES,
  })
  if (rows === undefined || isTooLarge(rows))
    throw new Problem(
      'payload_too_large',
      `The configuration has more than ${MAX_RESOURCES} resources of one kind, or its OpenAPI documents exceed ${MAX_DOCUMENT_BYTES / 2 ** 20} MiB in total. Limit the request to one owner, or to one tenant with X-Tenant-ID.`,
    )
  const names = new Map(rows.tenants.map(tenant => [tenant.id, tenant.name]))
  const keys = new Map(rows.apis.map(api => [api.id, apiKeyOf(api)]))
  const nameOf = (id: string | null): string | null => (id === null ? null : names.get(id)!)
  return {
    resources: [
      ...rows.plans.map(row => ({ row, ...planResource(row, nameOf(row.tenantId)) })),
      ...rows.tenants.map(row => ({ row, ...tenantResource(row) })),
      ...rows.apis.map(row => ({ row, ...liveApi(row, nameOf(row.tenantId)!) })),
      ...rows.products.map(row => ({ row, ...productResource(row, nameOf(row.tenantId)!, keys) })),
      ...rows.consumers.map(row => ({ row, ...consumerResource(row, nameOf(row.tenantId)) })),
      ...rows.webhooks.map(row => ({ row, ...webhookResource(row, nameOf(row.tenantId)!) })),
    ],
    applied: rows.applied.map(({ tenantId, kind, key, owner, fields }) => {
      return { kind, key, owner, fields, tenant: nameOf(tenantId) }
    }),
    tenants: new Map(rows.tenants.map(tenant => [tenant.name, tenant])),
  }
}

function isTooLarge(rows: ConfigurationRows): boolean {
  return Object.values(rows).some(list => list.length > MAX_RESOURCES)
}

function planResource(plan: PlanRecord, tenant: string | null): TreeResource {
  const fields = { name: plan.name, ...showLimits(plan), requires_approval: plan.requiresApproval }
  return { kind: 'plan', tenant, key: plan.slug, fields }
}

function tenantResource({ name, tier, region, adminEmail, status, settings }: Tenant): TreeResource {
  const fields = {
    tier,
    region,
    admin_email: adminEmail,
    suspended: status === 'suspended',
    settings: toWire(tenantSettings, settings as Required<TenantSettings>) as ResourceFields,
  }
  return { kind: 'tenant', tenant: name, key: name, fields }
}

function liveApi(api: Api, tenant: string): TreeResource {
  const fields = toWire(apiShape, { ...api, ...renamedFields(api) }) as ResourceFields
  return apiResource(tenant, apiKeyOf(api), fields, api.spec === null ? null : readJson(api.spec))
}

/** @param keys of the APIs of its tenant, by id */
function productResource(
  { slug, name, description, plan, apiIds, portalVisibility }: Product,
  tenant: string,
  keys: ReadonlyMap<string, string>,
): TreeResource {
  const apis = apiIds.flatMap(id => keys.get(id) ?? [])
  const fields = { name, description, plan, apis, portal_visibility: portalVisibility }
  return { kind: 'product', tenant, key: slug, fields }
}

function consumerResource(
  { subject, name, plan, status, notes }: Consumer,
  tenant: string | null,
): TreeResource {
  const fields = { name, plan, blocked: status === 'blocked', notes }
  return { kind: 'consumer', tenant, key: subject, fields }
}

/** A value that was set by other means gets a name made of its place. */
function webhookResource(webhook: Webhook, tenant: string): TreeResource {
  const { name, url, events, enabled, hasSecret, customHeaders, secretNames } = webhook
  const from = (field: string) => ({ from: secretNames[field] ?? secretNameOf(tenant, name, field) })
  const headers = Object.keys(customHeaders).map(header => [header, from(`custom_headers.${header}`)])
  const fields = {
    url,
    events,
    enabled,
    secret: hasSecret ? from('secret') : null,
    custom_headers: Object.fromEntries(headers) as ResourceFields,
  }
  return { kind: 'webhook', tenant, key: name, fields }
}

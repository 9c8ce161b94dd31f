/** Routes and schemas of tenants. `services/tenants.ts` writes the changes, and `schemas/tenant.ts` has schemas of fields. */
import { tenantGatewayUrl } from '../../../model/api.ts'
import { changedBy } from '../../../model/schema/authority.ts'
import { word } from '../../../model/schema/fields.ts'
import { camelCased, toWire } from '../../../model/schema/names.ts'
import {
  adminEmail,
  DEFAULT_REGION,
  region,
  TIERS,
  tenantAuthorities,
  tenantName,
  tenantSettings,
  tier,
} from '../../../model/schema/tenant.ts'
import { z } from '../../../model/schema/zod.ts'
import { TENANT_STATUSES, type Tenant } from '../../../model/tenant.ts'
import { type Endpoint, endpointsTagged } from '../http/endpoint.ts'
import {
  envelope,
  fieldNames,
  listOf,
  pageQuery,
  q,
  shownId,
  shownMoment,
  sortQuery,
  wordQuery,
} from '../schemas/fields.ts'
import { createTenant, deleteTenant, patchTenant } from '../services/tenants.ts'
import type { Services } from '../services.ts'

const shownTenant = z
  .object({
    id: shownId('ten'),
    name: z.string(),
    tier: z.enum(TIERS),
    status: z.enum(TENANT_STATUSES),
    gateway_url: z.string().openapi({ format: 'uri' }),
    settings: tenantSettings.openapi({ additionalProperties: false }),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Tenant')

const newTenant = z
  .strictObject({
    name: tenantName,
    tier: tier.default('free'),
    admin_email: adminEmail.optional(),
    region: region.default(DEFAULT_REGION),
  })
  .openapi('NewTenant', changedBy(tenantAuthorities))

const tenantPatch = z
  .strictObject({
    tier: tier.optional(),
    settings: tenantSettings.optional(),
    admin_email: adminEmail.nullable().optional(),
    status: word(['active', 'suspended']).optional(),
  })
  .openapi('TenantPatch', changedBy(tenantAuthorities))

function showTenant(tenant: Tenant, { gatewayUrl }: Services) {
  return toWire(shownTenant, {
    ...tenant,
    gatewayUrl: tenantGatewayUrl(gatewayUrl, tenant.name),
  })
}

function respond(tenant: Tenant, services: Services) {
  return { body: showTenant(tenant, services), revision: tenant.revision }
}

const endpoint = endpointsTagged('tenant')

export const tenantEndpoints: readonly Endpoint[] = [
  endpoint('createTenant', 'post', '/tenants', {
    summary: 'Create a tenant',
    action: 'control.tenants.create',
    reach: 'platform',
    body: newTenant,
    readOnly: fieldNames(shownTenant),
    success: { description: 'The tenant, with the status `provisioning`', schema: shownTenant },
    async run({ tx, body, services }) {
      const tenant = await createTenant(tx, { ...camelCased(body), adminEmail: body.admin_email ?? null })
      return { ...respond(tenant, services), location: `/tenants/${tenant.id}` }
    },
  }),
  endpoint('listTenants', 'get', '/tenants', {
    summary: 'List tenants',
    action: 'control.tenants.list',
    reach: 'platform',
    query: z.object({
      ...pageQuery,
      sort: sortQuery('name', 'updated_at'),
      q,
      status: wordQuery(TENANT_STATUSES),
      tier: wordQuery(TIERS),
    }),
    success: { description: 'A page of tenants', schema: listOf(shownTenant, 'TenantList') },
    async run({ tx, query, services }) {
      const show = (tenant: Tenant) => showTenant(tenant, services)
      return { body: envelope(await tx.tenants.list(query, query), query, show) }
    },
  }),
  endpoint('readTenant', 'get', '/tenants/{tenant_id}', {
    summary: 'Read a tenant',
    action: 'control.tenants.read',
    success: { description: 'The tenant', schema: shownTenant },
    async run({ tenant, services }) {
      return respond(tenant!, services)
    },
  }),
  endpoint('updateTenant', 'patch', '/tenants/{tenant_id}', {
    summary: 'Change the tier, settings, status or administrator email of a tenant',
    action: 'control.tenants.update',
    body: tenantPatch,
    readOnly: [...fieldNames(shownTenant), 'region'],
    preconditions: true,
    success: { description: 'The changed tenant', schema: shownTenant },
    async run({ tx, tenant, body, ifMatch, services }) {
      const patch = { ...camelCased(body), settings: body.settings && camelCased(body.settings) }
      return respond(await patchTenant(tx, tenant!.id, patch, ifMatch), services)
    },
  }),
  endpoint('deleteTenant', 'delete', '/tenants/{tenant_id}', {
    summary: 'Delete a tenant with everything it owns',
    action: 'control.tenants.delete',
    success: {
      description: 'The deletion of the tenant has started; it ends when no gateway serves the tenant',
    },
    preconditions: true,
    run: ({ tx, tenant, ifMatch }) => deleteTenant(tx, tenant!.id, ifMatch),
  }),
]

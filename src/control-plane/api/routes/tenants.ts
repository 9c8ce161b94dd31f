/** Routes and schemas of tenants. The rules are in `service/tenants.ts`. */
import { tenantGatewayUrl } from '../../../model/api.ts'
import { TENANT_STATUSES, type Tenant, TIERS } from '../../../model/tenant.ts'
import { type Endpoint, endpoint } from '../http/endpoint.ts'
import {
  envelope,
  listOf,
  pageQuery,
  q,
  shaped,
  shownId,
  shownMoment,
  word,
  wordQuery,
} from '../schemas/fields.ts'
import { z } from '../schemas/zod.ts'
import { createTenant, deleteTenant, patchTenant } from '../services/tenants.ts'

const settings = z.strictObject({
  rate_limit_multiplier: z
    .number('must be a number.')
    .gt(0, 'must be greater than 0.')
    .max(1000, 'must be at most 1000.')
    .optional()
    .openapi({ description: 'Factor on the hourly limit of the tier.' }),
  api_requests_per_hour: z
    .int('must be an integer.')
    .min(1, 'must be at least 1.')
    .max(1_000_000_000, 'must be at most 1000000000.')
    .optional()
    .openapi({ description: 'Hourly limit of an enterprise tenant; absent: unlimited.' }),
})

const shownTenant = z
  .object({
    id: shownId('ten'),
    name: z.string(),
    tier: z.enum(TIERS),
    status: z.enum(TENANT_STATUSES),
    gateway_url: z.string().openapi({ format: 'uri' }),
    settings: settings.openapi({ additionalProperties: false }),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Tenant')

const READ_ONLY = ['id', 'status', 'gateway_url', 'settings', 'created_at', 'updated_at']

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const adminEmail = z.email('must be an e-mail address.').max(254, 'must have at most 254 characters.')

const newTenant = z
  .strictObject({
    name: shaped(DNS_LABEL, 63, 'must be a DNS label: a-z, 0-9 and -, not at the ends.').openapi({
      example: 'acme',
    }),
    tier: word(TIERS).default('free'),
    admin_email: adminEmail.optional(),
    region: shaped(/^[a-z0-9-]+$/, 63, 'must consist of a-z, 0-9 and -.').default('default'),
  })
  .openapi('NewTenant')

const tenantPatch = z
  .strictObject({
    tier: word(TIERS).optional(),
    settings: settings.optional(),
    admin_email: adminEmail.nullable().optional(),
    status: word(['active', 'suspended']).optional(),
  })
  .openapi('TenantPatch')

function show(tenant: Tenant, gatewayUrl: string) {
  const { rateLimitMultiplier, apiRequestsPerHour } = tenant.settings
  return {
    id: tenant.id,
    name: tenant.name,
    tier: tenant.tier,
    status: tenant.status,
    gateway_url: tenantGatewayUrl(gatewayUrl, tenant.name),
    settings: { rate_limit_multiplier: rateLimitMultiplier, api_requests_per_hour: apiRequestsPerHour },
    created_at: tenant.createdAt.toISOString(),
    updated_at: tenant.updatedAt.toISOString(),
  }
}

const TAG = 'tenant'

export const tenantEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'post',
    path: '/tenants',
    tag: TAG,
    id: 'createTenant',
    summary: 'Create a tenant',
    action: 'control.tenants.create',
    reach: 'platform',
    body: newTenant,
    readOnly: READ_ONLY,
    success: { status: 201, description: 'The tenant, still being provisioned', schema: shownTenant },
    async run({ tx, body, services }) {
      const { name, tier, admin_email = null, region } = body
      const tenant = await createTenant(tx, { name, tier, adminEmail: admin_email, region })
      return {
        status: 201,
        body: show(tenant, services.gatewayUrl),
        revision: tenant.revision,
        location: `/tenants/${tenant.id}`,
      }
    },
  }),
  endpoint({
    method: 'get',
    path: '/tenants',
    tag: TAG,
    id: 'listTenants',
    summary: 'List tenants',
    action: 'control.tenants.list',
    reach: 'platform',
    query: z.object({ ...pageQuery, q, status: wordQuery(TENANT_STATUSES), tier: wordQuery(TIERS) }),
    success: { status: 200, description: 'A page of tenants', schema: listOf(shownTenant, 'TenantList') },
    async run({ tx, query, services }) {
      const { items, total } = await tx.tenants.list(query, query)
      const shown = items.map(tenant => show(tenant, services.gatewayUrl))
      return { status: 200, body: envelope({ items: shown, total }, query) }
    },
  }),
  endpoint({
    method: 'get',
    path: '/tenants/{tenant_id}',
    tag: TAG,
    id: 'readTenant',
    summary: 'Read a tenant',
    action: 'control.tenants.read',
    reach: 'path',
    success: { status: 200, description: 'The tenant', schema: shownTenant },
    async run({ tenant, services }) {
      return { status: 200, body: show(tenant!, services.gatewayUrl), revision: tenant!.revision }
    },
  }),
  endpoint({
    method: 'patch',
    path: '/tenants/{tenant_id}',
    tag: TAG,
    id: 'updateTenant',
    summary: 'Change tier, settings or status of a tenant',
    action: 'control.tenants.update',
    reach: 'path',
    body: tenantPatch,
    readOnly: ['id', 'name', 'region', 'gateway_url', 'created_at', 'updated_at'],
    preconditions: true,
    success: { status: 200, description: 'The tenant as it now is', schema: shownTenant },
    async run({ tx, tenant, body, ifMatch, services }) {
      const patch = {
        tier: body.tier,
        adminEmail: body.admin_email,
        status: body.status,
        settings: body.settings && settingsOf(body.settings),
      }
      const updated = await patchTenant(tx, tenant!.id, patch, ifMatch)
      return { status: 200, body: show(updated, services.gatewayUrl), revision: updated.revision }
    },
  }),
  endpoint({
    method: 'delete',
    path: '/tenants/{tenant_id}',
    tag: TAG,
    id: 'deleteTenant',
    summary: 'Delete a tenant with everything it owns',
    action: 'control.tenants.delete',
    reach: 'path',
    success: {
      status: 204,
      description: 'The tenant is being deleted; it is gone once no gateway serves it',
    },
    async run({ tx, tenant }) {
      await deleteTenant(tx, tenant!.id)
      return { status: 204 }
    },
  }),
]

/** Only what was given: the rest stays as it is. */
function settingsOf(given: z.output<typeof settings>) {
  return {
    ...(given.rate_limit_multiplier === undefined
      ? {}
      : { rateLimitMultiplier: given.rate_limit_multiplier }),
    ...(given.api_requests_per_hour === undefined ? {} : { apiRequestsPerHour: given.api_requests_per_hour }),
  }
}

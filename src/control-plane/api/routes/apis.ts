/** Routes of APIs, the migration of their subscriptions, and lists of APIs with tenant names. `services/apis.ts` creates, changes and deletes APIs. */
import { API_STATUSES, type Api } from '../../../model/api.ts'
import { textField } from '../../../model/schema/fields.ts'
import { camelCased } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { ApiFilter, PageRequest } from '../../store/repositories.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpointsTagged } from '../http/endpoint.ts'
import { apiPatch, newApi, storedApiFields } from '../schemas/api.ts'
import { acceptance } from '../schemas/definitions.ts'
import {
  booleanQuery,
  envelope,
  fieldNames,
  listOf,
  pageQuery,
  q,
  sortQuery,
  wordQuery,
} from '../schemas/fields.ts'
import { type ShowApi, showApi, shownApi } from '../schemas/shown-api.ts'
import { migration, showMigration, shownMigration } from '../schemas/subscription.ts'
import {
  type ApiFields,
  createApi,
  deleteApi,
  findApi,
  patchApi,
  requireExchangeUrl,
  requireUsableSpec,
} from '../services/apis.ts'
import { GOVERN } from '../services/authority.ts'
import { acceptDefinitions } from '../services/definitions.ts'
import { migrateToApi } from '../services/migrate-subscriptions.ts'
import type { Services } from '../services.ts'

const endpoint = endpointsTagged('API')
const shownList = listOf(shownApi, 'ApiList')
const filters = {
  ...pageQuery,
  sort: sortQuery('name', 'path', 'updated_at'),
  q,
  status: wordQuery(API_STATUSES),
  portal_visibility: booleanQuery.optional(),
}

/** Tenant id → name, with one query for each tenant of a page. */
export async function tenantNames(tx: Transaction, apis: readonly Api[]): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const { tenantId, sharing } of apis) {
    if (!names.has(tenantId))
      names.set(tenantId, (await tx.tenants.find(tenantId))?.name ?? sharing?.by ?? '')
  }
  return names
}

/** One page of APIs. */
export async function listApis<T>(
  tx: Transaction,
  filter: ApiFilter,
  page: PageRequest,
  gatewayUrl: string,
  show: (api: Api, options: ShowApi) => T,
) {
  const found = await tx.apis.list(filter, page)
  const names = await tenantNames(tx, found.items)
  return envelope(found, page, api =>
    show(api, { tenantName: names.get(api.tenantId)!, gatewayUrl, withSpec: false }),
  )
}

/** ETag and body of one API. */
function respond(api: Api, tenant: Pick<Tenant, 'name'>, { gatewayUrl, publisher }: Services) {
  const specStatus = publisher.specStatusOf(api)
  return {
    body: showApi(api, { tenantName: tenant.name, gatewayUrl, withSpec: true, specStatus }),
    revision: api.revision,
  }
}

export const apiEndpoints: readonly Endpoint[] = [
  endpoint('createApi', 'post', '/tenants/{tenant_id}/apis', {
    summary: 'Register an API',
    action: 'control.apis.create',
    body: newApi,
    readOnly: fieldNames(shownApi),
    success: { description: 'The API', schema: shownApi },
    async run({ tx, tenant, body, services }) {
      const fields = storedApiFields(body) as ApiFields
      requireUsableSpec(fields.spec, services)
      requireExchangeUrl(fields.mcp, services)
      const api = await createApi(tx, tenant!.id, fields, services)
      const location = `/tenants/${tenant!.id}/apis/${api.id}`
      return { ...respond(api, tenant!, services), location }
    },
  }),
  endpoint('listTenantApis', 'get', '/tenants/{tenant_id}/apis', {
    summary: 'List the APIs of a tenant',
    action: 'control.apis.list',
    query: z.object(filters),
    success: { description: 'A page of APIs, without their OpenAPI documents', schema: shownList },
    async run({ tx, query, services }) {
      return { body: await listApis(tx, camelCased(query), query, services.gatewayUrl, showApi) }
    },
  }),
  endpoint('readTenantApi', 'get', '/tenants/{tenant_id}/apis/{api_id}', {
    summary: 'Read an API of a tenant',
    action: 'control.apis.read',
    success: { description: 'The API with its OpenAPI document', schema: shownApi },
    async run({ tx, tenant, params, services }) {
      const api = await findApi(tx, params.api_id!)
      return respond(api, tenant!, services)
    },
  }),
  endpoint('updateApi', 'patch', '/tenants/{tenant_id}/apis/{api_id}', {
    summary: 'Change an API',
    action: 'control.apis.update',
    governs: GOVERN.api,
    body: apiPatch,
    readOnly: fieldNames(shownApi),
    preconditions: true,
    success: { description: 'The changed API', schema: shownApi },
    async run({ tx, tenant, params, body, ifMatch, services, authorize }) {
      const patch = { ...storedApiFields(body), status: body.status }
      requireUsableSpec(patch.spec, services)
      requireExchangeUrl(patch.mcp, services)
      const ask = (action: string) => authorize(action, tenant!.name)
      const api = await patchApi(tx, params.api_id!, patch, ifMatch, ask, services)
      return respond(api, tenant!, services)
    },
  }),
  endpoint('acceptDefinitions', 'post', '/tenants/{tenant_id}/apis/{api_id}/definitions/accept', {
    summary: 'Accept the changed definitions that the MCP server of an API announces',
    action: GOVERN.api,
    body: acceptance,
    success: { status: 200, description: 'The API; the gateways serve the accepted list', schema: shownApi },
    async run({ tx, tenant, params, body, services }) {
      return respond(await acceptDefinitions(tx, params.api_id!, body.spec_hash), tenant!, services)
    },
  }),
  endpoint('migrateSubscriptions', 'post', '/tenants/{tenant_id}/apis/{api_id}/migrate', {
    summary:
      'Move the pending, approved and suspended subscriptions of an API, with their keys, to another API',
    action: 'control.subscriptions.migrate',
    body: migration,
    bulk: true,
    success: { status: 200, description: 'The result of the migration', schema: shownMigration },
    async run({ tx, params, body }) {
      const { applications, reason = null } = body
      const selection = { applications, reason }
      return { body: showMigration(await migrateToApi(tx, params.api_id!, body.to_api_id, selection)) }
    },
  }),
  endpoint('deleteApi', 'delete', '/tenants/{tenant_id}/apis/{api_id}', {
    summary: 'Delete an API; its subscriptions are revoked',
    action: 'control.apis.delete',
    success: { description: 'The API is deleted' },
    preconditions: true,
    run: ({ tx, params, ifMatch }) => deleteApi(tx, params.api_id!, ifMatch),
  }),
  endpoint('listApis', 'get', '/apis', {
    summary: 'List the APIs of all tenants the caller acts for',
    action: 'control.apis.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: textField(100).optional() }),
    success: { description: 'A page of APIs, without their OpenAPI documents', schema: shownList },
    async run({ tx, query, services }) {
      return { body: await listApis(tx, camelCased(query), query, services.gatewayUrl, showApi) }
    },
  }),
  endpoint('readApi', 'get', '/apis/{api_id}', {
    summary: 'Read an API with its OpenAPI document',
    action: 'control.apis.read',
    reach: 'caller',
    success: { description: 'The API; `spec` contains its OpenAPI document', schema: shownApi },
    async run({ tx, params, services }) {
      const api = await findApi(tx, params.api_id!)
      const names = await tenantNames(tx, [api])
      return respond(api, { name: names.get(api.tenantId)! }, services)
    },
  }),
]

/** Routes of APIs: those of a tenant, and the export over all that the caller may see. The rules are in `service/apis.ts`. */
import { API_STATUSES, type Api } from '../../../model/api.ts'
import type { Tenant } from '../../../model/tenant.ts'
import type { ApiFilter, PageRequest } from '../../store/repositories.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpoint } from '../http/endpoint.ts'
import { apiFields, apiPatch, newApi, READ_ONLY, type ShowApi, showApi, shownApi } from '../schemas/api.ts'
import { booleanQuery, envelope, listOf, pageQuery, q, text, wordQuery } from '../schemas/fields.ts'
import { z } from '../schemas/zod.ts'
import { type ApiFields, createApi, deleteApi, findApi, patchApi } from '../services/apis.ts'
import { requireWritable } from '../services/tenants.ts'

const TAG = 'API'
const shownList = listOf(shownApi, 'ApiList')
const filters = {
  ...pageQuery,
  q,
  status: wordQuery(API_STATUSES),
  portal_visibility: booleanQuery.optional(),
}

/** Name of the tenant an API belongs to, asked once for each tenant of a page. */
export async function tenantNames(tx: Transaction, apis: readonly Api[]): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const { tenantId } of apis) {
    if (!names.has(tenantId)) names.set(tenantId, (await tx.tenants.find(tenantId))?.name ?? '')
  }
  return names
}

/** A page of APIs in the way `show` shows them. */
export async function listApis<T>(
  tx: Transaction,
  filter: ApiFilter,
  page: PageRequest,
  gatewayUrl: string,
  show: (api: Api, options: ShowApi) => T,
) {
  const { items, total } = await tx.apis.list(filter, page)
  const names = await tenantNames(tx, items)
  const shown = items.map(api =>
    show(api, { tenantName: names.get(api.tenantId)!, gatewayUrl, withSpec: false }),
  )
  return envelope({ items: shown, total }, page)
}

/** Status, ETag and body of one API of this tenant. */
function respond(api: Api, tenant: Pick<Tenant, 'name'>, gatewayUrl: string) {
  return {
    body: showApi(api, { tenantName: tenant.name, gatewayUrl, withSpec: true }),
    revision: api.revision,
  }
}

export const apiEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'post',
    path: '/tenants/{tenant_id}/apis',
    tag: TAG,
    id: 'createApi',
    summary: 'Register an API',
    action: 'control.apis.create',
    reach: 'path',
    body: newApi,
    readOnly: READ_ONLY,
    success: { status: 201, description: 'The API', schema: shownApi },
    async run({ tx, tenant, body, services }) {
      requireWritable(tenant!)
      const api = await createApi(tx, tenant!.id, apiFields(body) as ApiFields)
      const location = `/tenants/${tenant!.id}/apis/${api.id}`
      return { status: 201, ...respond(api, tenant!, services.gatewayUrl), location }
    },
  }),
  endpoint({
    method: 'get',
    path: '/tenants/{tenant_id}/apis',
    tag: TAG,
    id: 'listTenantApis',
    summary: 'List the APIs of a tenant',
    action: 'control.apis.list',
    reach: 'path',
    query: z.object(filters),
    success: { status: 200, description: 'A page of APIs, without their documents', schema: shownList },
    async run({ tx, query, services }) {
      const filter = { q: query.q, status: query.status, portalVisibility: query.portal_visibility }
      return { status: 200, body: await listApis(tx, filter, query, services.gatewayUrl, showApi) }
    },
  }),
  endpoint({
    method: 'get',
    path: '/tenants/{tenant_id}/apis/{api_id}',
    tag: TAG,
    id: 'readTenantApi',
    summary: 'Read an API of a tenant',
    action: 'control.apis.read',
    reach: 'path',
    success: { status: 200, description: 'The API with its document', schema: shownApi },
    async run({ tx, tenant, params, services }) {
      const api = await findApi(tx, params.api_id!)
      return { status: 200, ...respond(api, tenant!, services.gatewayUrl) }
    },
  }),
  endpoint({
    method: 'patch',
    path: '/tenants/{tenant_id}/apis/{api_id}',
    tag: TAG,
    id: 'updateApi',
    summary: 'Change an API',
    action: 'control.apis.update',
    reach: 'path',
    body: apiPatch,
    readOnly: READ_ONLY.filter(field => field !== 'status'),
    preconditions: true,
    success: { status: 200, description: 'The API as it now is', schema: shownApi },
    async run({ tx, tenant, params, body, ifMatch, services }) {
      requireWritable(tenant!)
      const patch = { ...apiFields(body), status: body.status }
      const api = await patchApi(tx, params.api_id!, patch, ifMatch)
      return { status: 200, ...respond(api, tenant!, services.gatewayUrl) }
    },
  }),
  endpoint({
    method: 'delete',
    path: '/tenants/{tenant_id}/apis/{api_id}',
    tag: TAG,
    id: 'deleteApi',
    summary: 'Delete an API; its subscriptions are revoked',
    action: 'control.apis.delete',
    reach: 'path',
    success: { status: 204, description: 'The API is gone' },
    async run({ tx, params }) {
      await deleteApi(tx, params.api_id!)
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'get',
    path: '/apis',
    tag: TAG,
    id: 'listApis',
    summary: 'Export the APIs of all tenants the caller acts for',
    action: 'control.apis.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: text(100).optional() }),
    success: { status: 200, description: 'A page of APIs, without their documents', schema: shownList },
    async run({ tx, query, services }) {
      const filter = {
        q: query.q,
        status: query.status,
        portalVisibility: query.portal_visibility,
        tenantId: query.tenant_id,
      }
      return { status: 200, body: await listApis(tx, filter, query, services.gatewayUrl, showApi) }
    },
  }),
  endpoint({
    method: 'get',
    path: '/apis/{api_id}',
    tag: TAG,
    id: 'readApi',
    summary: 'Read an API with its OpenAPI document',
    action: 'control.apis.read',
    reach: 'caller',
    success: { status: 200, description: 'The API; its description is in `spec`', schema: shownApi },
    async run({ tx, params, services }) {
      const api = await findApi(tx, params.api_id!)
      const names = await tenantNames(tx, [api])
      return { status: 200, ...respond(api, { name: names.get(api.tenantId)! }, services.gatewayUrl) }
    },
  }),
]

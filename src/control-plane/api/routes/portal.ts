/** Routes of APIs in the portal catalog, for callers and visitors. The routes of products are in `products.ts`. */
import type { Api } from '../../../model/api.ts'
import { textField } from '../../../model/schema/fields.ts'
import { camelCased } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import { VISITED_TENANTS } from '../../../model/tenant.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, type EndpointCall, endpointsTagged } from '../http/endpoint.ts'
import { notFound } from '../http/problem.ts'
import { listOf, pageQuery, q, sortQuery, wordQuery } from '../schemas/fields.ts'
import { shownPortalApi, shownPublicApi, showPortalApi, showPublicApi } from '../schemas/shown-api.ts'
import { apiChangelog } from '../services/changelog.ts'
import type { Services } from '../services.ts'
import { listApis } from './apis.ts'

const endpoint = endpointsTagged('portal')
/** The catalog does not list retired APIs. */
const OFFERED = ['active', 'deprecated'] as const
const filters = {
  ...pageQuery,
  sort: sortQuery('name', 'updated_at'),
  q,
  status: wordQuery(OFFERED),
}

/** One API with what only a single response has: document, tools and changes. */
async function detailsOf(
  tx: Transaction,
  api: Api,
  tenantName: string,
  { gatewayUrl, publisher }: Services,
  isShown: Parameters<typeof apiChangelog>[2],
) {
  const changelog = await apiChangelog(tx, api, isShown)
  return { tenantName, gatewayUrl, withSpec: true, tools: publisher.toolsOf(api.id), changelog }
}

/** @throws Problem not_found */
async function visible({ tx, params }: Pick<EndpointCall<unknown, unknown>, 'tx' | 'params'>) {
  const id = params.api_id!
  const api = (await tx.apis.find(id)) ?? (await tx.apis.findShared(id))
  if (api === undefined || !api.portalVisibility || api.status === 'retired') throw notFound('API')
  return { api, tenant: await tx.tenants.find(api.tenantId) }
}

export const portalEndpoints: readonly Endpoint[] = [
  endpoint('listPortalApis', 'get', '/portal/apis', {
    summary: 'Search the APIs in the catalog',
    action: 'control.portal.list',
    reach: 'caller',
    query: z.object({ ...filters, tenant_id: textField(100).optional() }),
    success: {
      description: 'A page of APIs in the catalog',
      schema: listOf(shownPortalApi, 'PortalApiList'),
    },
    async run({ tx, query, services }) {
      const filter = { ...camelCased(query), portalVisibility: true, offered: true, sharedToo: true } as const
      return { body: await listApis(tx, filter, query, services.gatewayUrl, showPortalApi) }
    },
  }),
  endpoint('readPortalApi', 'get', '/portal/apis/{api_id}', {
    summary: 'Read an API from the catalog, with its OpenAPI document, tools and changelog',
    action: 'control.portal.read',
    reach: 'caller',
    success: { description: 'The API as shown in the catalog', schema: shownPortalApi },
    async run(call) {
      const { api, tenant } = await visible(call)
      const isShown = (fields: { readonly portal_visibility?: unknown }) => fields.portal_visibility === true
      const owner = tenant?.name ?? api.sharing?.by ?? ''
      const details = await detailsOf(call.tx, api, owner, call.services, isShown)
      return { body: showPortalApi(api, details) }
    },
  }),
  endpoint('listPublicApis', 'get', '/public/apis', {
    summary: 'Search the public APIs; no token is required',
    action: 'control.public.list',
    reach: 'platform',
    visitors: true,
    query: z.object(filters),
    success: {
      description: 'A page of public APIs',
      schema: listOf(shownPublicApi, 'PublicApiList'),
    },
    async run({ tx, query, services }) {
      const filter = { ...camelCased(query), forVisitors: true } as const
      return { body: await listApis(tx, filter, query, services.gatewayUrl, showPublicApi) }
    },
  }),
  endpoint('readPublicApi', 'get', '/public/apis/{api_id}', {
    summary: 'Read a public API with its OpenAPI document, tools and changelog; no token is required',
    action: 'control.public.read',
    reach: 'platform',
    visitors: true,
    success: { description: 'The API as shown to visitors', schema: shownPublicApi },
    async run(call) {
      const { api, tenant } = await visible(call)
      if (api.visibility !== 'public' || tenant === undefined || !VISITED_TENANTS.includes(tenant.status))
        throw notFound('API')
      const isShown = (fields: { readonly portal_visibility?: unknown; readonly visibility?: unknown }) =>
        fields.portal_visibility === true && fields.visibility === 'public'
      return { body: showPublicApi(api, await detailsOf(call.tx, api, tenant.name, call.services, isShown)) }
    },
  }),
]

/** Routes of the portal catalog: only APIs that their owner made visible, without upstream and limits. */
import { type Endpoint, tagged } from '../http/endpoint.ts'
import { notFound } from '../http/problem.ts'
import { shownPortalApi, showPortalApi } from '../schemas/api.ts'
import { listOf, pageQuery, q, sortQuery, textField, wordQuery } from '../schemas/fields.ts'
import { camelCased } from '../schemas/present.ts'
import { z } from '../schemas/zod.ts'
import { listApis, tenantNames } from './apis.ts'

const endpoint = tagged('portal')
/** The catalog does not list retired APIs. */
const OFFERED = ['active', 'deprecated'] as const

export const portalEndpoints: readonly Endpoint[] = [
  endpoint('listPortalApis', 'get', '/portal/apis', {
    summary: 'Search the catalog',
    action: 'control.portal.list',
    reach: 'caller',
    query: z.object({
      ...pageQuery,
      sort: sortQuery('name', 'updated_at'),
      q,
      status: wordQuery(OFFERED),
      tenant_id: textField(100).optional(),
    }),
    success: {
      description: 'A page of the catalog',
      schema: listOf(shownPortalApi, 'PortalApiList'),
    },
    async run({ tx, query, services }) {
      const filter = { ...camelCased(query), portalVisibility: true, offered: true }
      return { body: await listApis(tx, filter, query, services.gatewayUrl, showPortalApi) }
    },
  }),
  endpoint('readPortalApi', 'get', '/portal/apis/{api_id}', {
    summary: 'Read an API of the catalog with its document',
    action: 'control.portal.read',
    reach: 'caller',
    success: { description: 'The API as shown in the catalog', schema: shownPortalApi },
    async run({ tx, params, services }) {
      const api = await tx.apis.find(params.api_id!)
      if (api === undefined || !api.portalVisibility || api.status === 'retired') throw notFound('API')
      const names = await tenantNames(tx, [api])
      const tenantName = names.get(api.tenantId)!
      return { body: showPortalApi(api, { tenantName, gatewayUrl: services.gatewayUrl, withSpec: true }) }
    },
  }),
]

/** How APIs look in requests and answers: for their owner, and for the portal's visitors. No route lives here. */
import { API_STATUSES, type Api, tenantGatewayUrl } from '../../../model/api.ts'
import { count, httpUrl, shaped, shownId, shownMoment, text, word } from './fields.ts'
import { z } from './zod.ts'

const rateLimit = z.strictObject({ requests_per_hour: count(1) })

/** The OpenAPI document, as an object or as text. */
const spec = z
  .union(
    [z.record(z.string(), z.unknown()), text(1_000_000)],
    'must be an OpenAPI document: an object, or text.',
  )
  .openapi({ description: 'OpenAPI document, object or text.' })

/** Segments of unreserved characters (RFC 3986 §2.3): such a path is its own normal form, so the gateway never has to guess. */
const PATH = /^\/([A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*)?$/

const fields = {
  name: text(100).openapi({ example: 'Orders' }),
  description: text(4000, 0),
  upstream_url: httpUrl(),
  path: shaped(
    PATH,
    255,
    'must start with / and have segments of letters, digits, . _ ~ and -, no empty ones and none that start with a dot.',
  ).openapi({ example: '/orders' }),
  version: text(50).openapi({ example: 'v1' }),
  auth_required: z.boolean('must be true or false.'),
  rate_limit: rateLimit.nullable(),
  spec: spec.nullable(),
  portal_visibility: z.boolean('must be true or false.'),
}

export const newApi = z
  .strictObject({
    ...fields,
    description: fields.description.default(''),
    version: fields.version.default('v1'),
    auth_required: fields.auth_required.default(true),
    rate_limit: fields.rate_limit.default(null),
    spec: fields.spec.default(null),
    portal_visibility: fields.portal_visibility.default(false),
  })
  .openapi('NewApi')

export const apiPatch = z
  .strictObject({ ...fields, status: word(API_STATUSES) })
  .partial()
  .openapi('ApiPatch')

export const READ_ONLY = ['id', 'tenant_id', 'public_url', 'status', 'created_at', 'updated_at']

const shownSpec = z
  .unknown()
  .optional()
  .openapi({ description: 'The OpenAPI document as it was given; only where one API is read.' })

const shownBase = {
  id: shownId('api'),
  tenant_id: shownId('ten'),
  name: z.string(),
  description: z.string(),
  version: z.string(),
  auth_required: z.boolean(),
  public_url: z.string().openapi({ format: 'uri' }),
  status: z.enum(API_STATUSES),
  created_at: shownMoment,
  updated_at: shownMoment,
}

export const shownApi = z
  .object({
    ...shownBase,
    upstream_url: z.string().openapi({ format: 'uri' }),
    path: z.string(),
    rate_limit: rateLimit.nullable(),
    portal_visibility: z.boolean(),
    spec: shownSpec,
  })
  .openapi('Api')

/** Without what only the owner needs to know: upstream, path and limits. */
export const shownPortalApi = z.object({ ...shownBase, spec: shownSpec }).openapi('PortalApi')

function showBase(api: Api, tenantName: string, gatewayUrl: string, withSpec: boolean) {
  return {
    id: api.id,
    tenant_id: api.tenantId,
    name: api.name,
    description: api.description,
    version: api.version,
    auth_required: api.authRequired,
    public_url: tenantGatewayUrl(gatewayUrl, tenantName) + api.path,
    status: api.status,
    created_at: api.createdAt.toISOString(),
    updated_at: api.updatedAt.toISOString(),
    ...(withSpec ? { spec: api.spec === null ? null : (JSON.parse(api.spec) as unknown) } : {}),
  }
}

export interface ShowApi {
  readonly tenantName: string
  readonly gatewayUrl: string
  readonly withSpec: boolean
}

export function showPortalApi(api: Api, { tenantName, gatewayUrl, withSpec }: ShowApi) {
  return showBase(api, tenantName, gatewayUrl, withSpec)
}

export function showApi(api: Api, options: ShowApi) {
  return {
    ...showPortalApi(api, options),
    upstream_url: api.upstreamUrl,
    path: api.path,
    rate_limit: api.requestsPerHour === null ? null : { requests_per_hour: api.requestsPerHour },
    portal_visibility: api.portalVisibility,
  }
}

/** Fields of a body as the model has them; absent ones stay absent. */
export function apiFields(body: z.output<typeof apiPatch>) {
  return {
    name: body.name,
    description: body.description,
    upstreamUrl: body.upstream_url,
    path: body.path,
    version: body.version,
    authRequired: body.auth_required,
    requestsPerHour: body.rate_limit === undefined ? undefined : (body.rate_limit?.requests_per_hour ?? null),
    spec: body.spec === undefined ? undefined : body.spec === null ? null : JSON.stringify(body.spec),
    portalVisibility: body.portal_visibility,
  }
}

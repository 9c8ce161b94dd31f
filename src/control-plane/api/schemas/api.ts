/** Schemas of APIs in requests, and their fields in the model. It contains no route; the schemas of responses are in `shown-api.ts`. */
import {
  AFTER_SUNSET,
  API_STATUSES,
  API_TYPES,
  API_VISIBILITIES,
  type Deprecation,
  EVERY_OTHER_TENANT,
  VERSION_CHOICES,
  type Versioning,
} from '../../../model/api.ts'
import { writeJson } from '../../../model/exact-number.ts'
import {
  isWithheldFromUpstream,
  mayAllowRequestHeader,
  NEVER_FORWARDED,
  PATH_RULES,
  type Passthrough,
  WITHHELD_FROM_CLIENTS,
} from '../../../model/passthrough.ts'
import { count, httpUrl, moment, shaped, textField, upstreamUrl, word } from './fields.ts'
import { mcpUpstream, mcpUpstreamFields } from './mcp-upstream.ts'
import { traffic, trafficFields } from './traffic.ts'
import { z } from './zod.ts'

export const rateLimit = z.strictObject({ requests_per_hour: count(1) })

/** The OpenAPI document, as an object or as text. */
const spec = z
  .union(
    [z.record(z.string(), z.unknown()), textField(1_000_000)],
    'must be an OpenAPI document: an object, or text.',
  )
  .openapi({ description: 'OpenAPI document, object or text.' })

/** Segments of unreserved characters (RFC 3986 §2.3): such a path is in normal form already. */
const PATH = /^\/([A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*)?$/

const MAX_HEADERS = 32

export const passthrough = z
  .strictObject({
    request_headers: z
      .array(
        shaped(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 100, 'must be a header name in lower case.').refine(
          mayAllowRequestHeader,
          'must be a header that is withheld by default and not set by the gateway; other headers need no permission.',
        ),
      )
      .max(MAX_HEADERS, `must have at most ${MAX_HEADERS} headers.`)
      .default([])
      .openapi({ example: ['x-http-method-override'] }),
    response_headers: z
      .array(word(WITHHELD_FROM_CLIENTS))
      .max(MAX_HEADERS, `must have at most ${MAX_HEADERS} headers.`)
      .default([]),
    paths: word(PATH_RULES).default('strict').openapi({
      description:
        '`lenient` also forwards paths with parameters on dot segments (`..;`) and reserved characters that are encoded twice.',
    }),
  })
  .openapi('Passthrough', {
    description: 'Headers and paths that are withheld by default and that this API allows.',
  })

/** Of a proxied request: neither withheld nor set by the gateway. */
const versionHeader = shaped(
  /^x-[a-z0-9-]+$/,
  100,
  'must be a header name in lower case that begins with x-.',
)
  .refine(
    name => !NEVER_FORWARDED.has(name) && !isWithheldFromUpstream(name),
    'must be a header that the gateway neither sets nor withholds.',
  )
  .openapi({ example: 'x-api-version' })

const versioning = z
  .strictObject({
    by: word(VERSION_CHOICES).openapi({
      description: '`path`: the version follows the path; `header`: a request header has it.',
    }),
    header: versionHeader.nullable().default(null).openapi({ description: 'Absent: `x-api-version`.' }),
    default: z
      .boolean('must be true or false.')
      .default(false)
      .openapi({ description: 'Serves requests that name no version; the default of a path moves here.' }),
  })
  .refine(({ by, header }) => by === 'header' || header === null, {
    path: ['header'],
    message: 'must be absent unless by is header.',
  })
  // as it is stored, so that a configuration with and without the preset is the same
  .transform(value => ({
    ...value,
    header: value.by === 'header' ? (value.header ?? 'x-api-version') : null,
  }))
  .openapi('Versioning', { description: 'How callers choose among several versions of one path.' })

const deprecation = z
  .strictObject({
    sunset_at: moment()
      .transform(value => new Date(value).toISOString())
      .nullable()
      .default(null)
      .openapi({
        type: ['string', 'null'],
        format: 'date-time',
        description: 'Sent as the header Sunset (RFC 8594).',
      }),
    after_sunset: word(AFTER_SUNSET)
      .default('serve')
      .openapi({ description: '`refuse`: calls after `sunset_at` get 410.' }),
    link: httpUrl().nullable().default(null).openapi({ description: 'A page about it, sent as a Link.' }),
  })
  .openapi('Deprecation', { description: 'The announced end of an API.' })

const MAX_SHARED_WITH = 100
const sharedWith = z
  .array(
    shaped(/^(ten_[0-9a-z]{26}|\*)$/, 30, 'must be the id of a tenant, or *.'),
    'must be a list of ids of tenants.',
  )
  .max(MAX_SHARED_WITH, `must name at most ${MAX_SHARED_WITH} tenants.`)
  .refine(ids => new Set(ids).size === ids.length, 'must not name a tenant more than once.')
  .refine(ids => ids.length < 2 || !ids.includes(EVERY_OTHER_TENANT), 'must be * alone, or ids.')
  .openapi({
    example: [],
    description:
      'Ids of other tenants, or `*` for all: with `portal_visibility`, their members see the API in the catalog and request subscriptions.',
  })

const fields = {
  name: textField(100).openapi({ example: 'Orders' }),
  description: textField(4000, 0),
  type: word(API_TYPES),
  upstream_url: upstreamUrl(),
  mcp: mcpUpstream.nullable(),
  path: shaped(
    PATH,
    255,
    'must start with /, and its segments must be letters, digits, . _ ~ and -, not empty and not starting with a dot.',
  ).openapi({ example: '/orders' }),
  version: textField(50).openapi({ example: 'v1' }),
  versioning: versioning.nullable(),
  deprecation: deprecation.nullable(),
  auth_required: z.boolean('must be true or false.'),
  rate_limit: rateLimit.nullable(),
  passthrough: passthrough.nullable(),
  traffic: traffic.nullable(),
  spec: spec.nullable(),
  portal_visibility: z.boolean('must be true or false.'),
  visibility: word(API_VISIBILITIES),
  shared_with: sharedWith,
}

const { path: _path, ...withoutPath } = fields

/** The fields of a new API without its path, with their defaults. */
export const apiShape = {
  ...withoutPath,
  description: fields.description.default(''),
  type: fields.type.default('http').openapi({
    description: '`mcp`: the upstream is an MCP server; gateways serve its tools, resources and prompts.',
  }),
  mcp: fields.mcp.default(null),
  version: fields.version.default('v1'),
  versioning: fields.versioning.default(null),
  deprecation: fields.deprecation.default(null),
  auth_required: fields.auth_required.default(true),
  rate_limit: fields.rate_limit.default(null),
  passthrough: fields.passthrough.default(null),
  traffic: fields.traffic.default(null),
  spec: fields.spec.default(null),
  portal_visibility: fields.portal_visibility.default(false),
  shared_with: fields.shared_with.default([]),
  visibility: fields.visibility.default('tenant').openapi({
    description:
      'To whom the catalog shows the API when `portal_visibility` is true: `tenant`, callers of its tenant; `public`, every visitor without a token.',
  }),
}

export const apiPath = fields.path

export const newApi = z.strictObject({ ...apiShape, path: apiPath }).openapi('NewApi')

export const apiPatch = z
  .strictObject({ ...fields, status: word(API_STATUSES) })
  .partial()
  .openapi('ApiPatch')

/** Fields of a body as in the model, without `status`; absent fields are undefined. */
export function apiFields(body: z.output<typeof apiPatch>) {
  const allowed = body.passthrough
  return {
    name: body.name,
    description: body.description,
    type: body.type,
    upstreamUrl: body.upstream_url,
    mcp: body.mcp && mcpUpstreamFields(body.mcp),
    path: body.path,
    version: body.version,
    versioning:
      body.versioning &&
      ({
        by: body.versioning.by,
        header: body.versioning.header,
        isDefault: body.versioning.default,
      } satisfies Versioning),
    deprecation:
      body.deprecation &&
      ({
        sunsetAt: body.deprecation.sunset_at,
        afterSunset: body.deprecation.after_sunset,
        link: body.deprecation.link,
      } satisfies Deprecation),
    authRequired: body.auth_required,
    requestsPerHour: body.rate_limit === undefined ? undefined : (body.rate_limit?.requests_per_hour ?? null),
    passthrough:
      allowed &&
      ({
        requestHeaders: allowed.request_headers,
        responseHeaders: allowed.response_headers,
        paths: allowed.paths,
      } satisfies Passthrough),
    traffic: body.traffic && trafficFields(body.traffic),
    spec: body.spec === undefined ? undefined : body.spec === null ? null : writeJson(body.spec),
    portalVisibility: body.portal_visibility,
    visibility: body.visibility,
    sharedWith: body.shared_with,
  }
}

/** Schemas of APIs in requests, and the conversion of a body to fields of the model. The schemas of responses are in `shown-api.ts`. */

import { writeJson } from '../../../base/json/exact-number.ts'
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
import {
  isWithheldFromUpstream,
  mayAllowRequestHeader,
  NEVER_FORWARDED,
  PATH_RULES,
  type Passthrough,
  WITHHELD_FROM_CLIENTS,
} from '../../../model/passthrough.ts'
import { changeText } from '../http/requirements.ts'
import {
  count,
  httpUrl,
  moment,
  shaped,
  textField,
  UPSTREAM_URL_TEXT,
  upstreamUrl,
  WITH_CREDENTIAL,
  word,
} from './fields.ts'
import { mcpUpstream, mcpUpstreamFields } from './mcp-upstream.ts'
import { traffic, trafficFields } from './traffic.ts'
import { z } from './zod.ts'

export const rateLimit = z.strictObject({ requests_per_hour: count(1) })

/** The OpenAPI document, as a JSON object or as a string that contains JSON or YAML. */
const spec = z
  .union(
    [z.record(z.string(), z.unknown()), textField(1_000_000)],
    'must be an OpenAPI document, as a JSON object or as a string.',
  )
  .openapi({ description: 'OpenAPI document, as a JSON object or as a string that contains JSON or YAML.' })

/** Segments of unreserved characters (RFC 3986 §2.3): such a path is in normal form already. */
const PATH = /^\/([A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*)?$/

const MAX_HEADERS = 32

export const passthrough = z
  .strictObject({
    request_headers: z
      .array(
        shaped(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 100, 'must be a header name in lower case.').refine(
          mayAllowRequestHeader,
          'cannot be allowed. Use a request header that the gateway removes by default, such as "x-http-method-override".',
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
        '`strict`: the gateway refuses paths that contain dot segments with parameters (`..;`) or reserved characters that are encoded twice. `lenient`: the gateway forwards these paths.',
    }),
  })
  .openapi('Passthrough', {
    description:
      'Exceptions for this API: headers that the gateway otherwise removes, and paths that the gateway otherwise refuses.',
  })

/** Of a proxied request: neither withheld nor set by the gateway. */
const versionHeader = shaped(
  /^x-[a-z0-9-]+$/,
  100,
  'must be a header name in lower case that begins with "x-".',
)
  .refine(
    name => !NEVER_FORWARDED.has(name) && !isWithheldFromUpstream(name),
    'must be a header that the gateway does not set, change or remove.',
  )
  .openapi({ example: 'x-api-version' })

const versioning = z
  .strictObject({
    by: word(VERSION_CHOICES).openapi({
      description:
        '`path`: the version is the segment after the path of the API; `header`: a request header contains the version.',
    }),
    header: versionHeader.nullable().default(null).openapi({
      description: 'Default when `by` is `header`: `x-api-version`.',
    }),
    default: z.boolean('must be true or false.').default(false).openapi({
      description:
        'true: this version serves requests that name no version, and replaces the previous default version of the path.',
    }),
  })
  .refine(({ by, header }) => by === 'header' || header === null, {
    path: ['header'],
    message: 'must be null or absent when versioning.by is "path".',
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
        description: 'Announced end of the API, sent in the response header Sunset (RFC 8594).',
      }),
    after_sunset: word(AFTER_SUNSET)
      .default('serve')
      .openapi({ description: '`refuse`: calls after `sunset_at` get 410.' }),
    link: httpUrl().nullable().default(null).openapi({
      description: 'URL of a page about the deprecation, sent in the response header Link.',
    }),
  })
  .openapi('Deprecation', { description: 'The announced end of an API.' })

const MAX_SHARED_WITH = 100
const sharedWith = z
  .array(
    shaped(/^(ten_[0-9a-z]{26}|\*)$/, 30, 'must be the id of a tenant, or "*".'),
    'must be a list of tenant ids.',
  )
  .max(MAX_SHARED_WITH, `must name at most ${MAX_SHARED_WITH} tenants.`)
  .refine(ids => new Set(ids).size === ids.length, 'must not name a tenant more than once.')
  .refine(
    ids => ids.length < 2 || !ids.includes(EVERY_OTHER_TENANT),
    'must be "*" alone, or tenant ids without "*".',
  )
  .openapi({
    example: [],
    description:
      'Ids of other tenants, or `*` for all other tenants. When `portal_visibility` is true, members of these tenants see the API in the catalog and can request subscriptions.',
  })

const fields = {
  name: textField(100).openapi({ example: 'Orders' }),
  description: textField(4000, 0),
  type: word(API_TYPES).openapi({ description: changeText('control.apis.govern') }),
  upstream_url: upstreamUrl().openapi({
    description: `${UPSTREAM_URL_TEXT} ${changeText('control.apis.govern', WITH_CREDENTIAL)}`,
  }),
  mcp: mcpUpstream.nullable(),
  path: shaped(
    PATH,
    255,
    'must start with "/". Each segment must consist of letters, digits, ".", "_", "~" and "-", must not be empty, and must not start with ".".',
  ).openapi({ example: '/orders' }),
  version: textField(50).openapi({ example: 'v1' }),
  versioning: versioning.nullable(),
  deprecation: deprecation.nullable(),
  auth_required: z.boolean('must be true or false.').openapi({
    description: `true: callers need an approved subscription. ${changeText('control.apis.govern', 'A change, and false in a new API,')}`,
  }),
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
      'Who sees the API in the catalog when `portal_visibility` is true. `tenant`: members of the tenant; `public`: every visitor, without a token.',
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

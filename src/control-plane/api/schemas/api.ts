/** Schemas of APIs in requests and responses, for the owner and for the portal. It contains no route. */
import {
  AFTER_SUNSET,
  API_STATUSES,
  API_VISIBILITIES,
  type Api,
  type Deprecation,
  publicPath,
  tenantGatewayUrl,
  VERSION_CHOICES,
  type Versioning,
} from '../../../model/api.ts'
import { readJson, writeJson } from '../../../model/exact-number.ts'
import {
  isWithheldFromUpstream,
  mayAllowRequestHeader,
  NEVER_FORWARDED,
  PATH_RULES,
  type Passthrough,
  WITHHELD_FROM_CLIENTS,
} from '../../../model/passthrough.ts'
import type { Tool } from '../../../model/tool.ts'
import { SPEC_STATES, type SpecStatus } from '../../publisher/publisher.ts'
import { API_CHANGES, type ApiChange } from '../services/changelog.ts'
import { count, httpUrl, moment, shaped, shownId, shownMoment, textField, word } from './fields.ts'
import { present } from './present.ts'
import { shownTraffic, traffic, trafficFields } from './traffic.ts'
import { z } from './zod.ts'

const rateLimit = z.strictObject({ requests_per_hour: count(1) })

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

const passthrough = z
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

const fields = {
  name: textField(100).openapi({ example: 'Orders' }),
  description: textField(4000, 0),
  upstream_url: httpUrl(),
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
}

const { path: _path, ...withoutPath } = fields

/** The fields of a new API without its path, with their defaults. */
export const apiShape = {
  ...withoutPath,
  description: fields.description.default(''),
  version: fields.version.default('v1'),
  versioning: fields.versioning.default(null),
  deprecation: fields.deprecation.default(null),
  auth_required: fields.auth_required.default(true),
  rate_limit: fields.rate_limit.default(null),
  passthrough: fields.passthrough.default(null),
  traffic: fields.traffic.default(null),
  spec: fields.spec.default(null),
  portal_visibility: fields.portal_visibility.default(false),
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

const shownSpec = z
  .unknown()
  .optional()
  .openapi({ description: 'The OpenAPI document as it was sent; only in responses with a single API.' })

const shownBase = {
  id: shownId('api'),
  tenant: z.string().openapi({ description: 'Name of the tenant.' }),
  name: z.string(),
  description: z.string(),
  version: z.string(),
  versioning: z
    .object({ by: z.enum(VERSION_CHOICES), header: z.string().nullable(), default: z.boolean() })
    .nullable(),
  auth_required: z.boolean(),
  public_url: z.string().openapi({ format: 'uri' }),
  status: z.enum(API_STATUSES),
  deprecated_at: shownMoment
    .nullable()
    .openapi({ description: 'Sent as the header Deprecation (RFC 9745).' }),
  deprecation: z
    .object({
      sunset_at: shownMoment.nullable(),
      after_sunset: z.enum(AFTER_SUNSET),
      link: z.string().nullable(),
    })
    .nullable(),
  created_at: shownMoment,
  updated_at: shownMoment,
}

const { tenant: _name, ...shownOwn } = shownBase

export const shownApi = z
  .object({
    tenant_id: shownId('ten'),
    ...shownOwn,
    upstream_url: z.string().openapi({ format: 'uri' }),
    path: z.string(),
    rate_limit: rateLimit.nullable(),
    passthrough: passthrough.nullable(),
    traffic: traffic.nullable(),
    portal_visibility: z.boolean(),
    visibility: z.enum(API_VISIBILITIES),
    spec: shownSpec,
    spec_status: z
      .object({
        state: z.enum(SPEC_STATES),
        tools: z.int(),
        message: z.string().nullable(),
        degraded: z.string().nullable(),
      })
      .optional()
      .openapi({
        description:
          'What became of the OpenAPI document: `pending` until it is compiled, `error` with the reason when it has no tools; `degraded` names operations that did not become tools and references that are not resolved.',
      }),
  })
  .openapi('Api')

/** Without the fields for the owner only: upstream, path and limits. */
const published = {
  ...shownBase,
  spec: shownSpec,
  tools: z
    .array(
      z.object({
        name: z.string(),
        title: z.string(),
        description: z.string(),
        read_only: z.boolean(),
      }),
    )
    .optional()
    .openapi({ description: 'Its tools for agents; only in responses with a single API.' }),
  changelog: z
    .array(
      z.object({
        at: shownMoment,
        kind: z.enum(API_CHANGES),
        from: z.string().nullable(),
        to: z.string().nullable(),
      }),
    )
    .optional()
    .openapi({ description: 'The newest first; only in responses with a single API.' }),
}

export const shownPortalApi = z
  .object({ tenant_id: shownId('ten'), ...published, visibility: z.enum(API_VISIBILITIES) })
  .openapi('PortalApi')

export const shownPublicApi = z.object(published).openapi('PublicApi')

export interface ShowApi {
  readonly tenantName: string
  readonly gatewayUrl: string
  readonly withSpec: boolean
  /** Shown with a single API. */
  readonly specStatus?: SpecStatus
  readonly tools?: readonly Tool[]
  readonly changelog?: readonly ApiChange[]
}

function shown(api: Api, { tenantName, gatewayUrl, withSpec, specStatus, tools, changelog }: ShowApi) {
  return {
    ...api,
    tenant: tenantName,
    tools: tools?.map(({ name, description, annotations }) => ({
      name,
      title: annotations.title ?? name,
      description,
      read_only: annotations.readOnlyHint,
    })),
    changelog: changelog?.map(change => ({ ...change, at: change.at.toISOString() })),
    publicUrl: tenantGatewayUrl(gatewayUrl, tenantName) + publicPath(api),
    ...shownLimits(api),
    spec: withSpec ? parseSpec(api.spec) : undefined,
    specStatus,
  }
}

/** The fields that requests and the model hold in different forms. */
export function shownLimits(api: Api) {
  return {
    rateLimit: api.requestsPerHour === null ? null : { requests_per_hour: api.requestsPerHour },
    passthrough: shownPassthrough(api),
    traffic: api.traffic && shownTraffic(api.traffic),
    versioning: api.versioning && {
      by: api.versioning.by,
      header: api.versioning.header,
      default: api.versioning.isDefault,
    },
    deprecation: api.deprecation && {
      sunset_at: api.deprecation.sunsetAt,
      after_sunset: api.deprecation.afterSunset,
      link: api.deprecation.link,
    },
  }
}

function shownPassthrough({ passthrough: allowed }: Api) {
  if (allowed === null) return null
  return {
    request_headers: allowed.requestHeaders,
    response_headers: allowed.responseHeaders,
    paths: allowed.paths,
  }
}

function parseSpec(spec: string | null): unknown {
  return spec === null ? null : readJson(spec)
}

export function showPortalApi(api: Api, options: ShowApi) {
  return present(shownPortalApi, shown(api, options))
}

export function showPublicApi(api: Api, options: ShowApi) {
  return present(shownPublicApi, shown(api, options))
}

export function showApi(api: Api, options: ShowApi) {
  return present(shownApi, shown(api, options))
}

/** Fields of a body as in the model; absent fields are undefined. */
export function apiFields(body: z.output<typeof apiPatch>) {
  const allowed = body.passthrough
  return {
    name: body.name,
    description: body.description,
    upstreamUrl: body.upstream_url,
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
  }
}

/** The fields of an API that its owner declares. */
import { isWithheldFromUpstream, NEVER_FORWARDED } from '../passthrough.ts'
import { EVERY_OTHER_TENANT } from '../tenant.ts'
import type { Authorities } from './authority.ts'
import { count, httpUrl, moment, shaped, textField, upstreamUrl, withDefaults, word } from './fields.ts'
import { mcpUpstream } from './mcp-upstream.ts'
import type { ModelOf } from './names.ts'
import { passthrough } from './passthrough.ts'
import { traffic } from './traffic.ts'
import { z } from './zod.ts'

/** Segments of unreserved characters (RFC 3986 §2.3): such a path is in normal form already. */
const PATH = /^\/([A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*)?$/

/** For a proxied request: neither withheld nor set by the gateway. */
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

export const versioning = z
  .strictObject({
    by: word(['path', 'header']).openapi({
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
  // as it is stored, so that a configuration with and without the default is the same
  .transform(value => ({
    ...value,
    header: value.by === 'header' ? (value.header ?? 'x-api-version') : null,
  }))
  .openapi('Versioning', {
    description: 'How callers choose among several versions of one path. null: the path has one API.',
    example: { by: 'header', header: 'x-api-version', default: false },
  })

export const deprecation = z
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
    after_sunset: word(['serve', 'refuse'])
      .default('serve')
      .openapi({ description: '`refuse`: calls after `sunset_at` get 410.' }),
    link: httpUrl().nullable().default(null).openapi({
      description: 'URL of a page about the deprecation, sent in the response header Link.',
    }),
  })
  .openapi('Deprecation', { description: 'The announced end of an API. null: no end is announced.' })

const MAX_SHARED_WITH = 100

export const apiFields = {
  name: textField(100).openapi({ description: 'Name in the console and in the portal.', example: 'Orders' }),
  description: textField(4000, 0).openapi({ description: 'Text for the portal.' }),
  type: word(['http', 'mcp']).openapi({
    description: '`mcp`: the upstream is an MCP server; gateways serve its tools, resources and prompts.',
  }),
  upstream_url: upstreamUrl(),
  mcp: mcpUpstream.nullable(),
  path: shaped(
    PATH,
    255,
    'must start with "/". Each segment must consist of letters, digits, ".", "_", "~" and "-", must not be empty, and must not start with ".".',
  ).openapi({
    description:
      'Path below the address of the tenant on the gateway. Unique in the tenant, except among the versions of an API.',
    example: '/orders',
  }),
  version: textField(50).openapi({
    description: 'Version of the API, as its owner writes it.',
    example: 'v1',
  }),
  versioning: versioning.nullable(),
  deprecation: deprecation.nullable(),
  auth_required: z.boolean('must be true or false.').openapi({
    description: 'true: callers need an approved subscription.',
  }),
  rate_limit: z
    .strictObject({
      requests_per_hour: count(1).openapi({
        description: 'Maximum number of requests of one consumer per hour, tool calls included.',
      }),
    })
    .nullable(),
  passthrough: passthrough.nullable(),
  traffic: traffic.nullable(),
  spec: z
    .union(
      [z.record(z.string(), z.unknown()), textField(1_000_000)],
      'must be an OpenAPI document, as a JSON object or as a string.',
    )
    .nullable()
    .openapi({
      description: 'OpenAPI document, as a JSON object or as a string that contains JSON or YAML.',
    }),
  portal_visibility: z.boolean('must be true or false.').openapi({
    description: 'true: the catalog of the portal lists the API, until the API is retired.',
  }),
  visibility: word(['tenant', 'public']).openapi({
    description:
      'Who sees the API in the catalog when `portal_visibility` is true. `tenant`: members of the tenant; `public`: every visitor, without a token.',
  }),
  shared_with: z
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
    }),
}

/** Names and texts are a member's. The others decide where calls and credentials go, who may call, or what the shared origin sends. */
export const apiAuthorities: Authorities<typeof apiFields & { readonly status: unknown }> = {
  name: 'member',
  description: 'member',
  type: 'tenant-admin',
  upstream_url: 'tenant-admin',
  mcp: 'tenant-admin',
  path: 'tenant-admin',
  version: 'tenant-admin',
  versioning: 'tenant-admin',
  deprecation: 'tenant-admin',
  auth_required: 'tenant-admin',
  rate_limit: 'tenant-admin',
  passthrough: 'tenant-admin',
  traffic: 'tenant-admin',
  // its operations become tools, and its marks decide which of them are destructive
  spec: 'tenant-admin',
  portal_visibility: 'tenant-admin',
  visibility: 'tenant-admin',
  shared_with: 'tenant-admin',
  status: 'tenant-admin',
}

/** The same in a new API. */
export const newApiFields = withDefaults(apiFields, {
  description: '',
  type: 'http',
  mcp: null,
  version: 'v1',
  versioning: null,
  deprecation: null,
  auth_required: true,
  rate_limit: null,
  passthrough: null,
  traffic: null,
  spec: null,
  portal_visibility: false,
  visibility: 'tenant',
  shared_with: [],
})

export type DeclaredApi = ModelOf<z.ZodObject<typeof apiFields>>

/** Schemas of APIs in responses, and the conversion of a record for a response. The schemas of requests are in `api.ts`. */

import { readJson } from '../../../base/json/exact-number.ts'
import {
  AFTER_SUNSET,
  API_STATUSES,
  API_TYPES,
  API_VISIBILITIES,
  type Api,
  publicPath,
  tenantGatewayUrl,
  VERSION_CHOICES,
} from '../../../model/api.ts'
import type { Tool } from '../../../model/tool.ts'
import { SPEC_STATES, type SpecStatus } from '../../publisher/document-compilations.ts'
import { API_CHANGES, type ApiChange } from '../services/changelog.ts'
import { passthrough, rateLimit } from './api.ts'
import { shownId, shownMoment } from './fields.ts'
import { mcpUpstream, shownMcpUpstream } from './mcp-upstream.ts'
import { present } from './present.ts'
import { shownTraffic, traffic } from './traffic.ts'
import { z } from './zod.ts'

const shownSpec = z
  .unknown()
  .optional()
  .openapi({ description: 'The OpenAPI document as it was sent; only in responses with a single API.' })

const shownBase = {
  id: shownId('api'),
  tenant: z.string().openapi({ description: 'Name of the tenant that owns the API.' }),
  name: z.string(),
  description: z.string(),
  version: z.string(),
  versioning: z
    .object({ by: z.enum(VERSION_CHOICES), header: z.string().nullable(), default: z.boolean() })
    .nullable(),
  auth_required: z.boolean(),
  type: z.enum(API_TYPES),
  public_url: z.string().openapi({ format: 'uri' }),
  status: z.enum(API_STATUSES),
  deprecated_at: shownMoment
    .nullable()
    .openapi({ description: 'Time of the deprecation, sent in the response header Deprecation (RFC 9745).' }),
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

const { id, tenant: _name, ...shownOwn } = shownBase

export const shownApi = z
  .object({
    // the columns of a CSV begin with the id
    id,
    tenant_id: shownId('ten'),
    ...shownOwn,
    upstream_url: z.string().openapi({ format: 'uri' }),
    mcp: mcpUpstream.nullable(),
    path: z.string(),
    rate_limit: rateLimit.nullable(),
    passthrough: passthrough.nullable(),
    traffic: traffic.nullable(),
    portal_visibility: z.boolean(),
    visibility: z.enum(API_VISIBILITIES),
    shared_with: z.array(z.string()),
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
          'State of the OpenAPI document: `none` without a document, `pending` until the document is compiled, then `ready` or `error`. With `error`, `message` is the reason, and the tools of the previous document stay in service. `degraded` names operations that did not become tools, references that are not resolved, and tools that are not served because an older API of the tenant has tools with the same names. Of an API of type `mcp`, `error`: it is not published.',
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
    .openapi({ description: 'Tools of the API; only in responses with a single API.' }),
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
    .openapi({ description: 'Changes to the API, the newest first; only in responses with a single API.' }),
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
    publicUrl:
      api.type === 'mcp'
        ? `${gatewayUrl.replace(/\/+$/, '')}/mcp/${api.id}`
        : tenantGatewayUrl(gatewayUrl, tenantName) + publicPath(api),
    ...shownLimits(api),
    spec: withSpec ? parseSpec(api.spec) : undefined,
    specStatus,
  }
}

/** The fields that requests and the model hold in different forms. */
export function shownLimits(api: Api) {
  return {
    rateLimit: api.requestsPerHour === null ? null : { requests_per_hour: api.requestsPerHour },
    mcp: api.mcp && shownMcpUpstream(api.mcp),
    sharedWith: api.sharing?.with ?? [],
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

/** Schemas of APIs in responses, and the conversion of a record for a response. `api.ts` has those of requests. */
import { readJson } from '../../../base/json/exact-number.ts'
import { API_STATUSES, type Api, publicPath, tenantGatewayUrl } from '../../../model/api.ts'
import { apiFields, deprecation, versioning } from '../../../model/schema/api.ts'
import { toWire } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import type { Tool } from '../../../model/tool.ts'
import { SPEC_STATES, type SpecStatus } from '../../publisher/document-compilations.ts'
import { API_CHANGES, type ApiChange } from '../services/changelog.ts'
import { shownPending } from './definitions.ts'
import { shownId, shownMoment } from './fields.ts'

const shownSpec = z
  .unknown()
  .optional()
  .openapi({ description: 'The OpenAPI document as it was sent; only in responses with a single API.' })

const {
  spec: _spec,
  name,
  description,
  version,
  versioning: _versioning,
  auth_required,
  type,
  deprecation: _deprecation,
  ...ofOwner
} = apiFields

/** The same in a response, which has every field. */
function whole<Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) {
  const fields = Object.entries(shape).map(([field, schema]) => {
    return [field, schema instanceof z.ZodDefault ? schema.unwrap() : schema]
  })
  return z.object(Object.fromEntries(fields) as Shape).nullable()
}

const shownBase = {
  name,
  description,
  version,
  versioning: whole(versioning.in),
  auth_required,
  type,
  public_url: z.string().openapi({ format: 'uri' }),
  status: z.enum(API_STATUSES),
  deprecated_at: shownMoment
    .nullable()
    .openapi({ description: 'Time of the deprecation, sent in the response header Deprecation (RFC 9745).' }),
  deprecation: whole(deprecation),
  created_at: shownMoment,
  updated_at: shownMoment,
}

export const shownApi = z
  .object({
    // the columns of a CSV begin with the id
    id: shownId('api'),
    tenant_id: shownId('ten'),
    ...shownBase,
    ...ofOwner,
    spec: shownSpec,
    pending_definitions: shownPending.optional(),
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
  id: shownId('api'),
  tenant: z.string().openapi({ description: 'Name of the tenant that owns the API.' }),
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
  .object({ tenant_id: shownId('ten'), ...published, visibility: ofOwner.visibility })
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

function toShown(api: Api, { tenantName, gatewayUrl, withSpec, specStatus, tools, changelog }: ShowApi) {
  return {
    ...api,
    tenant: tenantName,
    tools: tools?.map(({ name, description, annotations }) => ({
      name,
      title: annotations.title ?? name,
      description,
      readOnly: annotations.readOnlyHint,
    })),
    changelog,
    publicUrl:
      api.type === 'mcp'
        ? `${gatewayUrl.replace(/\/+$/, '')}/mcp/${api.id}`
        : tenantGatewayUrl(gatewayUrl, tenantName) + publicPath(api),
    ...renamedFields(api),
    pendingDefinitions: api.pendingDefinitions ?? undefined,
    spec: withSpec ? parseSpec(api.spec) : undefined,
    specStatus,
  }
}

/** The fields that requests and the record hold in different forms. */
export function renamedFields({ requestsPerHour, sharing }: Api) {
  return {
    rateLimit: requestsPerHour === null ? null : { requestsPerHour },
    sharedWith: sharing?.with ?? [],
  }
}

function parseSpec(spec: string | null): unknown {
  return spec === null ? null : readJson(spec)
}

export function showPortalApi(api: Api, options: ShowApi) {
  return toWire(shownPortalApi, toShown(api, options))
}

export function showPublicApi(api: Api, options: ShowApi) {
  return toWire(shownPublicApi, toShown(api, options))
}

export function showApi(api: Api, options: ShowApi) {
  return toWire(shownApi, toShown(api, options))
}

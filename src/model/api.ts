/** An API of a tenant, and pure functions for its life cycle, type, versions, sharing and addresses. */
import { type McpUpstream, mcpUpstreamFault } from './mcp-upstream.ts'
import type { Passthrough } from './passthrough.ts'
import type { Traffic } from './traffic.ts'
import { moved, moveStatus, type Transition } from './transition.ts'

export const API_STATUSES = ['active', 'deprecated', 'retired'] as const
export type ApiStatus = (typeof API_STATUSES)[number]

export const VERSION_CHOICES = ['path', 'header'] as const

export interface Versioning {
  /** `path`: the version follows the path of the API; `header`: a request header has it. */
  readonly by: (typeof VERSION_CHOICES)[number]
  /** In lower case; null unless `by` is `header`. */
  readonly header: string | null
  /** Serves requests that name no version. */
  readonly isDefault: boolean
}

export const AFTER_SUNSET = ['serve', 'refuse'] as const

export interface Deprecation {
  /** ISO 8601 in UTC with milliseconds; null: no date is known. */
  readonly sunsetAt: string | null
  readonly afterSunset: (typeof AFTER_SUNSET)[number]
  /** A page about it. */
  readonly link: string | null
}
/** Whom the catalog shows the API to: callers of its tenant, or every visitor. */
export const API_VISIBILITIES = ['tenant', 'public'] as const
export type ApiVisibility = (typeof API_VISIBILITIES)[number]

/** Means every tenant among those that an API is shared with. */
export const EVERY_OTHER_TENANT = '*'

/** Tenants besides the owner whose members may see the API in their catalog and request subscriptions to it. */
export interface Sharing {
  /** Name of the owner, which readers in other tenants cannot look up. */
  readonly by: string
  /** Ids, because a name may be used again after a deletion, or `*` alone. */
  readonly with: readonly string[]
}

/** `mcp`: the upstream is an MCP server. */
export const API_TYPES = ['http', 'mcp'] as const
export type ApiType = (typeof API_TYPES)[number]

export interface Api {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly description: string
  readonly type: ApiType
  readonly upstreamUrl: string
  /** Of type `mcp`: how it is reached; null: the defaults. */
  readonly mcp: McpUpstream | null
  /** Public path within the tenant's gateway address; starts with `/`. Unique in the tenant, with the version if it has `versioning`. */
  readonly path: string
  /** Label of the API's own version, as its owner writes it. */
  readonly version: string
  /** How callers choose this version among those of its path; null: the path has one API. */
  readonly versioning: Versioning | null
  readonly authRequired: boolean
  /** Requests per hour of one consumer; null = no such limit. */
  readonly requestsPerHour: number | null
  /** What it allows beyond the defaults; null = nothing. */
  readonly passthrough: Passthrough | null
  /** Rules for its proxied calls; null = none. */
  readonly traffic: Traffic | null
  /** The OpenAPI document as JSON text (a JSON string when it was given as text); null = none. */
  readonly spec: string | null
  /** Shown in the portal's catalog. */
  readonly portalVisibility: boolean
  /** Who sees it there. */
  readonly visibility: ApiVisibility
  /** null: with no other tenant. */
  readonly sharing: Sharing | null
  readonly status: ApiStatus
  /** When it became `deprecated`; null: it is not. */
  readonly deprecatedAt: Date | null
  /** What callers are notified of beforehand; null: no date and no page. */
  readonly deprecation: Deprecation | null
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

const MOVES = {
  active: ['deprecated', 'retired'],
  deprecated: ['active', 'retired'],
  retired: [],
} as const satisfies Record<ApiStatus, readonly ApiStatus[]>

/** `deprecated` still serves and may be taken back; `retired` is final and serves nothing. */
export function moveApi(api: Api, to: ApiStatus, at: Date): Transition<Api> {
  const move = moveStatus('An API', MOVES, api, to)
  if (!move.ok || !move.changed || to === 'retired') return move
  return moved({ ...move.value, deprecatedAt: to === 'deprecated' ? at : null })
}

export function isSharedWith({ sharing }: Pick<Api, 'sharing'>, tenantId: string): boolean {
  return sharing !== null && (sharing.with.includes(EVERY_OTHER_TENANT) || sharing.with.includes(tenantId))
}

/** What does not belong together, with the name of its field; undefined: nothing. */
export function apiTypeFault({
  type,
  mcp,
  spec,
  passthrough,
}: Pick<Api, 'type' | 'mcp' | 'spec' | 'passthrough'>):
  | { readonly field: string; readonly message: string }
  | undefined {
  if (type === 'http')
    return mcp === null ? undefined : { field: 'mcp', message: 'must be null unless type is "mcp".' }
  if (spec !== null)
    return {
      field: 'spec',
      message: 'must be null when type is "mcp": the MCP server provides the tools.',
    }
  if (passthrough !== null)
    return {
      field: 'passthrough',
      message: 'must be null when type is "mcp": passthrough applies only to proxied HTTP calls.',
    }
  return mcp === null ? undefined : mcpUpstreamFault(mcp)
}

/** True for a label that can be a segment of a path and the value of a header. */
export function isVersionLabel(version: string): boolean {
  return /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,49}$/.test(version)
}

type Addressed = Pick<Api, 'path' | 'version' | 'versioning'>

/** The path below the tenant's address. */
export function publicPath({ path, version, versioning }: Addressed): string {
  return versioning?.by === 'path' ? `${path === '/' ? '' : path}/${version}` : path
}

/** The path that also leads to this version although it is another one; undefined: none. */
export function aliasPath({ path, versioning }: Addressed): string | undefined {
  return versioning?.by === 'path' && versioning.isDefault ? path : undefined
}

/** Unique among the APIs of a tenant: the path, and the version where a path has several. */
export function apiKeyOf({ path, version, versioning }: Addressed): string {
  return versioning === null ? path : `${path}@${version}`
}

/** Paths that could lead to it; names of its tools are made of the last one. */
export function claimedPaths(api: Addressed): readonly string[] {
  const { path, versioning } = api
  const versioned = publicPath({ ...api, versioning: versioning && { ...versioning, by: 'path' } })
  return [...new Set([path, versioned])]
}

/** In front of the names of its tools. Paths that differ in punctuation alone (`/a-b`, `/a_b`) have the same prefix. */
export function toolPrefixOf(api: Addressed): string {
  const path = claimedPaths(api).at(api.versioning === null ? 0 : -1)!
  return `${path.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '')}_`
}

/** Why two APIs of a tenant cannot both be served; undefined: they can. That both are the default is not a reason: it moves. */
export function versionConflict(one: Addressed, other: Addressed): string | undefined {
  const [a, b] = [one.versioning, other.versioning]
  if (one.path === other.path && a !== null && b !== null) {
    if (a.by !== b.by)
      return `All versions of a path must have the same versioning.by, but version ${other.version} has "${b.by}" and version ${one.version} has "${a.by}".`
    if (a.header !== b.header)
      return `All versions of a path must have the same versioning.header, but version ${other.version} has "${b.header}".`
    return one.version === other.version ? `Version ${one.version} of this path already exists.` : undefined
  }
  const taken = claimedPaths(other).find(path => claimedPaths(one).includes(path))
  return taken === undefined ? undefined : `The API ${apiKeyOf(other)} already uses the path "${taken}".`
}

/** The address of the tenant on the gateway (docs/reference/control-plane.md, Tenant). */
export function tenantGatewayUrl(gatewayUrl: string, tenantName: string): string {
  return `${gatewayUrl.replace(/\/+$/, '')}/t/${tenantName}`
}

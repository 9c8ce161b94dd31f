/** An API of a tenant, and pure functions for its life cycle, type, versions, sharing and addresses. */
import { mcpUpstreamFault } from './mcp-upstream.ts'
import type { PendingDefinitions } from './pending-definitions.ts'
import type { DeclaredApi } from './schema/api.ts'
import { EVERY_OTHER_TENANT } from './tenant.ts'
import { moved, moveStatus, type Transition } from './transition.ts'

export const API_STATUSES = ['active', 'deprecated', 'retired'] as const
export type ApiStatus = (typeof API_STATUSES)[number]

/** Tenants besides the owner whose members may see the API in their catalog and request subscriptions to it. */
export interface Sharing {
  /** Name of the owner, which readers in other tenants cannot look up. */
  readonly by: string
  /** Ids, because a name may be used again after a deletion, or `*` alone. */
  readonly with: readonly string[]
}

/** With the name of the gateway that reported it first, and when. */
export interface PendingAtGateway extends PendingDefinitions {
  readonly gateway: string
  /** ISO 8601. */
  readonly at: string
}

/** As it is stored: what its owner declares (`schema/api.ts`), and its state. */
export interface Api extends Omit<DeclaredApi, 'rateLimit' | 'sharedWith' | 'spec'> {
  readonly id: string
  readonly tenantId: string
  /** Requests per hour of one consumer; null = no such limit. */
  readonly requestsPerHour: number | null
  /** The OpenAPI document as JSON text (a JSON string when it was given as text); null = none. */
  readonly spec: string | null
  /** null: with no other tenant. */
  readonly sharing: Sharing | null
  /** What the server of type mcp announces and gateways do not serve; null: nothing. */
  readonly pendingDefinitions: PendingAtGateway | null
  /** Hash of the list of the server of type mcp that was accepted last; null: none has been read. */
  readonly acceptedSpecHash: string | null
  readonly status: ApiStatus
  /** When it became `deprecated`; null: it is not. */
  readonly deprecatedAt: Date | null
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
  return versioning?.by === 'path' && versioning.default ? path : undefined
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

/** An API of a tenant and its life cycle as pure functions. It proxies nothing and stores nothing. */
import type { Passthrough } from './passthrough.ts'
import { moveStatus, type Transition } from './transition.ts'

export const API_STATUSES = ['active', 'deprecated', 'retired'] as const
export type ApiStatus = (typeof API_STATUSES)[number]

/** Whom the catalog shows the API to: callers of its tenant, or every visitor. */
export const API_VISIBILITIES = ['tenant', 'public'] as const
export type ApiVisibility = (typeof API_VISIBILITIES)[number]

export interface Api {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly description: string
  readonly upstreamUrl: string
  /** Public path within the tenant's gateway address; starts with `/`, unique in the tenant. */
  readonly path: string
  /** Label of the API's own version, as its owner writes it. */
  readonly version: string
  readonly authRequired: boolean
  /** Requests per hour of one consumer; null = no such limit. */
  readonly requestsPerHour: number | null
  /** What it allows beyond the defaults; null = nothing. */
  readonly passthrough: Passthrough | null
  /** The OpenAPI document as JSON text (a JSON string when it was given as text); null = none. */
  readonly spec: string | null
  /** Shown in the portal's catalog. */
  readonly portalVisibility: boolean
  /** Who sees it there. */
  readonly visibility: ApiVisibility
  readonly status: ApiStatus
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
export function moveApi(api: Api, to: ApiStatus): Transition<Api> {
  return moveStatus('An API', MOVES, api, to)
}

/** The address of the tenant on the gateway (docs/reference/control-plane.md, Tenant). */
export function tenantGatewayUrl(gatewayUrl: string, tenantName: string): string {
  return `${gatewayUrl.replace(/\/+$/, '')}/t/${tenantName}`
}

/** The parts of the control plane's share of the configuration, updates of the share, and how one is applied. */
import type { McpUpstream } from '../model/mcp-upstream.ts'
import type { Passthrough } from '../model/passthrough.ts'
import type { Plan } from '../model/plan.ts'
import type { Tool } from '../model/tool.ts'
import type { Traffic } from '../model/traffic.ts'

/** A proxied API; retired and deleted ones are left out. */
export interface ApiShare {
  readonly id: string
  /** Below the tenant's address `/t/{tenant}`. */
  readonly path: string
  readonly upstreamUrl: string
  /** False: every caller may use it. */
  readonly authRequired: boolean
  /** Requests per hour of one consumer; null: no limit. */
  readonly requestsPerHour: number | null
  /** null, and absent in an update of an older control plane: nothing beyond the defaults. */
  readonly passthrough?: Passthrough | null
  /** Rules for its calls; absent: none. */
  readonly traffic?: Traffic
  /** A further path that leads to it: requests there name no version. */
  readonly alias?: string
  /** One of several APIs with this path, of which a request header chooses; absent: the only one. */
  readonly version?: VersionShare
  /** Absent: no end is announced. */
  readonly deprecation?: DeprecationShare
}

/** An MCP server whose tools gateways list and serve; it is not proxied. */
export interface McpApiShare extends ApiShare {
  readonly name: string
  /** In front of the names of its tools. */
  readonly toolPrefix: string
  readonly mcp: McpUpstream
}

export interface VersionShare {
  readonly label: string
  /** In lower case. */
  readonly header: string
  readonly isDefault: boolean
}

export interface DeprecationShare {
  /** Unix ms; null: it is not deprecated. */
  readonly deprecatedAtMs: number | null
  /** Unix ms; null: no date is known. */
  readonly sunsetAtMs: number | null
  /** Calls after the sunset are refused. */
  readonly isRefused: boolean
  readonly link: string | null
}

/** An approved subscription. Its limits are the plan's with these overrides (`limitsOf` of model/subscription.ts). */
export interface SubscriptionShare {
  readonly id: string
  /** Of a product: one of its APIs, which is all that a gateway of an older version serves; '' when it has none. */
  readonly apiId: string
  /** Of a product: its APIs. Absent: `apiId` alone. */
  readonly apiIds?: readonly string[]
  /** The consumer. */
  readonly application: string
  /** Name of the tenant of the application, where the API is shared with it; it calls with keys only. Absent: the owner of the API. */
  readonly subscriber?: string
  /** Slug: the tenant's own plan of that name, else the global one. */
  readonly plan: string
  /** Per minute. */
  readonly rateLimit: number | null
  /** Per month. */
  readonly quota: number | null
  /** Unix ms; null: does not expire. The gateway enforces it without an update. */
  readonly expiresAtMs: number | null
}

/** The APIs that a subscription opens. */
export function apisOfSubscription({
  apiId,
  apiIds,
}: Pick<SubscriptionShare, 'apiId' | 'apiIds'>): readonly string[] {
  return apiIds ?? [apiId]
}

/** A valid key. The previous key of a rotation is a separate entry until its grace period ends. */
export interface KeyShare {
  readonly id: string
  readonly subscriptionId: string
  /** `tgk_` and the 8 public characters. */
  readonly prefix: string
  /** SHA-256 of the whole key, hex. */
  readonly hash: string
  readonly expiresAtMs: number | null
}

/** A subscription that is not served: calls are refused with its state. Separate, because gateways of older versions serve all subscriptions. */
export interface InactiveSubscriptionShare {
  readonly id: string
  readonly apiId: string
  /** As of a subscription that is served. */
  readonly apiIds?: readonly string[]
  readonly application: string
  /** As of a subscription that is served. */
  readonly subscriber?: string
  readonly state: SubscriptionFault
  readonly keys: readonly Omit<KeyShare, 'subscriptionId'>[]
}

export const SUBSCRIPTION_FAULTS = ['suspended', 'expired'] as const
export type SubscriptionFault = (typeof SUBSCRIPTION_FAULTS)[number]

export interface ConsumerShare {
  readonly subject: string
  /** Slug of the plan assigned to it; null: the defaults. */
  readonly plan: string | null
  readonly blocked: boolean
}

export interface TenantShare {
  readonly id: string
  readonly name: string
  /** True: every call of its addresses and tools is refused. */
  readonly suspended: boolean
  readonly plans: readonly Plan[]
  readonly apis: readonly ApiShare[]
  /** Absent: none. Separate, because gateways of older versions proxy all APIs. */
  readonly mcpApis?: readonly McpApiShare[]
  readonly subscriptions: readonly SubscriptionShare[]
  readonly keys: readonly KeyShare[]
  /** Absent: none. */
  readonly inactive?: readonly InactiveSubscriptionShare[]
  /** Only those with an assigned plan, and those that are blocked. */
  readonly consumers: readonly ConsumerShare[]
  /** Compiled from the OpenAPI documents of its APIs. */
  readonly tools: readonly Tool[]
}

export interface ControlShare {
  /** SHA-256 over the parts, hex: equal content has the same version on every instance. '' before the first. */
  readonly version: string
  /** The global plans. */
  readonly plans: readonly Plan[]
  /** By id. */
  readonly tenants: ReadonlyMap<string, TenantShare>
}

export const EMPTY_SHARE: ControlShare = Object.freeze({ version: '', plans: [], tenants: new Map() })

/** The difference between two versions. */
export interface ShareUpdate {
  readonly version: string
  /** The version it builds on; null: none, and `tenants` holds all tenants. */
  readonly base: string | null
  /** Absent: unchanged. */
  readonly plans?: readonly Plan[]
  /** Tenants that are new or changed, whole. */
  readonly tenants: readonly TenantShare[]
  /** Ids of removed tenants. */
  readonly removed: readonly string[]
}

/** The update from EMPTY_SHARE to a share. */
export function wholeShare({ version, plans, tenants }: ControlShare): ShareUpdate {
  return { version, base: null, plans, tenants: [...tenants.values()], removed: [] }
}

/**
 * The share after an update; the one before stays as it was.
 * @throws Error when the update builds on another version: the receiver then requests the whole share
 */
export function applyUpdate(share: ControlShare, update: ShareUpdate): ControlShare {
  if (update.base !== null && update.base !== share.version) {
    throw new Error(
      `the update is based on version ${update.base}, but the current version is ${share.version}`,
    )
  }
  const tenants = new Map(update.base === null ? [] : share.tenants)
  for (const id of update.removed) tenants.delete(id)
  for (const tenant of update.tenants) tenants.set(tenant.id, tenant)
  return Object.freeze({ version: update.version, plans: update.plans ?? share.plans, tenants })
}

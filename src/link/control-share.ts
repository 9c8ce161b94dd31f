/** The control plane's share of the configuration, updates of the share, and how one is applied. */
import type { Plan } from '../model/plan.ts'
import type { SubscriptionShare, TenantShare } from './share-schema.ts'

/** The APIs that a subscription opens. */
export function apisOfSubscription({
  apiId,
  apiIds,
}: Pick<SubscriptionShare, 'apiId' | 'apiIds'>): readonly string[] {
  return apiIds ?? [apiId]
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

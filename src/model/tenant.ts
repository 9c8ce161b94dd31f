/** A tenant, and pure functions for its life cycle and hourly limit. */
import type { TenantSettings, Tier } from './schema/tenant.ts'
import { moveStatus, type Transition } from './transition.ts'

/** Means every other tenant, in the list of tenants with which an API is shared. */
export const EVERY_OTHER_TENANT = '*'

export const TENANT_STATUSES = ['provisioning', 'active', 'suspended', 'deleting'] as const
export type TenantStatus = (typeof TENANT_STATUSES)[number]

/** In these states of a tenant, visitors see its public APIs. */
export const VISITED_TENANTS: readonly TenantStatus[] = ['provisioning', 'active']

export interface Tenant {
  readonly id: string
  /** DNS label, unique. */
  readonly name: string
  readonly tier: Tier
  readonly adminEmail: string | null
  readonly region: string
  readonly status: TenantStatus
  readonly settings: TenantSettings
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** `deleting` is final: the row goes once no gateway serves the tenant any more. */
const MOVES = {
  provisioning: ['active', 'suspended', 'deleting'],
  active: ['suspended', 'deleting'],
  suspended: ['active', 'deleting'],
  deleting: [],
} as const satisfies Record<TenantStatus, readonly TenantStatus[]>

export function moveTenant(tenant: Tenant, to: TenantStatus): Transition<Tenant> {
  return moveStatus('A tenant', MOVES, tenant, to)
}

/** Requests per hour on the control plane (docs/reference/control-plane.md, Rate limits of the control plane). */
const HOURLY: { readonly [tier in Tier]: number | undefined } = {
  free: 100,
  starter: 1_000,
  business: 10_000,
  enterprise: undefined,
}

/** The tenant's hourly limit with its multiplier; undefined = unlimited, at least 1 otherwise. */
export function hourlyLimit(tenant: Pick<Tenant, 'tier' | 'settings'>): number | undefined {
  const base = tenant.tier === 'enterprise' ? tenant.settings.apiRequestsPerHour : HOURLY[tenant.tier]
  if (base === undefined) return undefined
  return Math.max(1, Math.floor(base * (tenant.settings.rateLimitMultiplier ?? 1)))
}

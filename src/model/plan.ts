/** Plans and their limits, rules that assign plans, the default limits and the seeded plans, as plain data. */

/** Limits per consumer; 0 or absent = no limit of that kind (docs/reference/http.md, Quotas per consumer). */
export interface PlanLimits {
  readonly perSecond?: number
  readonly perMinute?: number
  readonly perDay?: number
  readonly perMonth?: number
  /** Requests in flight at once. */
  readonly burst?: number
}

export interface Plan extends PlanLimits {
  readonly slug: string
  readonly name: string
}

/** The plan of callers who have none by their name, such as clients that registered themselves. All fields given must agree. */
export interface PlanRule {
  /** Slug. */
  readonly plan: string
  readonly tenant?: string
  readonly role?: string
  /** `sub` of the token. */
  readonly user?: string
  /** The calls of a user are counted together, whichever client makes them, and apart from those of other users. */
  readonly per?: 'user'
}

/** A plan as the control plane keeps it; every limit is present, 0 = none. */
export interface PlanRecord extends Required<Plan> {
  readonly id: string
  /** null = global, for every tenant. */
  readonly tenantId: string | null
  /** False: a subscription to it is approved as soon as it is asked for. */
  readonly requiresApproval: boolean
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What applies when no plan does (docs/reference/http.md, Quotas per consumer). */
export const DEFAULT_LIMITS: PlanLimits = Object.freeze({ perMinute: 5, perDay: 10_000 })

/**
 * The plans every installation begins with (docs/reference/http.md, Quotas per consumer). Migration 3 writes them as global
 * plans, and the plans file starts from them. They never change: a migration that was applied must stay as it is.
 */
export const SEEDED_PLANS: readonly Plan[] = Object.freeze([
  {
    slug: 'community',
    name: 'Community',
    perSecond: 5,
    perMinute: 60,
    perDay: 10_000,
    perMonth: 100_000,
  },
  { slug: 'silver', name: 'Silver', perSecond: 20, perMinute: 300, perDay: 50_000, perMonth: 1_000_000 },
  { slug: 'gold', name: 'Gold', perSecond: 100, perMinute: 5_000, perDay: 500_000, perMonth: 10_000_000 },
  { slug: 'enterprise', name: 'Enterprise' },
])

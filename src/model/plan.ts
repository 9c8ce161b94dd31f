/** Plans: the limits of a consumer, as plain data. It decides nothing. */

/** Limits per consumer; 0 or absent = no limit of that kind (contract §4). */
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

/** What applies when no plan does (specification, "Quotas per consumer"). */
export const DEFAULT_LIMITS: PlanLimits = Object.freeze({ perMinute: 5, perDay: 10_000 })

/** Usage of a subscription on one day: the count, its day and key, and the sum of two counts. */

export interface UsageCount {
  readonly subscriptionId: string
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string
  readonly requests: number
  readonly errors: number
  readonly lastRequestAt: Date
}

/** The UTC day of a usage count. */
export function usageDay(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** Counts with the same key are added. */
export function usageKey({ subscriptionId, day }: Pick<UsageCount, 'subscriptionId' | 'day'>): string {
  return `${subscriptionId} ${day}`
}

/** @param a same key as `b` */
export function addUsage(a: UsageCount, b: UsageCount): UsageCount {
  return {
    ...a,
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    lastRequestAt: a.lastRequestAt > b.lastRequestAt ? a.lastRequestAt : b.lastRequestAt,
  }
}

/** Notices of used quotas: their thresholds and kinds, and the windows of quotas. */
import type { NoticeKind } from './event.ts'

/** Calendar day and month in UTC. */
export const QUOTA_WINDOWS = ['day', 'month'] as const
export type QuotaWindow = (typeof QUOTA_WINDOWS)[number]

/** Percent of the limit, ascending. */
export const QUOTA_THRESHOLDS = [80, 100] as const

/** A share of a quota that was reached, for the first time in its window. */
export interface ReachedQuota {
  readonly subscriptionId: string
  readonly tenantId: string
  readonly window: QuotaWindow
  /** The highest that was reached. */
  readonly threshold: number
  readonly used: number
  readonly limit: number
}

export function quotaKind({ threshold }: ReachedQuota): NoticeKind {
  return threshold >= 100 ? 'subscription.quota_exhausted' : 'subscription.quota_warning'
}

/** First day of the window, `YYYY-MM-DD`. */
export function windowStart(window: QuotaWindow, at: Date): string {
  const day = at.toISOString().slice(0, 10)
  return window === 'day' ? day : `${day.slice(0, 7)}-01`
}

export function windowEnd(window: QuotaWindow, at: Date): Date {
  const [year, month, date] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  return new Date(window === 'day' ? Date.UTC(year, month, date + 1) : Date.UTC(year, month + 1, 1))
}

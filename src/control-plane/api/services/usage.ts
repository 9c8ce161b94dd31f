/** Usage of a subscription against its limits, from the stored counts. */
import { usageDay } from '../../../link/usage-count.ts'
import { limitsOf, type Subscription } from '../../../model/subscription.ts'
import type { Transaction } from '../../store/store.ts'

interface UsageWindow {
  readonly count: number
  /** null = no limit. */
  readonly limit: number | null
  readonly remaining: number | null
  readonly resetsAt: Date
}

export interface Usage {
  readonly periodStart: Date
  readonly periodEnd: Date
  readonly requests: number
  readonly errors: number
  readonly limits: ReturnType<typeof limitsOf>
  readonly daily: UsageWindow
  readonly monthly: UsageWindow
  readonly lastRequestAt: Date | null
}

/** Usage in the current UTC calendar month and day, the windows of the quotas. */
export async function currentUsage(tx: Transaction, subscription: Subscription): Promise<Usage> {
  const { now } = tx
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const periodStart = new Date(Date.UTC(year, month, 1))
  const periodEnd = new Date(Date.UTC(year, month + 1, 1))
  const tomorrow = new Date(Date.UTC(year, month, date + 1))
  const today = usageDay(now)
  const plan = await tx.plans.bySlug(subscription.plan)
  const limits = limitsOf(subscription, plan ?? {})
  const inMonth = await tx.usage.sum(subscription.id, usageDay(periodStart), today)
  const inDay = await tx.usage.sum(subscription.id, today, today)
  return {
    periodStart,
    periodEnd,
    requests: inMonth.requests,
    errors: inMonth.errors,
    limits,
    daily: windowOf(inDay.requests, limits.perDay, tomorrow),
    monthly: windowOf(inMonth.requests, limits.perMonth, periodEnd),
    lastRequestAt: inMonth.lastRequestAt,
  }
}

function windowOf(count: number, limit: number, resetsAt: Date): UsageWindow {
  if (limit === 0) return { count, limit: null, remaining: null, resetsAt }
  return { count, limit, remaining: Math.max(0, limit - count), resetsAt }
}

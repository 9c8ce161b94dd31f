/** Metrics of a tenant or an API by period, from the stored counts. */
import { quantile } from '../../../model/latency-histogram.ts'
import type { Transaction } from '../../store/store.ts'
import type { Granularity, MeteredPeriod } from '../../store/usage-repositories.ts'
import { invalidField } from '../http/problem.ts'

/** Periods in one response. */
const MAX_PERIODS = 1000
const DAY_MS = 86_400_000
const PERIOD_MS: Readonly<Record<Granularity, number>> = { hour: 3_600_000, day: DAY_MS, month: 28 * DAY_MS }
/** Days before the end when no start date is given. */
const DEFAULT_DAYS: Readonly<Record<Granularity, number>> = { hour: 2, day: 30, month: 365 }

/** One row of the response; latencies in milliseconds. */
export interface MetricsRow {
  readonly date: string
  readonly requests: number
  readonly errors: number
  readonly p50_latency_ms: number
  readonly p95_latency_ms: number
  readonly p99_latency_ms: number
}

interface MetricsQuery {
  /** UTC, `YYYY-MM-DD`; both days are included. */
  readonly startDate?: string | undefined
  readonly endDate?: string | undefined
  readonly granularity: Granularity
}

/**
 * One row for each period with at least one call.
 * @throws Problem 400 when the dates are in the wrong order or too far apart
 */
export async function metricsOf(
  tx: Transaction,
  of: { readonly tenantId: string; readonly apiId?: string | undefined },
  query: MetricsQuery,
): Promise<readonly MetricsRow[]> {
  const { from, before } = rangeOf(query, tx.now)
  const periods = await tx.metering.series({ ...of, from, before, granularity: query.granularity })
  return periods.map(period => rowOf(period, query.granularity))
}

function rangeOf({ startDate, endDate, granularity }: MetricsQuery, now: Date): { from: Date; before: Date } {
  const lastDay = endDate === undefined ? now.toISOString().slice(0, 10) : endDate
  const before = new Date(Date.parse(`${lastDay}T00:00:00Z`) + DAY_MS)
  const from =
    startDate === undefined
      ? new Date(before.getTime() - DEFAULT_DAYS[granularity] * DAY_MS)
      : new Date(`${startDate}T00:00:00Z`)
  if (from >= before) throw invalidField('start_date', 'must not be later than end_date.')
  const periods = (before.getTime() - from.getTime()) / PERIOD_MS[granularity]
  if (periods > MAX_PERIODS)
    throw invalidField(
      'start_date',
      `is too early: a response covers at most ${MAX_PERIODS} periods of one ${granularity}. Send a later start_date or a coarser granularity.`,
    )
  return { from, before }
}

/** The date in the precision of the granularity: `2026-11-21T08:00:00Z`, `2026-11-21` or `2026-11`. */
function dateOf(at: Date, granularity: Granularity): string {
  const text = at.toISOString()
  if (granularity === 'hour') return `${text.slice(0, 13)}:00:00Z`
  return text.slice(0, granularity === 'day' ? 10 : 7)
}

function rowOf({ at, requests, errors, latencies }: MeteredPeriod, granularity: Granularity): MetricsRow {
  const ms = (share: number): number => Math.round(quantile(latencies, share) ?? 0) / 1000
  return {
    date: dateOf(at, granularity),
    requests,
    errors,
    p50_latency_ms: ms(0.5),
    p95_latency_ms: ms(0.95),
    p99_latency_ms: ms(0.99),
  }
}

/** The state of a consumer's lease in this thread: demand, deadline, last denial. It sends nothing. */
import type { PlanLimits } from '../../../model/plan.ts'
import type { HashedKey } from '../memory/table.ts'
import { quotaUnavailable, retryAfterSecs } from '../memory/table-quota.ts'
import type { LimitKind, QuotaRefusal, QuotaRequest } from '../quota.ts'

/** Units of one lease. */
const MAX_UNITS = 10_000
/** A lease covers recent use times this factor. */
const HEADROOM = 1.5

export interface Denial {
  /** `closed`: Redis has lost data, or does not know this instance yet. */
  readonly kind: LimitKind | 'closed'
  readonly used: number
  readonly limit: number
  /** Monotonic ms; until then no lease is requested. */
  readonly untilMs: number
}

export class ConsumerLease {
  readonly name: string
  readonly key: HashedKey
  limits: PlanLimits
  /** Calls since the last lease was requested. */
  asked = 0
  /** Monotonic ms of the last call, the last request for a lease, and the last response. */
  lastCallMs: number
  leasedMs: number
  respondedMs = Number.NEGATIVE_INFINITY
  granted = 0
  /** Monotonic ms at which the units expire here; in the past when none are held. */
  deadlineMs = 0
  /** Calls that may be in flight here, when they are limited. */
  share = 0
  denial: Denial | undefined = undefined
  pending: Promise<void> | undefined = undefined
  /** A denial that has ended while its successor is being requested: until then calls are refused as before. */
  renewal: Denial | undefined = undefined
  /** Used by the other instances in second, minute, day and month, as of the last response. */
  others: readonly number[] = [0, 0, 0, 0]

  constructor(name: string, key: HashedKey, limits: PlanLimits, nowMs: number) {
    this.name = name
    this.key = key
    this.limits = limits
    this.lastCallMs = nowMs
    this.leasedMs = nowMs
  }

  /** Units to request: the expected use of the next lease time, or twice the last lease when that was spent early. */
  wanted(nowMs: number, leaseMs: number): number {
    const sinceMs = Math.max(1, nowMs - this.leasedMs)
    const rate = Math.ceil((this.asked / sinceMs) * leaseMs * HEADROOM)
    const grown = sinceMs < leaseMs / 2 ? this.granted * 2 : 0
    return Math.min(MAX_UNITS, Math.max(1, Math.min(rate, this.asked * 8), grown))
  }

  /** After a reset no limit is known to be used up. */
  evictDenials(): void {
    this.denial = undefined
    this.renewal = undefined
  }
}

export function refusalOf(
  { kind, used, limit, untilMs }: Denial,
  request: QuotaRequest,
  nowMs: number,
  unixMs: number,
): QuotaRefusal {
  if (kind === 'closed') return quotaUnavailable('store_unavailable', request)
  const resetMs = resetOf(kind, unixMs, untilMs - nowMs)
  return {
    granted: false,
    kind,
    used,
    limit,
    standing: { limit, remaining: 0, resetAtSecs: Math.ceil(resetMs / 1000) },
    retryAfterSecs: retryAfterSecs(kind === 'day' || kind === 'month' ? resetMs - unixMs : untilMs - nowMs),
  }
}

function resetOf(kind: LimitKind, unixMs: number, waitMs: number): number {
  const at = new Date(unixMs)
  if (kind === 'day') return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1)
  if (kind === 'month') return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)
  return unixMs + waitMs
}

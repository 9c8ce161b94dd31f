/** What this thread remembers of a consumer's leases: demand, the last denial, when it lapses. It asks nobody. */
import type { PlanLimits } from '../../../model/plan.ts'
import type { HashedKey } from '../memory/table.ts'
import { retryAfterSecs, unavailable } from '../memory/table-quota.ts'
import type { LimitKind, QuotaRefusal, QuotaRequest } from '../quota.ts'

/** Most units of one lease. */
const MOST = 10_000
/** A lease is asked for with so much more than was used lately. */
const AHEAD = 1.5

export interface Denial {
  /** `closed`: Redis has lost data, or does not know this instance yet. */
  readonly kind: LimitKind | 'closed'
  readonly used: number
  readonly limit: number
  /** Monotonic ms until which it need not be asked again. */
  readonly untilMs: number
}

export class ConsumerLease {
  readonly name: string
  readonly key: HashedKey
  limits: PlanLimits
  /** Calls since the last lease was asked for. */
  asked = 0
  /** Monotonic ms: last call, last time a lease was asked for, last answer. */
  lastCallMs: number
  leasedMs: number
  heardMs = Number.NEGATIVE_INFINITY
  granted = 0
  /** Monotonic ms when the units lapse here; in the past when none are held. */
  deadlineMs = 0
  /** Calls that may be in flight here, where they are limited. */
  share = 0
  denial: Denial | undefined = undefined
  pending: Promise<void> | undefined = undefined
  /** Set while somebody is about to ask, or asks, once a denial has ended: calls meanwhile are refused as before. */
  renewal: Denial | undefined = undefined
  /** Used by the other instances in second, minute, day and month, as of the last answer. */
  others: readonly number[] = [0, 0, 0, 0]

  constructor(name: string, key: HashedKey, limits: PlanLimits, nowMs: number) {
    this.name = name
    this.key = key
    this.limits = limits
    this.lastCallMs = nowMs
    this.leasedMs = nowMs
  }

  /** Units to ask for: what the next lease time will use if it goes on like this; twice the last when that did not last. */
  wanted(nowMs: number, leaseMs: number): number {
    const sinceMs = Math.max(1, nowMs - this.leasedMs)
    const rate = Math.ceil((this.asked / sinceMs) * leaseMs * AHEAD)
    const grown = sinceMs < leaseMs / 2 ? this.granted * 2 : 0
    return Math.min(MOST, Math.max(1, Math.min(rate, this.asked * 8), grown))
  }

  /** After a reset nothing is known to be used up. */
  forgive(): void {
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
  if (kind === 'closed') return unavailable('store_unavailable', request)
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

/** The interface of the quota store. It counts nothing itself: `memory/` and `redis/` implement it. */
import type { PlanLimits } from '../model/plan.ts'
import type { ToolRateLimit } from '../model/tool.ts'

export type LimitKind = 'second' | 'minute' | 'day' | 'month' | 'burst' | 'tool'

/** A key that has been prepared once, for callers that ask often (`Quota.key`). Opaque: only the store that made it reads it. */
export interface QuotaKey {
  readonly name: string
}

/** What to take: one unit of every limit that applies, all or nothing. */
export interface QuotaRequest {
  /** Tenant, consumer and (where one applies) subscription in one string. */
  readonly key: string | QuotaKey
  readonly limits: PlanLimits
  /** On top: a token bucket per tool and consumer. `key` names the tool; the consumer's key is put in front of it. */
  readonly tool?: { readonly key: string | QuotaKey; readonly rateLimit: ToolRateLimit }
  /** Unix ms. */
  readonly nowMs: number
}

/** Standing of the tightest window, for the `X-RateLimit-*` headers. */
export interface QuotaStanding {
  readonly limit: number
  readonly remaining: number
  /** Unix seconds at which that window resets. */
  readonly resetAtSecs: number
}

export interface QuotaGrant {
  readonly granted: true
  /** undefined when no limit applies. */
  readonly standing: QuotaStanding | undefined
  /** Gives the concurrency slot back; called exactly once, when the call has ended. */
  release(): void
}

export interface QuotaRefusal {
  readonly granted: false
  readonly kind: LimitKind
  readonly standing: QuotaStanding
  /** Units used and allowed in the window that refused. */
  readonly used: number
  readonly limit: number
  /** Seconds until one unit can be had again, at least 1. */
  readonly retryAfterSecs: number
  /**
   * Set when no limit was reached but the units could not be counted, so nothing was admitted: no place in a table full of
   * consumers in use, a lock whose thread is gone, a store away while this instance holds nothing of the consumer's share.
   */
  readonly cause?: 'table_full' | 'busy' | 'store_unavailable'
}

/** Counts of one consumer (`/admin/quotas`). */
export interface QuotaStatistics {
  readonly key: string
  readonly dailyCount: number
  readonly dailyLimit: number
  readonly monthlyCount: number
  readonly monthlyLimit: number
}

export interface Quota {
  /** Prepares a key; worth it for one that is used again, such as that of a remembered principal. */
  key(name: string): QuotaKey
  take(request: QuotaRequest): QuotaGrant | QuotaRefusal | Promise<QuotaGrant | QuotaRefusal>
  statistics(): readonly QuotaStatistics[] | Promise<readonly QuotaStatistics[]>
  /** Sets the daily and monthly counters of a key to zero at once. False when the key is not known. */
  reset(key: string): boolean | Promise<boolean>
  close(): Promise<void>
}

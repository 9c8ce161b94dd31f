/** The interface of the quota store. It counts nothing itself: `memory/` and `redis/` implement it. */
import type { PlanLimits } from '../../model/plan.ts'
import type { ToolRateLimit } from '../../model/tool.ts'

/** Keys that begin so count calls under an obligation of the policy, beside the consumer's own; they are in no statistics. */
export const POLICY_LIMIT_KEY = '~policy '

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

/** How full the counters are, and whether the store behind them answers. */
export interface QuotaHealth {
  /** Consumer slots handed out at least once, of how many. */
  readonly used: number
  readonly capacity: number
  /** Idle consumers and tool buckets whose slot was given to somebody else. */
  readonly evicted: number
  /** Calls turned away because every slot was in use. */
  readonly turnedAway: number
  /** `local`: nothing is shared with other instances. `down`: decided on what this instance holds, refused when that is spent. */
  readonly store: 'local' | 'up' | 'down'
  /** Calls that waited for the store. */
  readonly waited: number
}

export interface Quota {
  /** Prepares a key; worth it for one that is used again, such as that of a remembered principal. */
  key(name: string): QuotaKey
  take(request: QuotaRequest): QuotaGrant | QuotaRefusal | Promise<QuotaGrant | QuotaRefusal>
  statistics(): readonly QuotaStatistics[] | Promise<readonly QuotaStatistics[]>
  /** The same as far as this process knows it without asking anybody: for metrics. */
  usage(): readonly QuotaStatistics[]
  /** Sets the daily and monthly counters of a key to zero at once, for all threads and instances. False when the key is not known. */
  reset(key: string): boolean | Promise<boolean>
  /** Changes with every reset, whichever thread or instance ordered it: statistics from before are stale. */
  revision(): number
  /** Tells all other threads and instances that an administrator has cleared the caches. */
  clearElsewhere(): void | Promise<void>
  /** @param listener called when another thread or instance has said so */
  onCleared(listener: () => void): void
  health(): QuotaHealth
  /** Moves the rolling windows forward, for `TEST_HOOKS`; days and months follow the time of the request, or of the store. */
  advance(ms: number): void
  close(): Promise<void>
}

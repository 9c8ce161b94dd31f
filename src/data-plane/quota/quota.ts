/** The interface of the quota store, its requests and results, the prefix of keys of the policy, and the longest listed name. */
import type { PlanLimits } from '../../model/plan.ts'
import type { ToolRateLimit } from '../../model/tool.ts'

/** Prefix of keys that count calls under an obligation of the policy, in addition to the consumer's limits. The admin API omits them. */
export const POLICY_LIMIT_KEY = '~policy '

/** Longest name of a key, in bytes of UTF-8, that stores list whole. `counterKey` makes no longer one. */
export const MAX_NAME_BYTES = 127

export type LimitKind = 'second' | 'minute' | 'day' | 'month' | 'burst' | 'tool'

/** A key prepared once for repeated use (`Quota.key`). Opaque: only the store that created it reads it. */
export interface QuotaKey {
  readonly name: string
}

/** A request for one unit of every limit that applies, all or nothing. */
export interface QuotaRequest {
  /** Tenant, consumer and (where one applies) subscription in one string. */
  readonly key: string | QuotaKey
  readonly limits: PlanLimits
  /** In addition: a token bucket per tool and consumer. `key` names the tool; the store combines it with the consumer's key. */
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
  /** Releases the concurrency slot; called exactly once, when the call has ended. */
  release(): void
}

export interface QuotaRefusal {
  readonly granted: false
  readonly kind: LimitKind
  readonly standing: QuotaStanding
  /** Units used and allowed in the window that refused. */
  readonly used: number
  readonly limit: number
  /** Seconds until a unit is available again, at least 1. */
  readonly retryAfterSecs: number
  /**
   * Set when no limit was reached but the call could not be counted, so it was refused: every slot of the table is in
   * use, the thread that holds a lock has ended, or the store is unavailable and this instance holds no units.
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

/** What the shortest windows of a key hold now (`/admin/quotas/{consumer_id}`). */
export interface QuotaUse {
  /** Calls in the rolling second and in the rolling minute. */
  readonly second: number
  readonly minute: number
  /** Calls in flight. Of other instances: the slots that they hold, which is at least as many. */
  readonly inFlight: number
}

/** How full the table is, and whether the store is available. */
export interface QuotaHealth {
  /** Consumer slots used at least once, and their number. */
  readonly used: number
  readonly capacity: number
  /** Idle consumers and tool buckets that were evicted. */
  readonly evicted: number
  /** Calls refused because every slot was in use. */
  readonly turnedAway: number
  /** `local`: nothing is shared with other instances. `down`: calls spend the units this instance holds, then are refused. */
  readonly store: 'local' | 'up' | 'down'
  /** Calls that waited for the store. */
  readonly waited: number
}

export interface Quota {
  /** Prepares a key that will be used repeatedly, such as that of a cached principal. */
  key(name: string): QuotaKey
  take(request: QuotaRequest): QuotaGrant | QuotaRefusal | Promise<QuotaGrant | QuotaRefusal>
  /** For the listed keys, under the names of the list: a store may shorten a long one. */
  statistics(): readonly QuotaStatistics[] | Promise<readonly QuotaStatistics[]>
  /** For one key, listed or not, whatever the length of its name; undefined when it is not known. */
  statisticsOf(key: string): QuotaStatistics | undefined | Promise<QuotaStatistics | undefined>
  /** The statistics that this process knows without a request: for metrics. */
  usage(): readonly QuotaStatistics[]
  /** In the order of `keys`; all zero for a key that is not known. While the store is unavailable: the use of this instance. */
  useOf(keys: readonly string[]): readonly QuotaUse[] | Promise<readonly QuotaUse[]>
  /** Sets the daily and monthly counters of a key to zero at once, for all threads and instances. False when the key is not known. */
  reset(key: string): boolean | Promise<boolean>
  /** Changes with every reset by any thread or instance: earlier statistics are stale. */
  revision(): number
  /** Notifies all other threads and instances that an administrator has cleared the caches. */
  clearElsewhere(): void | Promise<void>
  /** @param listener called when another thread or instance has cleared its caches */
  onCleared(listener: () => void): void
  health(): QuotaHealth
  /** Moves the rolling windows forward, for `TEST_HOOKS`; days and months follow the time of the request, or of the store. */
  advance(ms: number): void
  close(): Promise<void>
}

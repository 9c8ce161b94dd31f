/** The repositories of usage, metering and tier limits. */
import type { UsageCount } from '../../link/usage-count.ts'

interface UsageSum {
  readonly requests: number
  readonly errors: number
  readonly lastRequestAt: Date | null
}

export interface UsageRepository {
  add(counts: readonly UsageCount[]): Promise<void>
  /** From the day `from` to the day `to`, both included. */
  sum(subscriptionId: string, from: string, to: string): Promise<UsageSum>
}

/** Calls of one tenant and API ('' = none) in one hour. */
export interface MeteredHour {
  readonly tenantId: string
  readonly apiId: string
  readonly hour: Date
  readonly requests: number
  /** Calls whose outcome was not success. */
  readonly errors: number
}

/** Calls of one hour in one latency bucket; see `model/latency-histogram.ts`. */
export interface MeteredLatency {
  readonly tenantId: string
  readonly apiId: string
  readonly hour: Date
  readonly bucket: number
  readonly requests: number
}

/** The last event of a writer that was counted from a source. */
export interface MeteringMark {
  readonly writer: string
  /** `spool`, or topic and partition. */
  readonly source: string
  /** '' = none yet. */
  readonly lastEventId: string
}

export type Granularity = 'hour' | 'day' | 'month'

export interface MeteredPeriod {
  /** Start of the hour, day or month, in UTC. */
  readonly at: Date
  readonly requests: number
  readonly errors: number
  /** In ascending order of buckets. */
  readonly latencies: readonly { readonly bucket: number; readonly requests: number }[]
}

export interface MeteringRepository {
  /** The marks of these writers for every source; those of this source are created when missing, and locked. */
  marks(source: string, writers: readonly string[]): Promise<readonly MeteringMark[]>
  /** Advances marks that `marks` returned in the same transaction. @param marks `events` = number of events counted now */
  advance(
    source: string,
    marks: readonly { readonly writer: string; readonly lastEventId: string; readonly events: number }[],
  ): Promise<void>
  /** Adds to the stored counts; rows of unknown tenants are ignored. At most one entry for each key. */
  add(hours: readonly MeteredHour[], latencies: readonly MeteredLatency[]): Promise<void>
  /** Periods with calls, in ascending order. */
  series(query: {
    readonly tenantId: string
    readonly apiId?: string | undefined
    readonly from: Date
    readonly before: Date
    readonly granularity: Granularity
  }): Promise<readonly MeteredPeriod[]>
  /** Marks with the number of counted events. */
  foldEnded(): Promise<readonly (MeteringMark & { readonly events: number })[]>
  sweep(older: { readonly rowsBefore: Date; readonly marksBefore: Date }): Promise<void>
}

export interface TierUsageRepository {
  /**
   * Takes up to `want` requests of a tenant's hour, never more than `limit` allows.
   * Returns how many were granted, and how many of the hour are taken in total.
   */
  take(
    tenantId: string,
    hour: Date,
    want: number,
    limit: number,
  ): Promise<{ readonly granted: number; readonly taken: number }>
  giveBack(tenantId: string, hour: Date, unused: number): Promise<void>
  sweep(before: Date): Promise<void>
}

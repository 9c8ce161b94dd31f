/** The state of a consumer's lease, what it holds in the table, and the refusal that a denial causes. */
import type { PlanLimits } from '../../../model/plan.ts'
import { BUSY, READ_IN_FLIGHT, READ_TOKENS } from '../memory/abi.ts'
import type { HashedKey } from '../memory/table.ts'
import type { TableQuota } from '../memory/table-quota.ts'
import { clamp, type Lacking, quotaUnavailable, retryAfterSecs } from '../memory/table-quota.ts'
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
  /** Calls since units were last requested, and since the last report. */
  asked = 0
  unreported = 0
  /** Monotonic ms of the last call, the last request for units, the last request, and the last response. */
  lastCallMs: number
  leasedMs: number
  requestedMs: number
  respondedMs = Number.NEGATIVE_INFINITY
  granted = 0
  /** Duration of the last lease. */
  lengthMs = 0
  /** Monotonic ms at which the units expire here; in the past when none are held. */
  deadlineMs = 0
  /** Calls in flight are admitted here up to this number, when they are limited. */
  share = 0
  /** The slots that Redis counts for this instance: the share, and what is in flight beyond it. */
  slots = 0
  /** Calls that lacked a slot since the last request, and the time of the last of them. */
  lacking = 0
  lackedMs = Number.NEGATIVE_INFINITY
  /** Calls that lacked a unit since the last request. */
  unitsLacking = 0
  /** Slots to reduce the share to, because other instances wait; -1: none waits. */
  keep = -1
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
    this.requestedMs = nowMs
  }

  /** Monotonic ms of the last call that the present denial concerned. */
  get lastDenied(): number {
    return this.denial?.kind === 'burst' ? this.lackedMs : this.lastCallMs
  }

  /** A request is in flight, or its response did not come in time: Redis may have granted units that are not known here. */
  get awaitsResponse(): boolean {
    return this.pending !== undefined || this.respondedMs < this.requestedMs
  }

  /** A limit of calls per time applies; otherwise units are not counted. */
  get windowed(): boolean {
    const { perSecond, perMinute, perDay, perMonth } = this.limits
    return clamp(perSecond) + clamp(perMinute) + clamp(perDay) + clamp(perMonth) > 0
  }

  /** The calls in flight are limited. */
  get bounded(): boolean {
    return clamp(this.limits.burst) > 0
  }

  /** What refuses a call that lacks this; a denial of slots does not concern a call that has one. */
  denialFor(lacking: Lacking, nowMs: number): Denial | undefined {
    const applies = (denial: Denial | undefined) =>
      denial !== undefined && (denial.kind !== 'burst' || lacking === 'burst')
    if (applies(this.denial) && nowMs < this.denial!.untilMs) return this.denial
    return applies(this.renewal) ? { ...this.renewal!, untilMs: nowMs + 1 } : undefined
  }

  /** Units to request: the expected use of the next lease time, or twice the last lease when that was spent early. */
  wantedUnits(nowMs: number, leaseMs: number): number {
    if (!this.windowed) return 0
    const sinceMs = Math.max(1, nowMs - this.leasedMs)
    const rate = Math.ceil((this.asked / sinceMs) * Math.max(this.lengthMs, leaseMs) * HEADROOM)
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

/** Zeros for a consumer without a slot in the table. */
export function heldBy(
  { key }: ConsumerLease,
  quota: TableQuota,
): { readonly units: number; readonly inFlight: number } {
  const { table } = quota
  const slot = table.find(key)
  const read = () => table.kernel.quotaRead(slot, quota.monotonicMs(), quota.unixMs())
  return slot >= 0 && table.patiently(read, BUSY) === 1
    ? { units: table.out[READ_TOKENS / 4]!, inFlight: table.out[READ_IN_FLIGHT / 4]! }
    : { units: 0, inFlight: 0 }
}

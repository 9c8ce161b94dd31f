/** Decides how many units to reserve for a consumer, has `Journal` note them, and applies the assumption after damage. */
import type { PlanLimits } from '../../../model/plan.ts'
import { BUSY, HASHED, READ_DAY, READ_DAY_COUNT, READ_MONTH_COUNT } from '../memory/abi.ts'
import type { HashedKey } from '../memory/table.ts'
import { clamp, nameOf, quotaUnavailable, type Reserver, type TableQuota } from '../memory/table-quota.ts'
import type { QuotaRefusal, QuotaRequest } from '../quota.ts'
import { type Assumption, assumeUsed } from './assumption.ts'
import type { Journal } from './journal.ts'

/** A reservation grows by one unit for this many calls of the day, so that a crash costs infrequent callers little. */
const SHARE = 32
/** Units of one reservation, which a crash can cost a consumer. A note takes some 5 µs, so 0.2 µs of each call. */
export const MAX_RESERVED = 32

/**
 * Units to reserve at once, given the counts of the consumer: at most 1 % of the limit of a day or month, an eighth of
 * that of a minute, and the rest of the day and the month. At least 1.
 */
export function reservation(limits: PlanLimits, dayCount: number, monthCount = dayCount): number {
  const perMinute = clamp(limits.perMinute)
  const perDay = clamp(limits.perDay)
  const perMonth = clamp(limits.perMonth)
  const units = Math.min(
    1 + Math.floor(dayCount / SHARE),
    MAX_RESERVED,
    perMinute === 0 ? MAX_RESERVED : Math.floor(perMinute / 8),
    perDay === 0 ? MAX_RESERVED : Math.min(Math.floor(perDay / 100), perDay - dayCount),
    perMonth === 0 ? MAX_RESERVED : Math.min(Math.floor(perMonth / 100), perMonth - monthCount),
  )
  return Math.max(1, units)
}

export class JournalReserver implements Reserver {
  readonly #quota: TableQuota
  readonly #journal: Journal
  readonly #onFault: (error: Error) => void
  readonly #assumption: Assumption | undefined

  constructor(
    quota: TableQuota,
    journal: Journal,
    onFault: (error: Error) => void,
    assumption: Assumption | undefined,
  ) {
    this.#assumption = assumption
    this.#quota = quota
    this.#journal = journal
    this.#onFault = onFault
  }

  reserve(request: QuotaRequest): true | QuotaRefusal {
    const { table } = this.#quota
    const { kernel } = table
    const key = typeof request.key === 'string' ? table.key(request.key) : request.key
    const units = this.#units(table.find(key), request)
    table.writeKey(key)
    const reserve = () => kernel.quotaReserve(HASHED, 0, units, 0, this.#quota.monotonicMs(), request.nowMs)
    const status = table.patiently(reserve, BUSY)
    if (status === BUSY) return quotaUnavailable('busy', request)
    // another thread has reserved units, or the slot was evicted: the next attempt finds out
    if (status !== 1) return true
    const day = table.out[READ_DAY / 4]!
    let spendable = units
    try {
      this.#journal.handleReservation(
        nameOf(request.key),
        units,
        clamp(request.limits.perSecond),
        clamp(request.limits.perMinute),
      )
    } catch (error) {
      spendable = 0
      this.#onFault(error as Error)
    }
    table.writeKey(key)
    table.patiently(() => kernel.quotaCredit(HASHED, 0, units, spendable, day, 0), BUSY)
    return spendable > 0 ? true : quotaUnavailable('store_unavailable', request)
  }

  createCounter({ key, limits }: QuotaRequest): void {
    if (this.#assumption === undefined) return
    const hashed = typeof key === 'string' ? this.#quota.table.key(key) : (key as HashedKey)
    assumeUsed(this.#quota, hashed, limits, this.#assumption)
  }

  #units(slot: number, { limits, nowMs }: QuotaRequest): number {
    const { table, monotonicMs } = this.#quota
    const read = () => table.kernel.quotaRead(slot, monotonicMs(), nowMs)
    if (slot < 0 || table.patiently(read, BUSY) !== 1) return 1
    return reservation(limits, table.out[READ_DAY_COUNT / 4]!, table.out[READ_MONTH_COUNT / 4]!)
  }
}

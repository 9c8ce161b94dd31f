/** A counter in the response of `GET /admin/quotas/{consumer_id}`: its counts, beside the limits where they are known. */
import { nameOfPart, partsOf } from '../../quota/counter-key.ts'
import type { QuotaStatistics, QuotaUse } from '../../quota/quota.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'

/** What one counter of a consumer holds in every window. A limit is null where there is none, or where it is not known (`limits_known`). */
export interface Counter {
  readonly tenant: string
  readonly subscription_id: string | null
  readonly plan: string | null
  readonly limits_known: boolean
  /** `second`, `minute` and `in_flight` are null when the known limits have no such limit: calls are not counted then. */
  readonly second: CountedWindow | null
  readonly minute: CountedWindow | null
  readonly in_flight: CountedWindow | null
  readonly day: CountedWindow
  readonly month: CountedWindow
}

interface CountedWindow {
  readonly count: number
  readonly limit: number | null
}

/** @param consumer its name; undefined where only the digest of it is known */
export function counterOf(
  row: QuotaStatistics,
  use: QuotaUse,
  snapshot: Snapshot,
  consumer: string | undefined,
): Counter {
  const { tenant: part, target } = partsOf(row.key)
  const tenant = nameOfPart(part)
  const isKnown = tenant !== undefined && consumer !== undefined
  const entitlement = isKnown ? snapshot.countedEntitlement(tenant, consumer, target) : undefined
  const { perSecond, perMinute, perDay, perMonth, burst } = entitlement?.limits ?? {}
  const toWindow = (count: number, limit = 0): CountedWindow => ({ count, limit: limit > 0 ? limit : null })
  const ifLimited = (count: number, limit = 0): CountedWindow | null =>
    limit > 0 || entitlement === undefined ? toWindow(count, limit) : null
  return {
    tenant: tenant ?? part,
    subscription_id: entitlement?.subscriptionId ?? null,
    plan: entitlement?.plan?.slug ?? null,
    limits_known: entitlement !== undefined,
    second: ifLimited(use.second, perSecond),
    minute: ifLimited(use.minute, perMinute),
    day: toWindow(row.dailyCount, perDay),
    month: toWindow(row.monthlyCount, perMonth),
    in_flight: ifLimited(use.inFlight, burst),
  }
}

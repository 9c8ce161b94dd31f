/** The hourly limit of a tenant on the control plane, which the instances lease in parts. It does not affect quotas of the data plane. */
import { hourlyLimit, type Tenant } from '../../../model/tenant.ts'
import { EVERY_TENANT, type Store } from '../../store/store.ts'

interface TierUsage {
  readonly limit: number
  readonly remaining: number
  readonly resetAtSecs: number
  readonly allowed: boolean
  /** Seconds to the reset, at least 1. */
  readonly retryAfterSecs: number
}

interface Lease {
  readonly hourMs: number
  readonly limit: number
  /** Requests of this hour that this instance may admit without a query. */
  held: number
  /** Requests of this hour that no instance has leased, as of the last query. */
  unclaimed: number
  /** Unix ms; until then nothing is held and no query is made: a client that continues after a 429 makes no transactions. */
  readonly exhaustedUntilMs: number
}

const HOUR_MS = 3_600_000
/** A lease is 1/50 of the limit: few writes, and little is lost when an instance is killed. */
const LEASE_PARTS = 50
/** Other instances return what they have not used when they end. */
const EXHAUSTED_MS = 5_000

export class TierLimit {
  readonly #store: Store
  readonly #now: () => number
  readonly #leases = new Map<string, Lease>()
  /** One query at a time for each tenant; concurrent requests wait for it. */
  readonly #renewals = new Map<string, Promise<void>>()

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Takes one request. undefined = this tenant has no limit. */
  async take(tenant: Tenant): Promise<TierUsage | undefined> {
    const limit = hourlyLimit(tenant)
    if (limit === undefined) return undefined
    const nowMs = this.#now()
    const hourMs = nowMs - (nowMs % HOUR_MS)
    for (;;) {
      const lease = this.#leases.get(tenant.id)
      if (lease?.hourMs === hourMs && lease.limit === limit && nowMs < lease.exhaustedUntilMs)
        return usageOf(lease, nowMs, false)
      if (lease?.hourMs === hourMs && lease.limit === limit && lease.held > 0) {
        lease.held--
        return usageOf(lease, nowMs, true)
      }
      const pending = this.#renewals.get(tenant.id)
      if (pending !== undefined) {
        await pending
        continue
      }
      const renewal = this.#renew(tenant.id, hourMs, limit).finally(() => this.#renewals.delete(tenant.id))
      this.#renewals.set(tenant.id, renewal)
      await renewal
      const renewed = this.#leases.get(tenant.id)!
      if (renewed.held === 0) return usageOf(renewed, nowMs, false)
    }
  }

  /** Returns unused leases. */
  async close(): Promise<void> {
    const leases = [...this.#leases].filter(([, lease]) => lease.held > 0)
    this.#leases.clear()
    if (leases.length === 0) return
    await this.#store.write(EVERY_TENANT, async tx => {
      for (const [tenantId, lease] of leases) {
        await tx.tierUsage.giveBack(tenantId, new Date(lease.hourMs), lease.held)
      }
    })
  }

  async #renew(tenantId: string, hourMs: number, limit: number): Promise<void> {
    const want = Math.max(1, Math.floor(limit / LEASE_PARTS))
    const hour = new Date(hourMs)
    const { granted, taken } = await this.#store.write(EVERY_TENANT, tx =>
      tx.tierUsage.take(tenantId, hour, want, limit),
    )
    const before = this.#leases.get(tenantId)
    const held = granted + (before?.hourMs === hourMs ? before.held : 0)
    this.#leases.set(tenantId, {
      hourMs,
      limit,
      held,
      unclaimed: Math.max(0, limit - taken),
      exhaustedUntilMs: held === 0 ? this.#now() + EXHAUSTED_MS : 0,
    })
  }
}

function usageOf(lease: Lease, nowMs: number, allowed: boolean): TierUsage {
  const resetMs = lease.hourMs + HOUR_MS
  return {
    limit: lease.limit,
    remaining: lease.held + lease.unclaimed,
    resetAtSecs: resetMs / 1000,
    allowed,
    retryAfterSecs: Math.max(1, Math.ceil((resetMs - nowMs) / 1000)),
  }
}

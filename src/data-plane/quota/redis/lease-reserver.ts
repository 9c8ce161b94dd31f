/**
 * Reserves units, tokens and slots for calls by leases, renews and returns the leases, and has counts reported.
 * `leases.ts` and `tool-leases.ts` send the requests.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../../../base/async/within.ts'
import type { HashedKey } from '../memory/table.ts'
import {
  type Lacking,
  nameOf,
  quotaUnavailable,
  type Reserver,
  type TableQuota,
} from '../memory/table-quota.ts'
import type { QuotaKey, QuotaRefusal, QuotaRequest } from '../quota.ts'
import { ConsumerLease, type Denial, heldBy, refusalOf } from './consumer-lease.ts'
import type { Ask, Leases } from './leases.ts'
import type { Membership } from './membership.ts'
import { RESPONSE_MS } from './quota-connection.ts'
import { ACTIVE_MS, Recalls } from './recalls.ts'
import { ToolLease, type ToolLeases } from './tool-leases.ts'

const SWEEP_MS = 50
/** A consumer without calls for this long has its counts reported; a denial of slots is not renewed for it. */
const QUIET_MS = 100
/** A new lease is requested when this share of the units or of the time of the last is left. */
const PREFETCH = 0.4
/** While calls arrive, their counts are reported after this time. */
const REPORT_MS = 1_000
const EVICT_AFTER_MS = 5_000
/** After a longer denial, the next call requests the lease. */
const MAX_RENEWAL_MS = 2_000
const MAX_CACHED = 100_000
/** Units are returned for so long when the instance closes, at this interval. */
const CLOSE_MS = 1_000
const SURRENDER_EVERY_MS = 20

export interface ReserverOptions {
  readonly quota: TableQuota
  readonly leases: Leases
  readonly tools: ToolLeases
  readonly membership: Membership
  readonly leaseMs: number
  readonly maxCallMs: number
}

export class LeaseReserver implements Reserver {
  readonly consumers = new Map<string, ConsumerLease>()
  readonly #tools = new Map<string, ToolLease>()
  readonly #options: ReserverOptions
  readonly #sweeper: NodeJS.Timeout
  readonly #recalls: Recalls
  /** Calls that waited for Redis. */
  waited = 0
  #closed = false

  constructor(options: ReserverOptions) {
    this.#options = options
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS)
    this.#sweeper.unref()
    this.#recalls = new Recalls(options, (lease, ask) => this.#request(lease, ask))
  }

  /** Another instance lacks units or slots of this consumer. */
  recall(name: string, isOfLongWindow: boolean): void {
    const lease = this.consumers.get(name)
    if (lease !== undefined) this.#recalls.add(lease, isOfLongWindow)
  }

  reserve(
    request: QuotaRequest,
    lacking: Lacking,
    since: number | undefined,
  ): true | QuotaRefusal | Promise<true | QuotaRefusal> {
    const { quota, membership } = this.#options
    const nowMs = quota.monotonicMs()
    const lease = lacking === 'tool' ? this.#toolOf(request, nowMs) : this.#consumerOf(request, nowMs)
    lease.asked++
    lease.lastCallMs = nowMs
    if (lease instanceof ConsumerLease) {
      lease.unreported++
      if (lacking === 'burst') {
        lease.lacking++
        lease.lackedMs = nowMs
      } else lease.unitsLacking++
    }
    const denial = lease.denialFor(lacking, nowMs)
    if (denial !== undefined) {
      if (lease instanceof ConsumerLease) this.#renewLater(lease, nowMs)
      return refusalOf(denial, request, nowMs, quota.unixMs())
    }
    const leftMs = since === undefined ? RESPONSE_MS : RESPONSE_MS - (performance.now() - since)
    if (!membership.up || leftMs <= 0) return quotaUnavailable('store_unavailable', request)
    if (since === undefined) this.waited++
    lease.pending ??= this.#fetch(lease, lacking)
    // the lease brought units or a denial; the next attempt finds them
    const done = lease.pending.then(() => true)
    return within(done, leftMs).then(
      isDone => (isDone === true && membership.up) || quotaUnavailable('store_unavailable', request),
    )
  }

  handleGrant(request: QuotaRequest, unitsLeft: number): void {
    this.countGranted(request, 1, unitsLeft)
  }

  /** Counts calls that this thread or another has granted from units held. @param unitsLeft of the consumer, after the last of them */
  countGranted(request: QuotaRequest, calls: number, unitsLeft: number): void {
    const { quota, leaseMs } = this.#options
    const nowMs = quota.monotonicMs()
    const lease = this.#consumerOf(request, nowMs)
    lease.asked += calls
    lease.unreported += calls
    lease.lastCallMs = nowMs
    if (request.tool !== undefined) {
      const tool = this.#tools.get(toolName(lease.name, nameOf(request.tool.key)))
      if (tool !== undefined) {
        tool.asked += calls
        tool.lastCallMs = nowMs
      }
    }
    const low = unitsLeft === 0 || (lease.granted > 4 && unitsLeft <= lease.granted * PREFETCH)
    if (low && lease.windowed && lease.pending === undefined && this.#mayRequest(lease, nowMs))
      this.#request(lease, { units: lease.wantedUnits(nowMs, leaseMs) })
  }

  /** Counts calls that another thread has refused by a cached denial. */
  countRefused(request: QuotaRequest, calls: number): void {
    const nowMs = this.#options.quota.monotonicMs()
    const lease = this.#consumerOf(request, nowMs)
    lease.asked += calls
    lease.unreported += calls
    lease.lastCallMs = nowMs
    if (lease.denial?.kind === 'burst') {
      lease.lacking += calls
      lease.lackedMs = nowMs
    } else lease.unitsLacking += calls
    if (lease.denial !== undefined && nowMs < lease.denial.untilMs) this.#renewLater(lease, nowMs)
  }

  /** The current denial; other threads cache it. */
  denialOf(request: QuotaRequest, lacking: Lacking): Denial | undefined {
    const name = nameOf(request.key)
    const lease =
      lacking === 'tool'
        ? this.#tools.get(toolName(name, nameOf(request.tool!.key)))
        : this.consumers.get(name)
    return lease?.denial ?? (lease instanceof ConsumerLease ? lease.renewal : undefined)
  }

  /** Reports all counts of the named consumers. @returns false when Redis did not accept every report */
  async reportAll(names: Iterable<readonly [string, HashedKey]>): Promise<boolean> {
    const { quota } = this.#options
    let all = true
    let batch: Promise<boolean>[] = []
    for (const [name, key] of names) {
      const nowMs = quota.monotonicMs()
      const lease = this.consumers.get(name) ?? new ConsumerLease(name, key, {}, nowMs)
      lease.respondedMs = Number.NEGATIVE_INFINITY
      batch.push(this.#report(lease))
      if (batch.length < 32) continue
      all = (await Promise.all(batch)).every(Boolean) && all
      batch = []
    }
    return (await Promise.all(batch)).every(Boolean) && all
  }

  /** Returns all units. Redis counts those that it does not get back as used, so a slow Redis is asked again. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#recalls.close()
    const nowMs = this.#options.quota.monotonicMs()
    const endMs = performance.now() + CLOSE_MS
    await Promise.all([
      ...[...this.consumers.values()]
        .filter(lease => lease.deadlineMs > nowMs || lease.slots > 0 || lease.awaitsResponse)
        .map(lease => this.#surrender(lease, endMs)),
      ...[...this.#tools.values()]
        .filter(lease => lease.deadlineMs > nowMs)
        .map(lease => this.#options.tools.ask(lease, 0, true)),
    ])
  }

  async #surrender(lease: ConsumerLease, endMs: number): Promise<void> {
    for (;;) {
      await lease.pending
      if (await this.#options.leases.ask(lease, { surrender: true })) return
      if (performance.now() >= endMs) return
      await sleep(SURRENDER_EVERY_MS)
    }
  }

  async #report(lease: ConsumerLease): Promise<boolean> {
    for (let attempt = 0; attempt < 5; attempt++) {
      await lease.pending
      if (await this.#options.leases.ask(lease, {})) return true
      if (!this.#options.membership.up) return false
      await sleep(2)
    }
    return false
  }

  async #fetch(lease: ConsumerLease | ToolLease, lacking: Lacking): Promise<void> {
    const { quota, leases, tools, leaseMs } = this.#options
    const nowMs = quota.monotonicMs()
    try {
      const asked =
        lease instanceof ToolLease
          ? await tools.ask(lease, tools.wantedUnits(lease, nowMs))
          : await leases.ask(lease, {
              units: lacking === 'unit' || nowMs >= lease.deadlineMs ? lease.wantedUnits(nowMs, leaseMs) : 0,
              calls: lease.lacking,
            })
      // another thread was requesting a lease, or the epoch has changed: both settle within milliseconds
      if (!asked) await sleep(2)
    } finally {
      lease.pending = undefined
    }
    if (lease instanceof ConsumerLease) this.#renewLater(lease, quota.monotonicMs())
  }

  /** Requests the next lease when a denial ends, provided that calls still arrive, so that none has to wait for it. */
  #renewLater(lease: ConsumerLease, nowMs: number): void {
    const { denial } = lease
    if (this.#closed || lease.renewal !== undefined || denial === undefined || denial.kind === 'closed')
      return
    if (!isArriving(lease, nowMs) || nowMs >= denial.untilMs) return
    if (denial.untilMs - nowMs > MAX_RENEWAL_MS) return
    lease.renewal = denial
    const timer = setTimeout(async () => {
      await lease.pending
      if (this.#closed) return
      const { quota, leaseMs } = this.#options
      const laterMs = quota.monotonicMs()
      if (
        isArriving(lease, laterMs) &&
        this.#mayRequest(lease, laterMs) &&
        heldBy(lease, quota).units === 0
      ) {
        const units = denial.kind === 'burst' ? 0 : lease.wantedUnits(laterMs, leaseMs)
        this.#request(lease, { units, calls: lease.lacking })
        await lease.pending
      }
      lease.renewal = undefined
      this.#renewLater(lease, quota.monotonicMs())
    }, denial.untilMs - nowMs)
    timer.unref()
  }

  #request(lease: ConsumerLease, ask: Ask): void {
    lease.pending = this.#options.leases.ask(lease, ask).then(() => {
      lease.pending = undefined
      this.#renewLater(lease, this.#options.quota.monotonicMs())
    })
  }

  /** A denial of slots does not keep units from being requested. */
  #mayRequest({ denial }: Pick<ConsumerLease, 'denial'>, nowMs: number): boolean {
    const denied = denial !== undefined && denial.kind !== 'burst' && nowMs < denial.untilMs
    return this.#options.membership.up && !denied
  }

  #sweep(): void {
    const { quota, leaseMs, maxCallMs, tools } = this.#options
    const nowMs = quota.monotonicMs()
    for (const lease of this.consumers.values()) {
      if (lease.pending !== undefined || lease.renewal !== undefined || !this.#mayRequest(lease, nowMs))
        continue
      const quietMs = nowMs - lease.lastCallMs
      const leftMs = lease.deadlineMs - nowMs
      const sinceMs = nowMs - lease.requestedMs
      const unreported = lease.unreported > 0 && sinceMs > (quietMs > QUIET_MS ? QUIET_MS : REPORT_MS)
      const returning = lease.bounded && lease.slots > lease.share && sinceMs > QUIET_MS
      if (leftMs > 0 && leftMs < lease.lengthMs * PREFETCH) {
        const idle = lease.asked === 0 && (quietMs > ACTIVE_MS || !lease.windowed)
        const units =
          lease.asked > 0 || heldBy(lease, quota).units === 0 ? lease.wantedUnits(nowMs, leaseMs) : 0
        this.#request(lease, idle ? { surrender: true } : { units })
        // a request for units resets the count of calls; one for slots alone does not
        if (!lease.windowed) lease.asked = 0
      } else if (unreported || returning || (lease.slots > 0 && sinceMs > maxCallMs / 4))
        this.#request(lease, {})
      else if (quietMs > EVICT_AFTER_MS && lease.slots === 0 && leftMs <= 0) this.consumers.delete(lease.name)
    }
    for (const [name, lease] of this.#tools) {
      const quietMs = nowMs - lease.lastCallMs
      if (lease.pending !== undefined || quietMs <= QUIET_MS) continue
      if (lease.deadlineMs > nowMs) {
        lease.pending = tools.ask(lease, 0, true).then(() => {
          lease.pending = undefined
        })
      } else if (quietMs > EVICT_AFTER_MS) this.#tools.delete(name)
    }
  }

  #consumerOf(request: QuotaRequest, nowMs: number): ConsumerLease {
    const name = nameOf(request.key)
    let lease = this.consumers.get(name)
    if (lease === undefined) {
      lease = new ConsumerLease(name, this.#hash(request.key), request.limits, nowMs)
      this.consumers.set(name, boundUnits(this.consumers, lease))
    }
    lease.limits = request.limits
    return lease
  }

  #toolOf(request: QuotaRequest, nowMs: number): ToolLease {
    const { key, rateLimit } = request.tool!
    const name = nameOf(request.key)
    const tool = nameOf(key)
    let lease = this.#tools.get(toolName(name, tool))
    if (lease === undefined) {
      lease = new ToolLease(name, this.#hash(request.key), tool, this.#hash(key), rateLimit, nowMs)
      this.#tools.set(toolName(name, tool), boundUnits(this.#tools, lease))
    }
    lease.rate = rateLimit
    return lease
  }

  #hash(key: string | QuotaKey): HashedKey {
    return typeof key === 'string' ? this.#options.quota.table.key(key) : (key as HashedKey)
  }
}

/** Calls that a denial concerns still arrive: the next is to find units. Slots return sooner, because a call holds them for longer. */
function isArriving(lease: ConsumerLease, nowMs: number): boolean {
  return nowMs - lease.lastDenied <= (lease.denial?.kind === 'burst' ? QUIET_MS : ACTIVE_MS)
}

function toolName(name: string, tool: string): string {
  return `${name}\0${tool}`
}

/** Evicts the oldest lease without a pending request; its units expire. */
function boundUnits<L extends { pending: Promise<void> | undefined }>(map: Map<string, L>, fresh: L): L {
  if (map.size < MAX_CACHED) return fresh
  for (const [name, lease] of map) {
    if (lease.pending !== undefined) continue
    map.delete(name)
    break
  }
  return fresh
}

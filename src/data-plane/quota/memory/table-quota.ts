/**
 * Decides calls with the kernel's quota table, and reads and resets counts; the interfaces of reservers and clocks, and helpers for limits and refusals.
 */
import type { PlanLimits } from '../../../model/plan.ts'
import type {
  LimitKind,
  QuotaGrant,
  QuotaKey,
  QuotaRefusal,
  QuotaRequest,
  QuotaStanding,
  QuotaStatistics,
  QuotaUse,
} from '../quota.ts'
import {
  BUSY,
  CONSUMER_STRIDE,
  NO_KIND,
  OUT_KIND,
  OUT_LIMIT,
  OUT_NEW,
  OUT_REMAINING,
  OUT_RESET,
  OUT_RETRY,
  OUT_SLOT,
  OUT_TOKENS,
  OUT_USED,
  READ_DAY_COUNT,
  READ_DAY_LIMIT,
  READ_IN_FLIGHT,
  READ_MINUTE,
  READ_MONTH_COUNT,
  READ_MONTH_LIMIT,
  READ_SECOND,
  TAKE_BURST_UNRESERVED,
  TAKE_BUSY,
  TAKE_FULL,
  TAKE_GRANTED,
  TAKE_REFUSED,
  TAKE_TOOL_UNRESERVED,
  TAKE_UNRESERVED,
} from './abi.ts'
import type { QuotaKernel, QuotaRegion } from './kernel.ts'
import { NameDirectory } from './names.ts'
import { type HashedKey, QuotaTable } from './table.ts'

/** In the order of the kernel's KIND_… numbers. */
const KINDS: readonly LimitKind[] = ['second', 'minute', 'day', 'month', 'burst', 'tool']
/** The kernel counts in 31 bits; higher limits are reduced to this. */
const MAX_LIMIT = 2 ** 31 - 1
/** A sub-window of the second, finer than the resolution of `Retry-After`. */
const GRAIN_MS = 13
/** Other threads may spend the units reserved for this call; after this many times the call is refused (`busy`). */
const MAX_ATTEMPTS = 64

/** By the status of a take. */
const LACKING: { readonly [status: number]: Lacking | undefined } = {
  [TAKE_UNRESERVED]: 'unit',
  [TAKE_TOOL_UNRESERVED]: 'tool',
  [TAKE_BURST_UNRESERVED]: 'burst',
}

export type Taken = QuotaGrant | QuotaRefusal

/** What has to be reserved for a call that the limits admit: a unit of the consumer, of the tool, or a call in flight. */
export type Lacking = 'unit' | 'tool' | 'burst'

export interface Reserver {
  /**
   * @param since `performance.now()` when the call began to wait for its first promise
   * @returns true: take again
   */
  reserve(
    request: QuotaRequest,
    lacking: Lacking,
    since: number | undefined,
  ): true | QuotaRefusal | Promise<true | QuotaRefusal>
  /** Called before `reserve` when a call is the first of its consumer and lacks something; it has not been granted yet. */
  createCounter?(request: QuotaRequest): void
  /** Called for every grant. @param unitsLeft units that the consumer has left to spend */
  handleGrant?(request: QuotaRequest, unitsLeft: number): void
}

export interface Clocks {
  /** Milliseconds of a monotonic clock, above 0, the same in every thread. Default: that of the table. */
  readonly monotonicMs?: () => number
  /** Unix milliseconds for statistics, resets and notes. Default `Date.now`. */
  readonly unixMs?: () => number
  /** Unix milliseconds that determine days and months. Default: those of the request. */
  readonly calendarMs?: (nowMs: number) => number
}

export class TableQuota {
  readonly table: QuotaTable
  readonly names: NameDirectory
  readonly monotonicMs: () => number
  readonly unixMs: () => number
  reserver: Reserver | undefined = undefined
  readonly #calendarMs: ((nowMs: number) => number) | undefined
  readonly #kernel: QuotaKernel
  readonly #out: Uint32Array
  readonly #firstSlot: number

  constructor(region: QuotaRegion, clocks: Clocks) {
    this.table = new QuotaTable(region)
    this.names = new NameDirectory(region.memory, region.base, region.plan)
    this.#kernel = region.kernel
    this.#out = this.table.out
    this.#firstSlot = region.base + region.plan.consumerSlots
    this.monotonicMs = clocks.monotonicMs ?? (() => this.table.nowMs())
    this.unixMs = clocks.unixMs ?? Date.now
    this.#calendarMs = clocks.calendarMs
  }

  /** @param since when the call began to wait, if it has */
  take(request: QuotaRequest, since?: number): Taken | Promise<Taken> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const status = this.#decide(request)
      const slot = this.#out[OUT_SLOT / 4]!
      const fresh = this.#out[OUT_NEW / 4] === 1
      if (fresh) this.names.write((slot - this.#firstSlot) / CONSUMER_STRIDE, nameOf(request.key))
      if (status === TAKE_GRANTED) {
        if (typeof request.key !== 'string') (request.key as HashedKey).at = slot
        const grant = new Grant(this.#kernel, slot, this.#standing())
        this.reserver?.handleGrant?.(request, this.#out[OUT_TOKENS / 4]!)
        return grant
      }
      const lacking = LACKING[status]
      if (lacking === undefined) return this.#refusal(status, request)
      if (fresh) this.reserver!.createCounter?.(request)
      const reserved = this.reserver!.reserve(request, lacking, since)
      if (reserved instanceof Promise) return this.#takeReserved(request, reserved, since)
      if (reserved !== true) return reserved
    }
    return quotaUnavailable('busy', request)
  }

  /** Apart: a method with a closure allocates a scope whenever it is called. */
  #takeReserved(
    request: QuotaRequest,
    reserved: Promise<true | QuotaRefusal>,
    since = performance.now(),
  ): Promise<Taken> {
    return reserved.then(response => (response === true ? this.take(request, since) : response))
  }

  statistics(): QuotaStatistics[] {
    const listed: QuotaStatistics[] = []
    const slots = Math.min(this.table.health().used, this.table.plan.listed)
    for (let slot = 0; slot < slots; slot++) {
      const name = this.names.read(slot)
      const row = name === undefined ? undefined : this.#read(slot, name)
      if (row !== undefined) listed.push(row)
    }
    return listed
  }

  statisticsOf(key: string): QuotaStatistics | undefined {
    return this.#read(this.table.find(key), key)
  }

  useOf(key: string): QuotaUse {
    const slot = this.table.find(key)
    if (!this.#readSlot(slot)) return { second: 0, minute: 0, inFlight: 0 }
    const out = this.#out
    return {
      second: out[READ_SECOND / 4]!,
      minute: out[READ_MINUTE / 4]!,
      inFlight: out[READ_IN_FLIGHT / 4]!,
    }
  }

  reset(key: string): boolean {
    const reset = () => this.#kernel.quotaReset(this.table.writeKey(key), this.unixMs())
    const known = this.table.patiently(reset, BUSY) === 1
    if (known) this.table.revise()
    return known
  }

  #decide(request: QuotaRequest): number {
    let status = this.#ask(request)
    for (let tries = 0; status === TAKE_BUSY && this.table.wait(tries); tries++) status = this.#ask(request)
    return status
  }

  #ask({ key, limits, tool, nowMs }: QuotaRequest): number {
    const keyLength = this.table.placeKey(key)
    return this.#kernel.quotaTake(
      keyLength,
      tool === undefined ? 0 : this.table.writeTool(tool.key, keyLength),
      this.monotonicMs(),
      this.#calendarMs === undefined ? nowMs : this.#calendarMs(nowMs),
      clamp(limits.perSecond),
      clamp(limits.perMinute),
      clamp(limits.perDay),
      clamp(limits.perMonth),
      clamp(limits.burst),
      tool === undefined ? 0 : perHour(tool.rateLimit.requestsPerMinute),
      tool === undefined ? 0 : Math.max(1, clamp(tool.rateLimit.burst)),
    )
  }

  #standing(): QuotaStanding | undefined {
    const out = this.#out
    if (out[OUT_KIND / 4] === NO_KIND) return undefined
    return {
      limit: out[OUT_LIMIT / 4]!,
      remaining: out[OUT_REMAINING / 4]!,
      resetAtSecs: out[OUT_RESET / 4]!,
    }
  }

  #refusal(status: number, request: QuotaRequest): QuotaRefusal {
    if (status !== TAKE_REFUSED)
      return quotaUnavailable(status === TAKE_FULL ? 'table_full' : 'busy', request)
    const out = this.#out
    const kind = KINDS[out[OUT_KIND / 4]!]!
    const limit = kind === 'tool' ? request.tool!.rateLimit.requestsPerMinute : out[OUT_LIMIT / 4]!
    return {
      granted: false,
      kind,
      standing: this.#standing()!,
      used: kind === 'tool' ? limit : out[OUT_USED / 4]!,
      limit,
      retryAfterSecs: retryAfterSecs(out[OUT_RETRY / 4]!),
    }
  }

  /** @returns false when the slot is free, or its lock is held */
  #readSlot(slot: number): boolean {
    const read = () => this.#kernel.quotaRead(slot, this.monotonicMs(), this.unixMs())
    return slot >= 0 && this.table.patiently(read, BUSY) === 1
  }

  #read(slot: number, key: string): QuotaStatistics | undefined {
    if (!this.#readSlot(slot)) return undefined
    const out = this.#out
    return {
      key,
      dailyCount: out[READ_DAY_COUNT / 4]!,
      dailyLimit: out[READ_DAY_LIMIT / 4]!,
      monthlyCount: out[READ_MONTH_COUNT / 4]!,
      monthlyLimit: out[READ_MONTH_LIMIT / 4]!,
    }
  }
}

class Grant implements QuotaGrant {
  readonly granted = true
  readonly standing: QuotaStanding | undefined
  #kernel: QuotaKernel
  #slot: number

  constructor(kernel: QuotaKernel, slot: number, standing: QuotaStanding | undefined) {
    this.#kernel = kernel
    this.#slot = slot
    this.standing = standing
  }

  release(): void {
    // 0 is not a slot: a second release must not free the slot of another call
    if (this.#slot !== 0) this.#kernel.quotaRelease(this.#slot)
    this.#slot = 0
  }
}

export function nameOf(key: string | QuotaKey): string {
  return typeof key === 'string' ? key : key.name
}

/** Absent, negative and not-a-number mean no limit; fractions are dropped. */
export function clamp(limit: number | undefined): number {
  return limit === undefined || !(limit >= 1) ? 0 : limit > MAX_LIMIT ? MAX_LIMIT : Math.floor(limit)
}

/** Tokens per hour, because a rate may be less than one per minute. */
export function perHour(requestsPerMinute: number): number {
  return clamp(Math.round(requestsPerMinute * 60))
}

/** At least 1; rounded up, except for less than one sub-window of the second. */
export function retryAfterSecs(waitMs: number): number {
  return Math.max(1, Math.ceil((waitMs - GRAIN_MS) / 1000))
}

/** The refusal of a call that cannot be counted. */
export function quotaUnavailable(
  cause: NonNullable<QuotaRefusal['cause']>,
  request: QuotaRequest,
): QuotaRefusal {
  const [kind, limit] = firstLimit(request.limits)
  const standing = { limit, remaining: 0, resetAtSecs: Math.ceil(request.nowMs / 1000) + 1 }
  return { granted: false, kind, standing, used: limit, limit, retryAfterSecs: 1, cause }
}

function firstLimit(limits: PlanLimits): [LimitKind, number] {
  if (clamp(limits.perSecond) > 0) return ['second', limits.perSecond!]
  if (clamp(limits.perMinute) > 0) return ['minute', limits.perMinute!]
  if (clamp(limits.perDay) > 0) return ['day', limits.perDay!]
  if (clamp(limits.perMonth) > 0) return ['month', limits.perMonth!]
  return ['burst', clamp(limits.burst)]
}

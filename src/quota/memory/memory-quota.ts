/** Quotas counted in the shared memory of one process: `Quota` over the kernel's table. No disk, no network. */
import { readFileSync } from 'node:fs'
import type { PlanLimits } from '../../model/plan.ts'
import type {
  LimitKind,
  Quota,
  QuotaGrant,
  QuotaKey,
  QuotaRefusal,
  QuotaRequest,
  QuotaStanding,
  QuotaStatistics,
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
  OUT_USED,
  READ_DAY_COUNT,
  READ_DAY_LIMIT,
  READ_MONTH_COUNT,
  READ_MONTH_LIMIT,
  TAKE_BUSY,
  TAKE_FULL,
  TAKE_GRANTED,
  TAKE_REFUSED,
} from './abi.ts'
import { NameDirectory } from './names.ts'
import { formatRegion, planRegion, type RegionOptions } from './region.ts'
import { type QuotaKernel, type QuotaRegion, QuotaTable, type TableHealth } from './table.ts'

/** In the order of the kernel's KIND_… numbers. */
const KINDS: readonly LimitKind[] = ['second', 'minute', 'day', 'month', 'burst', 'tool']
/** The kernel counts in 31 bits: a limit beyond them is that many. */
const MOST = 2 ** 31 - 1
/** A sub-window of the second: finer than `Retry-After` can say. */
const GRAIN_MS = 13

export interface MemoryQuotaOptions extends RegionOptions {
  /** A region made by `createQuotaRegion`, shared with other threads. Absent: a memory of its own, for one thread. */
  readonly region?: QuotaRegion
  /** Milliseconds of a clock that never steps; for tests. Default: the process's monotonic clock. */
  readonly monotonicMs?: () => number
  /** Unix milliseconds for statistics and reset. Default `Date.now`. */
  readonly unixMs?: () => number
}

/** In-process quotas; `take`, `statistics` and `reset` answer at once. */
export interface MemoryQuota extends Quota {
  take(request: QuotaRequest): QuotaGrant | QuotaRefusal
  statistics(): readonly QuotaStatistics[]
  statisticsOf(key: string): QuotaStatistics | undefined
  reset(key: string): boolean
  /** Fill of the table, for metrics. */
  health(): TableHealth
  /** Moves the rolling windows of every thread forward, for `TEST_HOOKS`; calendar windows follow `nowMs`. */
  advance(ms: number): void
}

/** A memory, a kernel and a formatted region of their own, for one thread. */
export function createQuotaRegion(options: RegionOptions = {}): QuotaRegion {
  const plan = planRegion(options)
  const base = 65_536
  const pages = Math.ceil((base + plan.bytes) / 65_536)
  const memory = new WebAssembly.Memory({ initial: pages, maximum: 16_384, shared: true })
  formatRegion(memory, base, plan)
  return { kernel: quotaKernel(memory), memory, base, plan }
}

/** Instantiates `build/kernel.wasm` on a memory. @throws Error when the kernel has not been built. */
export function quotaKernel(memory: WebAssembly.Memory): QuotaKernel {
  const bytes = readFileSync(new URL('../../../build/kernel.wasm', import.meta.url))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } })
  return exports as unknown as QuotaKernel
}

/** @throws RangeError naming an option that does not fit. */
export function createMemoryQuota(options: MemoryQuotaOptions = {}): MemoryQuota {
  const region = options.region ?? createQuotaRegion(options)
  const table = new QuotaTable(region)
  const names = new NameDirectory(region.memory, region.base, region.plan)
  const firstSlot = region.base + region.plan.consumerSlots
  const { kernel, out } = table
  const monotonicMs = options.monotonicMs ?? (() => table.nowMs())
  const unixMs = options.unixMs ?? Date.now

  class Grant implements QuotaGrant {
    readonly granted = true
    readonly standing: QuotaStanding | undefined
    #slot: number

    constructor(slot: number, standing: QuotaStanding | undefined) {
      this.#slot = slot
      this.standing = standing
    }

    release(): void {
      // Zero is never a slot: giving back twice must not free somebody else's place.
      if (this.#slot !== 0) kernel.quotaRelease(this.#slot)
      this.#slot = 0
    }
  }

  function take(request: QuotaRequest): QuotaGrant | QuotaRefusal {
    let status = decide(request)
    for (let tries = 0; status === TAKE_BUSY && table.wait(tries); tries++) status = decide(request)
    const slot = out[OUT_SLOT / 4]!
    if (out[OUT_NEW / 4] === 1) names.write((slot - firstSlot) / CONSUMER_STRIDE, nameOf(request.key))
    return status === TAKE_GRANTED ? new Grant(slot, standing()) : refusal(status, request)
  }

  function decide(request: QuotaRequest): number {
    const { limits, tool } = request
    const keyLength = table.writeKey(request.key)
    const toolLength = tool === undefined ? 0 : table.writeTool(tool.key, keyLength)
    return kernel.quotaTake(
      keyLength,
      toolLength,
      monotonicMs(),
      request.nowMs,
      clamp(limits.perSecond),
      clamp(limits.perMinute),
      clamp(limits.perDay),
      clamp(limits.perMonth),
      clamp(limits.burst),
      tool === undefined ? 0 : clamp(tool.rateLimit.requestsPerMinute),
      tool === undefined ? 0 : Math.max(1, clamp(tool.rateLimit.burst)),
    )
  }

  function standing(): QuotaStanding | undefined {
    if (out[OUT_KIND / 4] === NO_KIND) return undefined
    return {
      limit: out[OUT_LIMIT / 4]!,
      remaining: out[OUT_REMAINING / 4]!,
      resetAtSecs: out[OUT_RESET / 4]!,
    }
  }

  function refusal(status: number, request: QuotaRequest): QuotaRefusal {
    if (status === TAKE_REFUSED) {
      const kind = KINDS[out[OUT_KIND / 4]!]!
      const limit = kind === 'tool' ? request.tool!.rateLimit.requestsPerMinute : out[OUT_LIMIT / 4]!
      return {
        granted: false,
        kind,
        standing: standing()!,
        used: kind === 'tool' ? limit : out[OUT_USED / 4]!,
        limit,
        retryAfterSecs: Math.max(1, Math.ceil((out[OUT_RETRY / 4]! - GRAIN_MS) / 1000)),
      }
    }
    return unavailable(status === TAKE_FULL ? 'table_full' : 'busy', request)
  }

  function patiently(call: () => number): number {
    let status = call()
    for (let tries = 0; status === BUSY && table.wait(tries); tries++) status = call()
    return status
  }

  function read(slot: number, key: string, nowMs: number): QuotaStatistics | undefined {
    if (slot < 0 || patiently(() => kernel.quotaRead(slot, monotonicMs(), nowMs)) !== 1) return undefined
    return {
      key,
      dailyCount: out[READ_DAY_COUNT / 4]!,
      dailyLimit: out[READ_DAY_LIMIT / 4]!,
      monthlyCount: out[READ_MONTH_COUNT / 4]!,
      monthlyLimit: out[READ_MONTH_LIMIT / 4]!,
    }
  }

  return {
    key: name => table.key(name),
    take,
    statistics() {
      const listed: QuotaStatistics[] = []
      const slots = Math.min(table.health().used, region.plan.listed)
      for (let slot = 0; slot < slots; slot++) {
        const name = names.read(slot)
        const row = name === undefined ? undefined : read(slot, name, unixMs())
        if (row !== undefined) listed.push(row)
      }
      return listed
    },
    statisticsOf: key => read(kernel.quotaFind(table.writeKey(key)), key, unixMs()),
    reset: key => patiently(() => kernel.quotaReset(table.writeKey(key), unixMs())) === 1,
    health: () => table.health(),
    advance: ms => table.advance(ms),
    close: async () => {},
  }
}

export function nameOf(key: string | QuotaKey): string {
  return typeof key === 'string' ? key : key.name
}

/** Absent, negative and not-a-number mean no limit; part of a unit is none. */
function clamp(limit: number | undefined): number {
  return limit === undefined || !(limit >= 1) ? 0 : limit > MOST ? MOST : Math.floor(limit)
}

/** Nothing is known of the consumer's use; what cannot be counted is not admitted. */
export function unavailable(cause: NonNullable<QuotaRefusal['cause']>, request: QuotaRequest): QuotaRefusal {
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

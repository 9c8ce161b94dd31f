/** Types of the kernel's quota calls, and the creation, sharing and joining of the region they work on. */
import { randomUUID } from 'node:crypto'
import { createKernel, type KernelHandle } from '../../kernel/create.ts'
import type { SharedMemory } from '../../kernel/layout.ts'
import { formatRegion, planRegion, type RegionOptions, type RegionPlan } from './region.ts'

/** Documented in assembly/window*.ts. Lengths may be HASHED; a tool length of 0 means no tool. */
export interface QuotaKernel {
  quotaAttach(region: number, thread: number): number
  quotaDetach(thread: number): void
  quotaHash(length: number): void
  quotaTake(
    keyLength: number,
    toolLength: number,
    monoMs: number,
    unixMs: number,
    perSecond: number,
    perMinute: number,
    perDay: number,
    perMonth: number,
    burst: number,
    toolRate: number,
    toolBurst: number,
  ): number
  quotaRelease(slot: number): void
  quotaFind(keyLength: number): number
  quotaRead(slot: number, monoMs: number, unixMs: number): number
  quotaReset(keyLength: number, unixMs: number): number
  quotaReserve(
    keyLength: number,
    toolLength: number,
    units: number,
    more: number,
    monoMs: number,
    unixMs: number,
  ): number
  quotaCredit(
    keyLength: number,
    toolLength: number,
    reserved: number,
    units: number,
    ofDay: number,
    untilMs: number,
  ): number
  quotaSurrender(keyLength: number, toolLength: number): number
  quotaExport(slot: number, monoMs: number, unixMs: number, surrender: number): number
  quotaBegin(keyLength: number, toolLength: number, monoMs: number, unixMs: number): number
  quotaPairs(slot: number, kind: number, monoMs: number, unixMs: number): number
  quotaShare(keyLength: number, share: number): number
  quotaRestore(
    day: number,
    month: number,
    dayCount: number,
    monthCount: number,
    dayLimit: number,
    monthLimit: number,
    secondLimit: number,
    minuteLimit: number,
    atMs: number,
    pending: number,
    pairs: number,
    fresh: number,
    newestMs: number,
  ): number
  quotaRestored(monoMs: number): void
  quotaAssume(
    keyLength: number,
    perMinute: number,
    perDay: number,
    perMonth: number,
    monoMs: number,
    unixMs: number,
  ): number
}

/** A formatted region in the memory that `kernel` was instantiated on. */
export interface QuotaRegion {
  readonly kernel: QuotaKernel
  readonly memory: WebAssembly.Memory
  readonly base: number
  /** Number of this thread among those of the region; 0 formatted it. */
  readonly thread: number
  readonly plan: RegionPlan
  readonly shared: SharedMemory
}

/** What another thread needs to count in the same region. Plain data and shared memory: it can be posted. */
export interface SharedQuota {
  readonly shared: SharedMemory
  readonly plan: RegionPlan
  /** Name of the channel between the threads (`Notices`). */
  readonly channel: string
}

/**
 * Formats the quota region of a process's memory, or of a new memory for quotas alone. Called once per memory.
 * @param on a kernel whose layout was planned with `quotaBytes` of at least `planRegion(options).bytes`
 * @param seed 16 secret bytes of the key hash; random when absent. Restored keys need the seed with which they were hashed.
 * @throws RangeError naming the option that does not fit
 */
export function createQuotaRegion(
  options: RegionOptions = {},
  on: KernelHandle | undefined = undefined,
  seed: Uint8Array | undefined = undefined,
): QuotaRegion {
  const threads = on?.shared.layout.threads ?? options.threads ?? 1
  const plan = planRegion({ ...options, threads })
  const handle = on ?? createKernel({ threads, buckets: 1, quotaBytes: plan.bytes, routeTableBytes: 1024 })
  const { memory, layout } = handle.shared
  if (layout.quotaBytes < plan.bytes)
    throw new RangeError(
      `the kernel's memory has ${layout.quotaBytes} bytes for quotas, but ${plan.bytes} are needed; create the kernel with quotaBytes: planRegion(options).bytes`,
    )
  formatRegion(memory, layout.quotaBase, plan, seed)
  return regionOf(handle, plan, 0)
}

/** The name of the channel is unique to this process. */
export function shareOf({ shared, plan }: QuotaRegion): SharedQuota {
  return { shared, plan, channel: `quota-${randomUUID()}` }
}

/**
 * The region that another thread has formatted, for a kernel of this one.
 * @param thread from 1, below the `threads` of the region. No two threads may have the same one; a thread that replaces one that has ended takes its
 *   number, after `QuotaTable.detach`.
 */
export function joinQuotaRegion({ shared, plan }: SharedQuota, thread: number): QuotaRegion {
  return regionOf(createKernel({ shared, thread }), plan, thread)
}

function regionOf({ kernel, shared }: KernelHandle, plan: RegionPlan, thread: number): QuotaRegion {
  const { memory, layout } = shared
  const calls = kernel.exports as unknown as QuotaKernel
  return { kernel: calls, memory, base: layout.quotaBase, thread, plan, shared }
}

/** Plans and creates the memory that the threads of a process share: which addresses belong to what. */
import { ARENA_SIZE, BUCKET_SIZE } from './abi.ts'

const PAGE_BYTES = 65_536
/** The first kibibyte stays empty, so that address 0 belongs to nothing (assembly/memory.ts). */
const FIRST_BYTES = 1024
/** The kernel's limit (asconfig.json, maximumMemory): 1 GiB. */
const MAX_PAGES = 16_384

export interface LayoutOptions {
  /** Instances that will run on the memory, each in a separate arena. Default 1. */
  readonly threads?: number
  /** Token buckets, shared by all threads. Default 4,096. */
  readonly buckets?: number
  /** Bytes of the quota region, shared by all threads. Default 0. */
  readonly quotaBytes?: number
  /** Size of one route table; each thread has two. About 200 bytes per route. Default 8 MiB, allocated by the OS only when written. */
  readonly routeTableBytes?: number
}

/** Addresses in bytes. Plain data: it goes to worker threads with the memory. */
export interface Layout {
  readonly threads: number
  readonly bucketBase: number
  readonly bucketCount: number
  readonly quotaBase: number
  readonly quotaBytes: number
  readonly arenaBase: number
  /** Distance from one thread's arena to the next, its two tables included. */
  readonly arenaStride: number
  readonly routeTableBytes: number
  readonly pages: number
}

/** @throws RangeError naming the option that does not fit. */
export function planLayout(options: LayoutOptions = {}): Layout {
  const threads = count('threads', options.threads ?? 1, 1)
  const bucketCount = count('buckets', options.buckets ?? 4096, 0)
  const quotaBytes = count('quotaBytes', options.quotaBytes ?? 0, 0)
  const routeTableBytes = roundUp(count('routeTableBytes', options.routeTableBytes ?? 8 << 20, 1024), 64)
  const quotaBase = roundUp(FIRST_BYTES + bucketCount * BUCKET_SIZE, PAGE_BYTES)
  const arenaBase = roundUp(quotaBase + quotaBytes, PAGE_BYTES)
  const arenaStride = roundUp(ARENA_SIZE + 2 * (routeTableBytes + 64), PAGE_BYTES)
  const pages = (arenaBase + threads * arenaStride) / PAGE_BYTES
  if (pages > MAX_PAGES)
    throw new RangeError(
      `the kernel's memory would take ${pages} pages of 64 KiB, but the maximum is ${MAX_PAGES}, a limit in the code and not a setting; in the code that creates the kernel, lower quotaBytes (${quotaBytes}), buckets (${bucketCount}), or routeTableBytes (${routeTableBytes}) × 2 × threads (${threads})`,
    )
  return {
    threads,
    bucketBase: FIRST_BYTES,
    bucketCount,
    quotaBase,
    quotaBytes,
    arenaBase,
    arenaStride,
    routeTableBytes,
    pages,
  }
}

/** What the threads of a process share; passed to workers unchanged (`workerData`). */
export interface SharedMemory {
  readonly memory: WebAssembly.Memory
  readonly layout: Layout
}

/** New memory for a process, planned from the options. @throws RangeError naming the option that does not fit. */
export function shareMemory(options: LayoutOptions = {}): SharedMemory {
  const layout = planLayout(options)
  const { pages } = layout
  // exactly the planned size: memory that never grows never detaches a view
  return { memory: new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }), layout }
}

function count(name: string, value: number, least: number): number {
  if (!Number.isInteger(value) || value < least)
    throw new RangeError(`${name} is ${value}; give an integer of at least ${least}`)
  return value
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step
}

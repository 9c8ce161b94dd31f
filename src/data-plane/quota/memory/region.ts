/** Lays out the quota region of the shared memory, writes its header, and reads the clock that threads share. */
import { randomFillSync } from 'node:crypto'
import { MAX_NAME_BYTES } from '../quota.ts'
import {
  BUCKET_STRIDE,
  CONSUMER_STRIDE,
  HEAD_CONSUMERS,
  HEAD_FLIGHTS,
  HEAD_SCRATCH,
  HEAD_SEED,
  HEAD_TOOLS,
  SCRATCH_COUNT,
  SCRATCH_SIZE,
  TABLE_CAPACITY,
  TABLE_INDEX,
  TABLE_MASK,
  TABLE_SLOTS,
  TABLE_STRIDE,
} from './abi.ts'

/** An index entry has 21 bits for the slot. */
const MAX_SLOTS = 2 ** 21 - 2
/** Length, then UTF-8 of the key as far as it fits. */
export const NAME_BYTES = 1 + MAX_NAME_BYTES
/** Header words of the host: two Float64, milliseconds; BigUint64, number of the last lease request; Uint32, number of resets. */
export const HEAD_EPOCH = 32
export const HEAD_SKEW = 40
export const HEAD_LEASES = 48
export const HEAD_REVISION = 56
/** Float64: Unix ms by the clock of a store that several instances share, less the threads' milliseconds; 0 = not known. */
export const HEAD_UNIX_OFFSET = 192

/** Maximum age of restored counters: longer than the longest rolling window. */
export const PAST_MS = 120_000

export interface RegionOptions {
  /** Consumers (with their subscriptions) counted at once. 1,000,000 take 252 MiB of addresses; only slots in use take memory. Default 131,072. */
  readonly consumers?: number
  /** Token buckets, one per consumer and rate-limited tool in use. Default 65,536. */
  readonly toolBuckets?: number
  /** Slots whose consumer names are kept for listings. Default 16,384. */
  readonly listed?: number
  /** Threads that count. Default 1. */
  readonly threads?: number
}

/** Offsets in bytes from the base of the region. Plain data: it is posted to worker threads with the memory. */
export interface RegionPlan {
  readonly consumers: number
  readonly consumerIndex: number
  readonly consumerSlots: number
  readonly toolBuckets: number
  readonly toolIndex: number
  readonly toolSlots: number
  readonly listed: number
  readonly names: number
  /** Calls in flight of each thread but the first, by consumer. */
  readonly flights: number
  /** Size of the whole region. */
  readonly bytes: number
}

/** @throws RangeError naming the option that does not fit. */
export function planRegion(options: RegionOptions = {}): RegionPlan {
  const consumers = count('consumers', options.consumers ?? 131_072)
  const toolBuckets = count('toolBuckets', options.toolBuckets ?? 65_536)
  const listed = Math.min(count('listed', options.listed ?? 16_384), consumers)
  let end = HEAD_SCRATCH + SCRATCH_COUNT * SCRATCH_SIZE
  function place(bytes: number): number {
    const at = Math.ceil(end / 256) * 256
    end = at + bytes
    return at
  }
  const consumerIndex = place(indexEntries(consumers) * 4)
  const consumerSlots = place(consumers * CONSUMER_STRIDE)
  const toolIndex = place(indexEntries(toolBuckets) * 4)
  const toolSlots = place(toolBuckets * BUCKET_STRIDE)
  const names = place(listed * NAME_BYTES)
  const flights = place(consumers * 2 * ((options.threads ?? 1) - 1))
  return {
    consumers,
    consumerIndex,
    consumerSlots,
    toolBuckets,
    toolIndex,
    toolSlots,
    listed,
    names,
    flights,
    bytes: end,
  }
}

/**
 * Writes the header of a region that is all zero. Called once, before any thread attaches.
 * @param seed 16 secret bytes of the key hash; random when absent. Restored keys need the seed with which they were hashed.
 */
export function formatRegion(
  memory: WebAssembly.Memory,
  base: number,
  plan: RegionPlan,
  seed: Uint8Array = randomFillSync(new Uint8Array(16)),
): void {
  const view = new DataView(memory.buffer, base, plan.bytes)
  for (let i = 0; i < 16; i++) view.setUint8(HEAD_SEED + i, seed[i] ?? 0)
  // all threads count milliseconds from here; restored counters lie before now, and 0 means "never"
  view.setFloat64(HEAD_EPOCH, hrtimeMs() - PAST_MS, true)
  view.setUint32(HEAD_FLIGHTS, plan.flights, true)
  table(view, HEAD_CONSUMERS, CONSUMER_STRIDE, plan.consumers, plan.consumerIndex, plan.consumerSlots)
  table(view, HEAD_TOOLS, BUCKET_STRIDE, plan.toolBuckets, plan.toolIndex, plan.toolSlots)
}

/** Milliseconds of the clock that all threads of the process share; `performance.now` has another origin in each. */
export function hrtimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function table(
  view: DataView,
  at: number,
  stride: number,
  slots: number,
  index: number,
  slotsAt: number,
): void {
  view.setUint32(at + TABLE_STRIDE, stride, true)
  view.setUint32(at + TABLE_CAPACITY, slots, true)
  view.setUint32(at + TABLE_MASK, indexEntries(slots) - 1, true)
  view.setUint32(at + TABLE_INDEX, index, true)
  view.setUint32(at + TABLE_SLOTS, slotsAt, true)
}

function indexEntries(slots: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(slots * 2, 2)))
}

function count(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1 || value > MAX_SLOTS)
    throw new RangeError(`${name} is ${value}; give an integer from 1 to ${MAX_SLOTS}`)
  return value
}

/** Runs one or two threads that hammer the kernel, and computes the time of a call from the batches in which all of them ran. It simulates nothing. */
import { once } from 'node:events'
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import { createQuotaRegion, shareOf } from '../../src/data-plane/quota/memory/kernel.ts'
import { startThread } from '../../src/shared/threads/start-thread.ts'
import { spread } from '../statistics.ts'
import { CALLS_PER_BATCH, type HammerData, NUMBERS_PER_BATCH } from './hammer.ts'

export interface Batch {
  readonly fromMs: number
  readonly toMs: number
  readonly sleeps: number
}

export interface HammerFigures {
  /** Median of the batches. */
  readonly callNs: number
  readonly sleepsPerCall: number
  /** Batches that counted: in the others a thread was suspended, so that the other had the memory alone. */
  readonly batches: number
}

const BATCHES = 4_000
const THREADS = 2
const RATE = { tokens: 2_000_000_000, periodMs: 1, burst: 2_000_000_000 }

export async function hammer(
  what: HammerData['what'],
  targets: readonly number[],
  pauseSteps = 0,
): Promise<HammerFigures> {
  const region = createQuotaRegion({ consumers: 1024, toolBuckets: 64, threads: THREADS + 1 })
  const { kernel, shared: buckets } = createKernel({ threads: THREADS + 1, routeTableBytes: 1024 })
  for (const target of targets) kernel.setBucketRate(target, RATE)
  const gate = new SharedArrayBuffer(4)
  const quota = shareOf(region)
  const logs = await Promise.all(
    targets.map(async (target, at) => {
      const batches = new SharedArrayBuffer(BATCHES * NUMBERS_PER_BATCH * 8)
      const data: HammerData = {
        thread: at + 1,
        target,
        what,
        quota,
        buckets,
        gate,
        threads: targets.length,
        batches,
        pauseSteps,
      }
      const worker = startThread(new URL('./hammer.ts', import.meta.url), { workerData: data })
      const [code] = await once(worker, 'exit')
      if (code !== 0) throw new Error(`a thread of the validation ended with exit code ${code}`)
      return batchesOf(new Float64Array(batches))
    }),
  )
  return figuresOf(logs)
}

/** @param logs of each thread, in the order of time */
export function figuresOf(logs: readonly (readonly Batch[])[]): HammerFigures {
  const counted = logs.flatMap((log, at) => {
    const others = logs.filter((_, other) => other !== at)
    const usualMs = median(log.map(({ fromMs, toMs }) => toMs - fromMs))
    return log.filter(
      batch =>
        batch.toMs - batch.fromMs <= SUSPENDED * usualMs &&
        others.every(other => ranThroughout(other, batch, usualMs)),
    )
  })
  if (counted.length === 0) return { callNs: Number.NaN, sleepsPerCall: Number.NaN, batches: 0 }
  return {
    callNs: (median(counted.map(({ fromMs, toMs }) => toMs - fromMs)) * 1e6) / CALLS_PER_BATCH,
    sleepsPerCall: counted.reduce((sum, { sleeps }) => sum + sleeps, 0) / counted.length / CALLS_PER_BATCH,
    batches: counted.length,
  }
}

/** Other programs suspend a thread for longer than this many usual batches. */
const SUSPENDED = 20

/** Whether the other thread made calls from the begin to the end of the batch. */
function ranThroughout(log: readonly Batch[], { fromMs, toMs }: Batch, usualMs: number): boolean {
  let at = firstEnding(log, fromMs)
  const first = log[at]
  if (first === undefined || first.fromMs > fromMs) return false
  for (; at < log.length && log[at]!.fromMs < toMs; at++)
    if (log[at]!.toMs - log[at]!.fromMs > SUSPENDED * usualMs) return false
  return at < log.length
}

/** Index of the first batch that ends after `ms`. */
function firstEnding(log: readonly Batch[], ms: number): number {
  let [low, high] = [0, log.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (log[middle]!.toMs > ms) high = middle
    else low = middle + 1
  }
  return low
}

function batchesOf(numbers: Float64Array): Batch[] {
  return Array.from({ length: numbers.length / NUMBERS_PER_BATCH }, (_, at) => {
    const [fromMs, toMs, sleeps] = numbers.subarray(at * NUMBERS_PER_BATCH)
    return { fromMs: fromMs!, toMs: toMs!, sleeps: sleeps! }
  })
}

const median = (values: readonly number[]): number => spread(values).median

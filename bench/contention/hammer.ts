/** A thread that calls the kernel again and again and notes when each batch of calls began and ended. Started by `measure-threads.ts`; it judges nothing. */
import { workerData } from 'node:worker_threads'
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import type { SharedMemory } from '../../src/data-plane/kernel/layout.ts'
import { joinQuotaRegion, type SharedQuota } from '../../src/data-plane/quota/memory/kernel.ts'
import { hrtimeMs } from '../../src/data-plane/quota/memory/region.ts'
import { TableQuota } from '../../src/data-plane/quota/memory/table-quota.ts'

export interface HammerData {
  /** From 1. */
  readonly thread: number
  /** Which consumer or bucket it uses. */
  readonly target: number
  readonly what: 'quota' | 'bucket'
  readonly quota: SharedQuota
  readonly buckets: SharedMemory
  /** Steps of arithmetic between two calls, half a nanosecond or more each. */
  readonly pauseSteps: number
  /** Word 0: threads that are ready; then, when all are, they begin. */
  readonly gate: SharedArrayBuffer
  readonly threads: number
  /** Of each batch: begin and end in ms, and the sleeps in it. */
  readonly batches: SharedArrayBuffer
}

export const CALLS_PER_BATCH = 64
export const NUMBERS_PER_BATCH = 3
/** So high that no call is refused. */
const LIMITS = { perSecond: 1e6 * 1000, perMinute: 2e9, perDay: 2e9, perMonth: 2e9, burst: 100 }

let state = 1

// a module that imports it for types and constants has no data of a thread
const data = workerData as HammerData | null
if (data !== null && 'gate' in data) run(data)

function run({ thread, target, what, quota, buckets, pauseSteps, gate, threads, batches }: HammerData): void {
  let sleeps = 0
  const sleep = Atomics.wait
  Atomics.wait = ((...args: Parameters<typeof sleep>) => {
    sleeps++
    return sleep(...args)
  }) as typeof sleep
  const call = what === 'quota' ? quotaCall(quota, thread, target) : bucketCall(buckets, thread, target)
  // compiled, and the slot known
  for (let i = 0; i < 20_000; i++) {
    call()
    pause(pauseSteps)
  }
  const ready = new Int32Array(gate)
  Atomics.add(ready, 0, 1)
  while (Atomics.load(ready, 0) < threads) sleep(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
  const numbers = new Float64Array(batches)
  for (let at = 0; at < numbers.length; at += NUMBERS_PER_BATCH) {
    sleeps = 0
    numbers[at] = hrtimeMs()
    for (let i = 0; i < CALLS_PER_BATCH; i++) {
      call()
      pause(pauseSteps)
    }
    numbers[at + 1] = hrtimeMs()
    numbers[at + 2] = sleeps
  }
}

/** Time that touches no memory; of different lengths, so that two threads do not keep step. */
function pause(steps: number): void {
  if (steps === 0) return
  for (let left = (steps >> 1) + (state & 0xff) * (steps >> 8); left > 0; left--) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
  }
}

function quotaCall(share: SharedQuota, thread: number, target: number): () => void {
  const quota = new TableQuota(joinQuotaRegion(share, thread), {})
  const key = quota.table.key(`acme/agent-${target}`)
  return () => {
    const response = quota.take({ key, limits: LIMITS, nowMs: Date.now() })
    if (response instanceof Promise || !response.granted)
      throw new Error('a call of the validation was refused')
    response.release()
  }
}

function bucketCall(shared: SharedMemory, thread: number, target: number): () => void {
  const { kernel } = createKernel({ shared, thread })
  return () => {
    if (kernel.takeTokens(target, 1, Date.now()) !== 0)
      throw new Error('a token of the validation was refused')
  }
}

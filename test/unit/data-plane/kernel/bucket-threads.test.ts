/** One to eight threads and the test's own thread on one bucket: exactly the limit while the clock stands, never more while it moves. */
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shareMemory } from '../../../../src/data-plane/kernel/layout.ts'
import { createTwin } from '../../../oracles/kernel/twin.ts'
import { NOW_MS } from './engines.ts'

const THREADS = 8
const workers: Worker[] = []

beforeAll(() => {
  for (let i = 0; i < THREADS; i++) workers.push(new Worker(new URL('./bucket-worker.mjs', import.meta.url)))
})
afterAll(() => Promise.all(workers.map(worker => worker.terminate())))

interface Run {
  readonly threads: number
  readonly takes: number
  readonly burst: number
  /** A thread moves the common clock by a millisecond at every so many takes; 0: the clock stands. */
  readonly stepEvery: number
}

/** Starts all threads at once; this thread takes part with the twin on the same memory. */
async function race({ threads, takes, burst, stepEvery }: Run) {
  const shared = shareMemory({ threads, buckets: 64, routeTableBytes: 1024 })
  const { kernel: twin } = createTwin({ shared })
  twin.setBucketRate(7, { tokens: 1, periodMs: 1, burst })
  const gate = new SharedArrayBuffer(12)
  const words = new Int32Array(gate)
  const counts = workers.slice(0, threads).map(
    (worker, thread) =>
      new Promise<number>(resolve => {
        worker.once('message', resolve)
        worker.postMessage({ ...shared, thread, gate, slot: 7, takes, nowMs: NOW_MS, stepEvery })
      }),
  )
  while (Atomics.load(words, 0) < threads) await new Promise(resolve => setTimeout(resolve, 1))
  Atomics.store(words, 1, 1)
  Atomics.notify(words, 1)
  let own = 0
  for (let i = 0; i < takes; i++) if (twin.takeTokens(7, 1, NOW_MS + Atomics.load(words, 2)) === 0) own++
  const granted = await Promise.all(counts)
  return { own, granted, sum: own + granted.reduce((a, b) => a + b, 0), passedMs: words[2]!, twin }
}

test.each([1, 2, 4, 8])('%i threads and the twin: exactly the limit, 25 times out of 25', async threads => {
  for (let run = 0; run < 25; run++) {
    const { sum, twin } = await race({ threads, takes: 20_000, burst: 15_000, stepEvery: 0 })
    expect(sum).toBe(15_000)
    expect(twin.tokensLeft(7, NOW_MS)).toBe(0)
  }
})

test('while the clock moves, never more than the burst and what came back', async () => {
  let shared = 0
  for (let run = 0; run < 10; run++) {
    const { sum, granted, passedMs } = await race({ threads: 4, takes: 20_000, burst: 500, stepEvery: 100 })
    expect(passedMs).toBe(800)
    expect(sum).toBeLessThanOrEqual(500 + passedMs)
    // no thread waits for another, so refilled tokens were taken, except in the last steps of a thread that ended late
    expect(sum).toBeGreaterThanOrEqual(500 + passedMs - 210)
    if (granted.filter(count => count > 0).length > 1) shared++
  }
  expect(shared).toBeGreaterThan(0)
})

/** One to eight threads on one table: the limits hold for all of them together, exactly. */
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { READ_DAY_COUNT, READ_IN_FLIGHT, TAKE_GRANTED } from '../../../../src/data-plane/quota/memory/abi.ts'
import { mostSurelyInside, type Span } from './window/oracle.ts'
import { type Limits, NOON, smallTable } from './window/region.ts'

interface Job {
  readonly threads: number
  readonly ops: number
  readonly keys: readonly string[]
  readonly limits: Limits
  readonly stepMs: number
  readonly jitterMs: number
  readonly seed: number
  /** Calls one thread keeps in flight at most. Default 0: each is over before the next. */
  readonly holding?: number
  readonly consumers?: number
}

interface WorkerReply {
  readonly granted: number[]
  readonly statuses: number[]
  readonly max: number
}

const workers: Worker[] = []

beforeAll(() => {
  for (let i = 0; i < 8; i++) workers.push(new Worker(new URL('./window/take-worker.mjs', import.meta.url)))
})
afterAll(() => Promise.all(workers.map(worker => worker.terminate())))

async function run(job: Job) {
  const made = smallTable({ consumers: job.consumers ?? 64, threads: 9 })
  const shared = new SharedArrayBuffer(16)
  const words = new Int32Array(shared)
  words[0] = 1_000_000
  const reports = workers.slice(0, job.threads).map(
    (worker, i) =>
      new Promise<WorkerReply>(resolve => {
        worker.once('message', resolve)
        const { memory, base } = made.region
        worker.postMessage({
          holding: 0,
          ...job,
          memory,
          base,
          thread: i + 1,
          shared,
          unixMs: NOON,
          seed: job.seed + i * 7919,
        })
      }),
  )
  while (Atomics.load(words, 1) < job.threads) await new Promise(resolve => setTimeout(resolve, 1))
  Atomics.store(words, 2, 1)
  Atomics.notify(words, 2)
  const all = await Promise.all(reports)
  const spans: Span[][] = job.keys.map(() => [])
  for (const { granted } of all)
    for (let i = 0; i < granted.length; i += 3)
      spans[granted[i]!]!.push({ from: granted[i + 1]!, to: granted[i + 2]! })
  const statuses = [0, 1, 2, 3, 4, 5].map(status =>
    all.reduce((sum, { statuses }) => sum + statuses[status]!, 0),
  )
  return { made, spans, statuses, max: Math.max(...all.map(({ max }) => max)), endMs: words[0]! }
}

describe('threads on one table', () => {
  test('no window admits more than its limit, for any threads, clocks, limits and arrivals', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 3000 }),
        fc.integer({ min: 0, max: 8 }),
        fc.integer({ min: 0, max: 2000 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 2 ** 31 }),
        async (threads, second, minute, stepMs, jitterMs, keyCount, seed) => {
          const keys = ['a', 'b', 'c'].slice(0, keyCount)
          const day = 2000
          const { spans } = await run({
            threads,
            ops: Math.ceil(8000 / threads),
            keys,
            limits: { second, minute, day },
            stepMs,
            jitterMs,
            seed,
          })
          for (const of of spans) {
            expect(of.length).toBeLessThanOrEqual(day)
            expect(mostSurelyInside(of, 1000)).toBeLessThanOrEqual(second)
            expect(mostSurelyInside(of, 60_000)).toBeLessThanOrEqual(minute)
          }
        },
      ),
      { numRuns: 40 },
    )
  })

  test.each([1, 2, 4, 8])(
    '%i threads get exactly the limit of a standing clock, every time',
    async threads => {
      for (let round = 0; round < 25; round++) {
        const { made, spans } = await run({
          threads,
          ops: 4000,
          keys: ['a'],
          limits: { second: 1000, minute: 900, day: 777, month: 5000 },
          stepMs: 0,
          jitterMs: 0,
          seed: round + 1,
        })
        expect(spans[0]!.length).toBe(777)
        expect(made.kernel.quotaRead(0, 1_000_000, NOON)).toBe(1)
        expect(made.out[READ_DAY_COUNT / 4]).toBe(777)
      }
    },
  )

  test('under saturation at least 59/60 of what the limit allows is admitted', async () => {
    const { spans, endMs } = await run({
      threads: 4,
      ops: 30_000,
      keys: ['a'],
      limits: { second: 300 },
      stepMs: 1,
      jitterMs: 0,
      seed: 5,
    })
    const windows = (endMs - 1_000_000) / 1000
    expect(windows).toBeGreaterThan(20)
    expect(spans[0]!.length).toBeGreaterThanOrEqual(300 * (1 + (windows - 1) * (1 - 1 / 60)) - windows)
    expect(mostSurelyInside(spans[0]!, 1000)).toBeLessThanOrEqual(300)
  })

  test('calls in flight never exceed the burst, and all come back', async () => {
    const { made, max, statuses } = await run({
      threads: 8,
      ops: 20_000,
      keys: ['a'],
      limits: { burst: 7 },
      stepMs: 0,
      jitterMs: 0,
      seed: 3,
      holding: 5,
    })
    expect(statuses[TAKE_GRANTED]).toBeGreaterThan(1000)
    expect(max).toBeLessThanOrEqual(7)
    expect(made.kernel.quotaRead(0, 1_000_000, NOON)).toBe(1)
    expect(made.out[READ_IN_FLIGHT / 4]).toBe(0)
  })

  test('while slots are evicted and made again under the threads, no consumer in use loses its count', async () => {
    const keys = Array.from({ length: 40 }, (_, i) => `consumer-${i}`)
    const { made, spans } = await run({
      threads: 8,
      ops: 20_000,
      keys,
      limits: { minute: 5 },
      stepMs: 8000,
      jitterMs: 0,
      seed: 11,
      consumers: 16,
    })
    expect(made.table.health().evicted).toBeGreaterThan(100)
    for (const of of spans) expect(mostSurelyInside(of, 60_000)).toBeLessThanOrEqual(5)
  })
})

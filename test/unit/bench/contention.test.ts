/**
 * The calculations of the contention benchmark: the simulations of cache lines, locks, requests and syncs, measured batches, and the spread of
 * connections. It measures no time.
 */
import { describe, expect, it } from 'vitest'
import { sessionAsks, simulateAsks, simulateSyncs } from '../../../bench/contention/asks.ts'
import { Caches, COSTS } from '../../../bench/contention/caches.ts'
import { busiestShare, spreadOf } from '../../../bench/contention/connections.ts'
import { CALLS_PER_BATCH } from '../../../bench/contention/hammer.ts'
import { figuresOf } from '../../../bench/contention/measure-threads.ts'
import { Jitter, Random } from '../../../bench/contention/random.ts'
import { type NextCall, type Step, simulate } from '../../../bench/contention/simulate.ts'

const { hitNs, atomicNs, cleanNs, transferNs, memoryNs } = COSTS
const LINE = 64
const rmw = (address: number): Step => ({ kind: 'rmw', address, field: 'counter' })
const pause = (ns: number): Step => ({ kind: 'pause', ns })
const locked = (ns: number): readonly Step[] => [
  { kind: 'acquire', address: 0, field: 'lock' },
  pause(ns),
  { kind: 'release', address: 0, field: 'lock' },
]

describe('private caches', () => {
  const at = (caches: Caches, thread: number, write: boolean, line = 1): number =>
    caches.access(thread, line, write, false, 10_000) - 10_000 - hitNs

  it('have a line after the first access, changed or not', () => {
    const caches = new Caches(2)
    expect(at(caches, 0, false)).toBe(memoryNs)
    expect(at(caches, 0, false)).toBe(0)
    expect(at(caches, 0, true)).toBe(0)
  })

  it('get a changed line by a transfer, and an unchanged one from the shared cache', () => {
    const caches = new Caches(3)
    caches.access(0, 1, true, false, 0)
    expect(at(caches, 1, false)).toBe(transferNs)
    expect(at(caches, 0, false)).toBe(0)
    expect(caches.access(2, 1, false, false, 20_000)).toBe(20_000 + cleanNs + hitNs)
  })

  it('lose a line that another thread changes, which invalidates the copies', () => {
    const caches = new Caches(2)
    caches.access(0, 1, false, false, 0)
    caches.access(1, 1, false, false, 1_000)
    expect(caches.access(0, 1, true, true, 2_000)).toBe(2_000 + transferNs + hitNs + atomicNs)
    expect(caches.access(1, 1, false, false, 3_000)).toBe(3_000 + transferNs + hitNs)
  })

  it('evict the line accessed longest ago', () => {
    const caches = new Caches(1, COSTS, 2)
    for (const line of [1, 2, 1, 3]) caches.access(0, line, true, false, 0)
    expect(at(caches, 0, false, 1)).toBe(0)
    expect(at(caches, 0, false, 2)).toBe(cleanNs)
  })

  it('reject more threads than a line has bits for', () => {
    expect(() => new Caches(32)).toThrow('threads is 32; give an integer from 1 to 31')
  })
})

describe('a simulation', () => {
  it('without shared lines reaches N times one thread', () => {
    const own: NextCall = thread => [pause(1_000), rmw(thread * LINE), rmw(thread * LINE)]
    const one = simulate(own, { threads: 1, callsPerThread: 100 })
    const eight = simulate(own, { threads: 8, callsPerThread: 100 })
    expect(eight.efficiency).toBe(1)
    expect(eight.byField.size).toBe(0)
    expect(eight.callsPerSec / one.callsPerSec).toBeCloseTo(8, 6)
    expect(one.callsPerSec).toBeCloseTo(1e9 / (1_000 + 2 * (hitNs + atomicNs)), 0)
  })

  it('of two threads that change one line in turns: each change waits for two transfers', () => {
    const result = simulate(() => [rmw(0)], { threads: 2, callsPerThread: 1_000 })
    expect((result.callsPerSec * transferNs) / 1e9).toBeCloseTo(1, 2)
    expect(result.efficiency).toBeCloseTo((hitNs + atomicNs) / (2 * transferNs), 4)
    expect(result.byField.get('counter')).toBeCloseTo(1 - result.efficiency, 6)
  })

  it('finds two counters in one line, and not when they are in two', () => {
    const counters = (distance: number) =>
      simulate(thread => [pause(1_000 + thread), rmw(thread * distance)], { threads: 2, callsPerThread: 500 })
    expect(counters(8).efficiency).toBeLessThan(0.95)
    expect(counters(LINE).efficiency).toBe(1)
  })

  it('lets one thread have a lock at a time', () => {
    const result = simulate(() => locked(1_000), {
      threads: 4,
      callsPerThread: 200,
      lockTimes: { spinNs: 1e9, sleepNs: 1 },
    })
    expect(result.callsPerSec).toBeLessThan(1e9 / 1_000)
    expect(result.callsPerSec).toBeGreaterThan(0.6e9 / 1_000)
    expect(result.sleepsPerCall).toBe(0)
  })

  it('lets a thread sleep after too many attempts at a lock', () => {
    const result = simulate(() => [pause(500), ...locked(1_000)], {
      threads: 4,
      callsPerThread: 200,
      lockTimes: { spinNs: 300, sleepNs: 50_000 },
    })
    expect(result.sleepsPerCall).toBeGreaterThan(0.01)
    expect(result.byField.get('lock')).toBeGreaterThan(0.3)
  })

  it('gives the same figures for the same seed, and others for another', () => {
    const run = (seed: number) => {
      const random = new Random(seed)
      const jitter = new Jitter(random)
      return simulate(() => [pause(1_000 * jitter.next()), rmw(random.below(4) * LINE)], {
        threads: 4,
        callsPerThread: 300,
      })
    }
    expect(run(1)).toEqual(run(1))
    expect(run(1).efficiency).not.toBe(run(2).efficiency)
  })
})

describe('jitter', () => {
  it('has a mean of 1 after all its parts', () => {
    const jitter = new Jitter(new Random(5))
    const factors = Array.from({ length: 64 }, () => jitter.next())
    expect(factors.reduce((sum, factor) => sum + factor, 0) / 64).toBeCloseTo(1, 10)
    expect(Math.min(...factors)).toBeGreaterThan(0.5)
    expect(Math.max(...factors)).toBeLessThan(1.5)
  })
})

describe('requests to the main thread', () => {
  const base = { privateUs: 100, serviceUs: 10, askUs: 0, pending: 8, durationMs: 300, seed: 1 }

  it('are bounded by its time', () => {
    const result = simulateAsks({ ...base, threads: 16, asks: () => true })
    expect(result.asksPerSec).toBeCloseTo(100_000, -3)
    expect(result.mainUtilization).toBeGreaterThan(0.99)
    expect(result.efficiency).toBeCloseTo(10 / 16, 1)
  })

  it('cost nothing where no call asks', () => {
    const result = simulateAsks({ ...base, threads: 16, asks: () => false })
    expect(result).toMatchObject({ asksPerSec: 0, mainUtilization: 0, p99WaitUs: 0 })
    expect(result.efficiency).toBeCloseTo(1, 2)
  })

  it('of sessions: once a second for each thread that serves the session', () => {
    const asked = (sticky: boolean) => {
      const asks = sessionAsks(100, 4, sticky)
      return simulateAsks({ ...base, threads: 4, durationMs: 3_000, asks }).asksPerSec
    }
    expect(asked(false)).toBeCloseTo(400, -2)
    expect(asked(true)).toBeCloseTo(100, -1)
  })

  it('of fdatasync wait when the pool is full', () => {
    expect(simulateSyncs(1, 1)).toMatchObject({ periodMs: expect.closeTo(4, 1) })
    expect(simulateSyncs(16, 3).periodMs).toBeCloseTo(12, 1)
    expect(simulateSyncs(16, 3).poolUtilization).toBeGreaterThan(0.99)
  })
})

describe('measured batches', () => {
  const batch = (fromMs: number, toMs: number) => ({ fromMs, toMs, sleeps: 0 })

  it('count while all threads run', () => {
    const first = [batch(0, 1), batch(1, 2), batch(2, 3), batch(100, 101)]
    const second = [batch(0, 1), batch(1, 2.5), batch(2.5, 90)]
    const { callNs, batches } = figuresOf([first, second])
    // of the first thread: what ends before the second one is suspended; of the second: what the first one covers
    expect(batches).toBe(4)
    expect(callNs).toBeCloseTo(1e6 / CALLS_PER_BATCH, 6)
  })

  it('of one thread count all, and none is unknown', () => {
    expect(figuresOf([[batch(0, 1), batch(1, 2)]]).batches).toBe(2)
    expect(figuresOf([[batch(0, 1)], [batch(5, 6)]]).callNs).toBeNaN()
  })
})

describe('connections', () => {
  it('have the statistic of Pearson', () => {
    expect(spreadOf([100, 100, 100, 100]).chiSquare).toBe(0)
    expect(spreadOf([120, 80, 100, 100]).chiSquare).toBe(8)
  })

  it('are less even when they are few', () => {
    expect(busiestShare(16, 16, 1)).toBeGreaterThan(2)
    expect(busiestShare(4_000, 16, 1)).toBeLessThan(1.2)
    expect(busiestShare(64, 16, 1)).toBe(busiestShare(64, 16, 1))
  })
})

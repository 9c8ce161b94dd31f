/** The delays of retries: their growth, bounds, jitter and cancellation. */
import { describe, expect, it } from 'vitest'
import { Backoff, backoffMs } from '../../../../src/base/async/backoff.ts'

const OPTIONS = { firstMs: 100, maxMs: 1_000 }

describe('backoff', () => {
  it('doubles the delay up to the maximum', () => {
    const backoff = new Backoff(OPTIONS)
    expect(Array.from({ length: 6 }, () => backoff.nextMs())).toEqual([100, 200, 400, 800, 1_000, 1_000])
    expect(backoff.retries).toBe(6)
  })

  it('starts again after a reset', () => {
    const backoff = new Backoff(OPTIONS)
    backoff.nextMs()
    backoff.nextMs()
    backoff.reset()
    expect(backoff.retries).toBe(0)
    expect(backoff.nextMs()).toBe(100)
  })

  it('stays at the maximum however often it has failed', () => {
    expect(backoffMs(OPTIONS, 5_000)).toBe(1_000)
    expect(backoffMs({ firstMs: 100, maxMs: 50 }, 0)).toBe(50)
  })

  it.each([
    [0, 100],
    [0.5, 75],
    [0.99, 50.5],
  ])('shortens the delay by a random share: %d', (random, ms) => {
    const backoff = new Backoff({ ...OPTIONS, jitter: 0.5, random: () => random })
    expect(backoff.nextMs()).toBeCloseTo(ms)
  })

  it('waits for the delay', async () => {
    const backoff = new Backoff({ firstMs: 20, maxMs: 20 })
    // a timer of the test keeps the process alive: the one of the backoff does not
    const alive = setTimeout(() => {}, 5_000)
    const startedAt = performance.now()
    await backoff.wait()
    clearTimeout(alive)
    expect(performance.now() - startedAt).toBeGreaterThan(15)
  })

  it('stops waiting when the signal aborts, and does not wait after it', async () => {
    const backoff = new Backoff({ firstMs: 60_000, maxMs: 60_000 })
    const abort = new AbortController()
    const waiting = backoff.wait(abort.signal)
    abort.abort()
    await waiting
    await backoff.wait(abort.signal)
    expect(backoff.retries).toBe(2)
  })
})

/** The limit against simulated origins: one that is overloaded, one whose latency does not depend on its calls, one that recovers. */
import { describe, expect, it } from 'vitest'
import { AdaptiveLimit } from '../../../../src/net/egress/adaptive-limit.ts'

const MAX = 168

interface Origin {
  /** Calls that it serves at once. */
  readonly servers: number
  readonly serviceMs: () => number
}

/** Calls arrive evenly; those over the limit wait. @returns responses a second, and the limit at the end */
function simulate(
  limit: AdaptiveLimit | undefined,
  { servers, serviceMs }: Origin,
  perSecond: number,
  forSeconds: number,
) {
  /** When each server is free. */
  const freeAt = Array.from({ length: servers }, () => 0)
  /** Ends of the calls that run, and when they were sent. */
  const running: { readonly endMs: number; readonly sentMs: number }[] = []
  const forMs = forSeconds * 1_000
  let [waiting, done, nextArrivalMs, nowMs] = [0, 0, 0, 0]
  const send = (): void => {
    const free = freeAt.findIndex(atMs => atMs <= nowMs)
    const first = free >= 0 ? free : freeAt.indexOf(Math.min(...freeAt))
    freeAt[first] = Math.max(freeAt[first]!, nowMs) + serviceMs()
    running.push({ endMs: freeAt[first]!, sentMs: nowMs })
    running.sort((a, b) => a.endMs - b.endMs)
  }
  while (nowMs < forMs) {
    const next = running[0]
    if (next !== undefined && next.endMs <= nextArrivalMs) {
      nowMs = next.endMs
      limit?.add(nowMs - next.sentMs, running.length)
      running.shift()
      done++
    } else {
      nowMs = nextArrivalMs
      nextArrivalMs += 1_000 / perSecond
      waiting++
    }
    while (waiting > 0 && running.length < (limit?.limit ?? MAX)) {
      waiting--
      send()
    }
  }
  return done / forSeconds
}

describe('the adaptive limit', () => {
  it('falls at an overloaded origin, which does as much as before', () => {
    const limit = new AdaptiveLimit(MAX)
    const origin: Origin = { servers: 8, serviceMs: () => 25 }
    simulate(limit, origin, 100, 20)
    expect(limit.limit).toBe(MAX)
    expect(simulate(limit, origin, 1_000, 30)).toBeGreaterThan(0.95 * simulate(undefined, origin, 1_000, 30))
    expect(limit.limit).toBeLessThan(60)
  })

  it('stays where latency does not depend on the calls, however different they are', () => {
    let at = 0
    for (const serviceMs of [() => 100, () => (at++ % 10 === 0 ? 500 : 20)]) {
      const limit = new AdaptiveLimit(MAX)
      const origin: Origin = { servers: 1_000, serviceMs }
      // the responses that come first are quick ones
      simulate(limit, origin, 1_400, 60)
      const [adaptive, fixed] = [limit, undefined].map(one => simulate(one, origin, 1_400, 30)) as [
        number,
        number,
      ]
      expect(adaptive).toBeGreaterThan(0.98 * fixed)
      expect(limit.limit).toBeGreaterThan(MAX / 2)
    }
  })

  it('grows again when the origin has recovered', () => {
    const limit = new AdaptiveLimit(MAX)
    simulate(limit, { servers: 8, serviceMs: () => 25 }, 100, 20)
    simulate(limit, { servers: 8, serviceMs: () => 25 }, 1_000, 30)
    const low = limit.limit
    simulate(limit, { servers: 400, serviceMs: () => 100 }, 1_000, 120)
    expect(limit.limit).toBeGreaterThan(2 * low)
  })

  it('never leaves its bounds', () => {
    const limit = new AdaptiveLimit(MAX)
    let [least, most] = [MAX, 0]
    for (let at = 0; at < 100_000; at++) {
      limit.add(at % 977 === 0 ? 60_000 : (at * 7919) % 300, MAX)
      least = Math.min(least, limit.limit)
      most = Math.max(most, limit.limit)
    }
    expect(least).toBeGreaterThanOrEqual(20)
    expect(most).toBeLessThanOrEqual(MAX)
  })
})

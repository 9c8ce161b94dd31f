/** When a circuit opens, what it lets through, and what closes it again; the time is made up. */
import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../../../src/base/async/circuit-breaker.ts'

const OPTIONS = { opensAfter: 3, openMs: 1_000, maxOpenMs: 4_000, maxCircuits: 2 }
const A = 'http://a'

function failing(breaker: CircuitBreaker, times: number, nowMs: number, origin = A): void {
  for (let time = 0; time < times; time++)
    breaker.settle(origin, breaker.admit(origin, nowMs), 'failed', nowMs)
}

describe('a circuit', () => {
  it('opens after failures in a row only', () => {
    const breaker = new CircuitBreaker(OPTIONS)
    failing(breaker, 2, 0)
    breaker.settle(A, breaker.admit(A, 0), 'succeeded', 0)
    failing(breaker, 2, 0)
    expect(breaker.admit(A, 0)).toEqual({ state: 'closed' })
    failing(breaker, 1, 0)
    expect(breaker.admit(A, 400)).toEqual({ state: 'open', retryAfterMs: 600 })
    expect(breaker.open).toBe(1)
  })

  it('lets one probe through at a time, and closes when it gets a response', () => {
    const breaker = new CircuitBreaker(OPTIONS)
    failing(breaker, 3, 0)
    const probe = breaker.admit(A, 1_000)
    expect(probe.state).toBe('probe')
    expect(breaker.admit(A, 1_001).state).toBe('open')
    breaker.settle(A, probe, 'succeeded', 1_002)
    expect(breaker.admit(A, 1_003)).toEqual({ state: 'closed' })
    expect(breaker.open).toBe(0)
  })

  it('stays open twice as long after each failed probe, up to a bound', () => {
    const breaker = new CircuitBreaker(OPTIONS)
    failing(breaker, 3, 0)
    let nowMs = 1_000
    for (const lastedMs of [2_000, 4_000, 4_000]) {
      const probe = breaker.admit(A, nowMs)
      expect(probe.state).toBe('probe')
      breaker.settle(A, probe, 'failed', nowMs)
      expect(breaker.admit(A, nowMs + lastedMs - 1).state).toBe('open')
      nowMs += lastedMs
    }
  })

  it('is probed again in time when a probe is sent before the return of its server and fails after it', () => {
    const breaker = new CircuitBreaker(OPTIONS)
    failing(breaker, 3, 0)
    const probe = breaker.admit(A, 1_000)
    breaker.settle(A, probe, 'failed', 1_900)
    expect(breaker.admit(A, 2_999).state).toBe('open')
    expect(breaker.admit(A, 3_000).state).toBe('probe')
  })

  it('lets the next one probe when a probe found nothing out', () => {
    const breaker = new CircuitBreaker(OPTIONS)
    failing(breaker, 3, 0)
    breaker.settle(A, breaker.admit(A, 1_000), 'neutral', 1_000)
    expect(breaker.admit(A, 1_000).state).toBe('probe')
  })

  it('does not stay open longer because of calls that were in flight when it opened', () => {
    const breaker = new CircuitBreaker(OPTIONS)
    const late = breaker.admit(A, 0)
    failing(breaker, 3, 0)
    breaker.settle(A, late, 'failed', 900)
    expect(breaker.admit(A, 1_000).state).toBe('probe')
  })

  it('is of one upstream alone, and only so many are cached', () => {
    const breaker = new CircuitBreaker(OPTIONS)
    for (const origin of ['http://b', 'http://c', A]) failing(breaker, 3, 0, origin)
    expect(['http://b', 'http://c', A].map(origin => breaker.admit(origin, 0).state)).toEqual([
      'closed',
      'open',
      'open',
    ])
  })
})

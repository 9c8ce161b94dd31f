/** The choice among addresses: exact by weight, none that is unavailable, another one for a retry, and the wait when none is left. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CircuitBreaker } from '../../../../src/base/async/circuit-breaker.ts'
import { Balancer, healthKey } from '../../../../src/net/egress/balancer.ts'

function taken(balancer: Balancer, calls: number, avoided?: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let at = 0; at < calls; at++) {
    const place = balancer.take(0, avoided)
    const name = 'url' in place ? place.url : 'none'
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

it('each address gets its part exactly, over one round of all weights', () => {
  const weights = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 16 })
  fc.assert(
    fc.property(weights, all => {
      const addresses = all.map((weight, at) => ({ url: `http://${at}`, weight }))
      const balancer = new Balancer('k', addresses, new CircuitBreaker(), new Set<string>())
      const total = all.reduce((sum, weight) => sum + weight, 0)
      const counts = taken(balancer, total)
      expect(addresses.map(({ url }) => counts[url])).toEqual(all)
    }),
  )
})

it('unhealthy addresses and open circuits are left out, and the rest keeps its proportions', () => {
  const addresses = ['http://a', 'http://b', 'http://c', 'http://d'].map((url, at) => ({
    url,
    weight: at + 1,
  }))
  const breaker = new CircuitBreaker({ opensAfter: 1, openMs: 500, maxOpenMs: 500, maxCircuits: 16 })
  const unhealthy = new Set([healthKey('k', 'http://a')])
  const balancer = new Balancer('k', addresses, breaker, unhealthy)
  breaker.settle('http://b', { state: 'closed' }, 'failed', 0)
  const counts = taken(balancer, 700)
  expect(Object.keys(counts).sort()).toEqual(['http://c', 'http://d'])
  expect(Math.abs(counts['http://c']! - 300)).toBeLessThanOrEqual(50)
})

it('the address of the attempt before is used again only when no other is left', () => {
  const addresses = [
    { url: 'http://a', weight: 100 },
    { url: 'http://b', weight: 1 },
  ]
  const unhealthy = new Set<string>()
  const balancer = new Balancer('k', addresses, new CircuitBreaker(), unhealthy)
  expect(taken(balancer, 10, 'http://a')).toEqual({ 'http://b': 10 })
  unhealthy.add(healthKey('k', 'http://b'))
  expect(taken(balancer, 10, 'http://a')).toEqual({ 'http://a': 10 })
  unhealthy.add(healthKey('k', 'http://a'))
  expect(balancer.take(0)).toEqual({ retryAfterMs: undefined })
})

it('the time until the first circuit lets a call through is returned', () => {
  const breaker = new CircuitBreaker({ opensAfter: 1, openMs: 500, maxOpenMs: 500, maxCircuits: 16 })
  const addresses = ['http://a', 'http://b'].map(url => ({ url, weight: 1 }))
  const balancer = new Balancer('k', addresses, breaker, new Set<string>())
  breaker.settle('http://a', { state: 'closed' }, 'failed', 0)
  breaker.settle('http://b', { state: 'closed' }, 'failed', 100)
  expect(balancer.take(200)).toEqual({ retryAfterMs: 300 })
  expect(balancer.take(550)).toMatchObject({ url: 'http://a', admission: { state: 'probe' } })
})

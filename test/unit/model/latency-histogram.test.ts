/** Histograms of latencies: buckets and quantiles are within 1.6 % of the values; buckets ascend and are bounded in number. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketOf, middleOf, quantile } from '../../../src/model/latency-histogram.ts'

const latency = fc.integer({ min: 0, max: 2 ** 40 - 1 })

function histogram(values: readonly number[]) {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(bucketOf(value), (counts.get(bucketOf(value)) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => a - b).map(([bucket, requests]) => ({ bucket, requests }))
}

describe('buckets', () => {
  it('stand for their values to within 1.6 %, in ascending order', () => {
    fc.assert(
      fc.property(latency, latency, (a, b) => {
        expect(Math.abs(middleOf(bucketOf(a)) - a)).toBeLessThanOrEqual(0.016 * a)
        if (a <= b) expect(bucketOf(a)).toBeLessThanOrEqual(bucketOf(b))
      }),
      { numRuns: 2000 },
    )
  })

  it('are few, also for what is out of every range', () => {
    expect([bucketOf(-5), bucketOf(2 ** 40 - 1), bucketOf(Number.MAX_SAFE_INTEGER)]).toEqual([0, 1151, 1151])
  })
})

describe('quantiles', () => {
  it('are within 1.6 % of those of the values themselves', () => {
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.95, 0.99, 1),
        (values, share) => {
          const sorted = [...values].sort((a, b) => a - b)
          const exact = sorted[Math.max(0, Math.ceil(share * values.length) - 1)]!
          expect(Math.abs(quantile(histogram(values), share)! - exact)).toBeLessThanOrEqual(0.016 * exact)
        },
      ),
    )
  })

  it('of no calls are unknown', () => {
    expect(quantile([], 0.5)).toBeUndefined()
  })
})

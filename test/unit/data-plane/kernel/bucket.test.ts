/** Token buckets by cases and against plain arithmetic. Each holds for the kernel and for its twin. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../fixtures/check.ts'
import { bothEngines, engineOf, NOW_MS } from './engines.ts'

const NEVER = -(2 ** 31 - 1)
const MINUTE_MS = 60_000

describe.each(bothEngines().map(kernel => [engineOf(kernel), kernel] as const))('%s', (_, kernel) => {
  test('starts full, empties, and gives one token back per interval', () => {
    kernel.setBucketRate(0, { tokens: 60, periodMs: MINUTE_MS, burst: 3 })
    expect(kernel.tokensLeft(0, NOW_MS)).toBe(3)
    expect([1, 2, 3, 4].map(() => kernel.takeTokens(0, 1, NOW_MS))).toEqual([0, 0, 0, -1000])
    expect(kernel.takeTokens(0, 1, NOW_MS + 999)).toBe(-1)
    expect(kernel.takeTokens(0, 1, NOW_MS + 1000)).toBe(0)
    expect(kernel.takeTokens(0, 1, NOW_MS + 1000)).toBe(-1000)
    expect(kernel.tokensLeft(0, NOW_MS + 10_000)).toBe(3)
  })

  test('takes all or none', () => {
    kernel.setBucketRate(1, { tokens: 1, periodMs: 10, burst: 5 })
    expect(kernel.takeTokens(1, 4, NOW_MS)).toBe(0)
    expect(kernel.takeTokens(1, 2, NOW_MS)).toBe(-10)
    expect(kernel.tokensLeft(1, NOW_MS)).toBe(1)
    expect(kernel.takeTokens(1, 1, NOW_MS)).toBe(0)
    expect(kernel.takeTokens(1, 6, NOW_MS + MINUTE_MS)).toBe(NEVER)
  })

  test('a slot without a rate, and one that does not exist, refuse everything', () => {
    expect([kernel.takeTokens(15, 1, NOW_MS), kernel.tokensLeft(15, NOW_MS)]).toEqual([NEVER, 0])
    for (const slot of [16, 2 ** 31, -1])
      expect([kernel.takeTokens(slot, 1, NOW_MS), kernel.tokensLeft(slot, NOW_MS)]).toEqual([NEVER, 0])
  })

  test('a clock that goes back gives nothing twice', () => {
    kernel.setBucketRate(2, { tokens: 1, periodMs: 1000, burst: 1 })
    expect(kernel.takeTokens(2, 1, NOW_MS)).toBe(0)
    expect(kernel.takeTokens(2, 1, NOW_MS - 5000)).toBe(-6000)
    expect(kernel.takeTokens(2, 1, NOW_MS + 999)).toBe(-1)
  })

  test('a new rate neither refills nor empties; a new owner gets a full bucket', () => {
    kernel.setBucketRate(3, { tokens: 1, periodMs: 1000, burst: 10 })
    for (let i = 0; i < 10; i++) expect(kernel.takeTokens(3, 1, NOW_MS)).toBe(0)
    kernel.setBucketRate(3, { tokens: 1, periodMs: 1000, burst: 10 })
    expect(kernel.takeTokens(3, 1, NOW_MS)).toBe(-1000)
    kernel.setBucketRate(3, { tokens: 2, periodMs: 1000, burst: 20 })
    expect(kernel.takeTokens(3, 1, NOW_MS)).toBe(-500)
    kernel.fillBucket(3)
    expect(kernel.tokensLeft(3, NOW_MS)).toBe(20)
  })

  test('a rate that divides badly is never exceeded, and missed by less than a millisecond in a million tokens', () => {
    kernel.setBucketRate(4, { tokens: 7, periodMs: 1000, burst: 1 })
    let granted = 0
    for (let ms = 0; ms < 1_000_000; ms++) if (kernel.takeTokens(4, 1, NOW_MS + ms) === 0) granted++
    expect(granted).toBeLessThanOrEqual(7001)
    expect(granted).toBeGreaterThanOrEqual(6900)
    kernel.setBucketRate(5, { tokens: 7, periodMs: 1000, burst: 1_000_000 })
    expect(kernel.takeTokens(5, 1_000_000, NOW_MS)).toBe(0)
    const exactMs = (1_000_000 * 1000) / 7
    expect(kernel.takeTokens(5, 1_000_000, NOW_MS)).toBe(-Math.ceil(exactMs))
  })

  test.each([
    [{ tokens: 0, periodMs: 1, burst: 1 }, /tokens is 0/],
    [{ tokens: 1, periodMs: 0.5, burst: 1 }, /periodMs is 0.5/],
    [{ tokens: 1, periodMs: 1, burst: Number.NaN }, /burst is NaN/],
    [{ tokens: 1, periodMs: 2 ** 31 - 1, burst: 2 ** 31 - 1 }, /need more than 36 years/],
  ])('a rate of %j is refused', (rate, reason) => {
    expect(() => kernel.setBucketRate(6, rate)).toThrow(reason)
    expect(() => kernel.setBucketRate(99, { tokens: 1, periodMs: 1, burst: 1 })).toThrow(
      /slot 99 does not exist; the kernel has 16 slots/,
    )
    expect(() => kernel.fillBucket(-1)).toThrow(/slot -1/)
  })
})

const rate = fc.record({
  tokens: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_000_000 })),
  periodMs: fc.constantFrom(1, 7, 1000, 60_000, 86_400_000),
  burst: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 10_000 })),
})
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      take: fc.integer({ min: 1, max: 5 }),
      afterMs: fc.constantFrom(0, 0, 0, 1, 3, 500, 20_000, -40),
    }),
  },
  { weight: 1, arbitrary: fc.record({ rate }) },
  { weight: 1, arbitrary: fc.constant({ fill: true as const }) },
)

const SEQUENCES = sized(30_000, 100_000)

test(`${SEQUENCES} sequences: the kernel and its twin return the same results`, () => {
  const [kernel, twin] = bothEngines()
  let granted = 0
  let refused = 0
  fc.assert(
    fc.property(rate, fc.array(step, { minLength: 1, maxLength: 8 }), (first, steps) => {
      let nowMs = NOW_MS
      for (const one of [kernel, twin]) {
        one.fillBucket(0)
        one.setBucketRate(0, first)
      }
      for (const step of steps) {
        if ('take' in step) {
          nowMs += step.afterMs
          const [mine, its] = [kernel, twin].map(one => [
            one.takeTokens(0, step.take, nowMs),
            one.tokensLeft(0, nowMs),
          ])
          if (mine!.join() !== its!.join()) expect(mine).toEqual(its)
          if (mine![0] === 0) granted++
          else refused++
        } else if ('rate' in step) for (const one of [kernel, twin]) one.setBucketRate(0, step.rate)
        else for (const one of [kernel, twin]) one.fillBucket(0)
      }
    }),
    { numRuns: SEQUENCES },
  )
  expect(Math.min(granted, refused)).toBeGreaterThan(SEQUENCES / 2)
})

test('no stretch of time, wherever it begins, admits more than the burst and what came back in it', () => {
  const [kernel, twin] = bothEngines()
  const calls = fc.array(fc.record({ take: fc.integer({ min: 1, max: 3 }), afterMs: fc.nat(50) }), {
    minLength: 5,
    maxLength: 60,
    size: 'max',
  })
  fc.assert(
    fc.property(rate, calls, (limit, calls) => {
      for (const one of [kernel, twin]) {
        one.fillBucket(1)
        one.setBucketRate(1, limit)
        let nowMs = NOW_MS
        const grants: { atMs: number; tokens: number }[] = []
        for (const { take, afterMs } of calls) {
          nowMs += afterMs
          if (one.takeTokens(1, take, nowMs) === 0) grants.push({ atMs: nowMs, tokens: take })
        }
        for (let from = 0; from < grants.length; from++) {
          let sum = 0
          for (let to = from; to < grants.length; to++) {
            sum += grants[to]!.tokens
            // In integers: sum ≤ burst + tokens × elapsed / period.
            const elapsedMs = grants[to]!.atMs - grants[from]!.atMs
            expect((sum - limit.burst) * limit.periodMs).toBeLessThanOrEqual(limit.tokens * elapsedMs)
          }
        }
      }
    }),
    { numRuns: 300 },
  )
})

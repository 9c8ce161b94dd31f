/** Welch's test against figures of R and of a published example, and what a comparison may say. */
import { describe, expect, it } from 'vitest'
import { compared } from '../../../bench/compare/verdict.ts'
import { welch } from '../../../bench/compare/welch.ts'

describe('the test', () => {
  it('agrees with t.test(extra ~ group, data = sleep) of R', () => {
    const first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2]
    const second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    const { t, degrees, p, difference, low, high } = welch(first, second)
    expect(t).toBeCloseTo(1.8608, 4)
    expect(degrees).toBeCloseTo(17.776, 3)
    expect(p).toBeCloseTo(0.07939, 5)
    expect(difference).toBeCloseTo(1.58, 10)
    expect(low).toBeCloseTo(-0.2054832, 6)
    expect(high).toBeCloseTo(3.3654832, 6)
  })

  it('agrees with a published example of unequal counts and variances', () => {
    const first = [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8]
    const second = [
      21.5, 22.8, 21, 23, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5,
      21.5, 21.8,
    ]
    const { t, degrees, p } = welch(first, second)
    expect(t).toBeCloseTo(1.57, 2)
    expect(degrees).toBeCloseTo(9.9, 1)
    expect(p).toBeCloseTo(0.149, 3)
  })

  it('is certain where nothing varies, and refuses a single sample', () => {
    expect(welch([1, 1], [1, 1])).toMatchObject({ difference: 0, p: 1 })
    expect(welch([1, 1], [2, 2])).toMatchObject({ low: 1, high: 1, p: 0 })
    expect(() => welch([1], [1, 2])).toThrow(RangeError)
  })
})

describe('a comparison', () => {
  const time = { id: 'a/b', unit: 'ns', better: 'lower' } as const
  const before = [100, 101, 99, 100.5, 99.5]
  const scaled = (by: number): number[] => before.map(sample => sample * by)

  it.each([
    ['a loss over the threshold', 1.1, 'slower', true],
    ['a loss below it', 1.03, 'slower', false],
    ['a gain', 0.9, 'faster', false],
    ['what lies within the noise', 1.002, 'no claim', false],
  ] as const)('names %s', (_, by, claim, regression) => {
    const result = compared({ ...time, before, after: scaled(by) }, 0.05)
    expect(result).toMatchObject({ claim, regression })
    expect(result.ratio).toBeCloseTo(by, 10)
    expect(result.low).toBeLessThan(by)
    expect(result.high).toBeGreaterThan(by)
  })

  it('claims nothing of a large difference that the samples do not bear', () => {
    const result = compared({ ...time, before: [100, 180, 90], after: [130, 200, 110] }, 0.05)
    expect(result.ratio).toBeGreaterThan(1.15)
    expect(result).toMatchObject({ claim: 'no claim', regression: false })
  })

  it('knows that more can be better', () => {
    const rate = { id: 'a/b', unit: 'calls/s', better: 'higher', before } as const
    expect(compared({ ...rate, after: scaled(0.9) }, 0.05)).toMatchObject({
      claim: 'slower',
      regression: true,
    })
    expect(compared({ ...rate, after: scaled(1.1) }, 0.05)).toMatchObject({
      claim: 'faster',
      regression: false,
    })
  })
})

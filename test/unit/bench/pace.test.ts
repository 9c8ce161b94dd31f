/** Which looks at the pace of the processors count as slow, and from which share on a run makes no claim. */
import { expect, it } from 'vitest'
import { Pace, slowText } from '../../../bench/pace.ts'

function shareAt(...times: readonly number[]): number | undefined {
  const left = [...times]
  const pace = new Pace(() => left.shift()!)
  for (const _ of times) pace.look()
  return pace.slowShare()
}

it('counts the looks that took long beside the fastest', () => {
  expect(shareAt(1, 1.1, 1.2, 1.3)).toBeUndefined()
  expect(shareAt(1, 1.1, 1.2, 1.3, 1.59)).toBe(0)
  expect(shareAt(2, 2, 2, 2, 2)).toBe(0)
  expect(shareAt(2, 1, 2, 1, 1)).toBe(0.4)
})

it('names the share, and only where it is too large', () => {
  expect(slowText(undefined)).toBeUndefined()
  expect(slowText(0.25)).toBeUndefined()
  expect(slowText(0.4)).toContain('at 40 % of the looks')
})

it('times real work', () => {
  const pace = new Pace()
  for (let look = 0; look < 5; look++) pace.look()
  expect(pace.slowShare()).toBeGreaterThanOrEqual(0)
  expect(pace.slowShare()).toBeLessThan(1)
})

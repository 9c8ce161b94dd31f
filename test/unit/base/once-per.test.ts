/** Tests of values made once for each object or key. */
import { expect, it } from 'vitest'
import { getOrSet, oncePer } from '../../../src/base/once-per.ts'

it('makes the value of an object once, and one for each object', () => {
  let made = 0
  const numberOf = oncePer((_: object) => ++made)
  const [first, second] = [{}, {}]
  expect([numberOf(first), numberOf(second), numberOf(first)]).toEqual([1, 2, 1])
})

it('keeps no value when making it fails', () => {
  let attempts = 0
  const stateOf = oncePer((_: object) => {
    if (++attempts === 1) throw new Error('not yet')
    return 'ready'
  })
  const key = {}
  expect(() => stateOf(key)).toThrow('not yet')
  expect(stateOf(key)).toBe('ready')
})

it('stores the made value under the key, and returns stored ones, also those that are false in a condition', () => {
  const map = new Map([['zero', 0]])
  expect(getOrSet(map, 'zero', () => 1)).toBe(0)
  expect(getOrSet(map, 'one', key => key.length)).toBe(3)
  expect(map.get('one')).toBe(3)
})

/** The distance between names: which edits count, and the limit. */
import { expect, it } from 'vitest'
import { editDistance } from '../../../src/base/edit-distance.ts'

it.each([
  ['', '', 0],
  ['', 'ab', 2],
  ['getOrder', 'getOrder', 0],
  ['getOrdr', 'getOrder', 1],
  ['getXOrder', 'getOrder', 1],
  ['getOrdar', 'getOrder', 1],
  ['getOrdre', 'getOrder', 1],
  ['kitten', 'sitting', 3],
  // the text between swapped letters is not edited (optimal string alignment)
  ['ca', 'abc', 3],
])('from %j to %j', (from, to, edits) => {
  expect([editDistance(from, to, 9), editDistance(to, from, 9)]).toEqual([edits, edits])
})

it('is the limit at most', () => {
  for (let limit = 0; limit <= 8; limit++)
    expect(editDistance('listProducts', 'placeOrder', limit)).toBe(limit)
  expect(editDistance('kitten', 'sitting', 3)).toBe(3)
  expect(editDistance('kitten', 'sitting', 2)).toBe(2)
})

/** Plain JSON: what is written is what `JSON.stringify` writes; what is not plain is left to it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ExactNumber } from '../../../../src/base/json/exact-number.ts'
import { plainJson } from '../../../../src/base/json/plain-json.ts'

it('writes an object of plain members as JSON.stringify does', () => {
  const value = {
    name: 'getProduct',
    arguments: { productId: 'P-1', count: 2.5, deep: { isNew: true, no: null } },
  }
  expect(plainJson(value)).toBe(JSON.stringify(value))
  expect(plainJson({})).toBe('{}')
  expect(plainJson({ zero: -0, large: 1e21, small: 1e-7 })).toBe('{"zero":0,"large":1e+21,"small":1e-7}')
})

it('writes nothing else than JSON.stringify, whatever the object', () => {
  let written = 0
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), value => {
      // the generated object may have no prototype
      const object = JSON.parse(JSON.stringify(value))
      const json = plainJson(object)
      if (json === undefined) return
      written++
      expect(json).toBe(JSON.stringify(object))
    }),
    { numRuns: 3_000 },
  )
  expect(written).toBeGreaterThan(100)
})

it.each([
  ['an array', { list: [] }],
  ['a text with an escape', { text: 'a"b' }],
  ['a text beyond ASCII', { text: 'é' }],
  ['a name with an escape', { 'a\\': 1 }],
  ['a long text', { text: 'x'.repeat(65) }],
  ['a member without value', { none: undefined }],
  ['a number that JSON does not have', { number: Number.NaN }],
  ['a number that a double would change', { number: new ExactNumber('12345678901234567890') }],
  ['an object that writes itself', { date: new Date(0) }],
  ['an object deeper than 4 levels', { a: { a: { a: { a: {} } } } }],
])('leaves %s to JSON.stringify', (_, value) => {
  expect(plainJson(value)).toBeUndefined()
})

it('does not take a member for the prototype of its name', () => {
  const text = '{"__proto__":{"toJSON":"x"},"constructor":1}'
  expect(plainJson(JSON.parse(text))).toBe(text)
})

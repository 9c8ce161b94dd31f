/** Percent-encoding: many texts at once as one by one, whatever they hold. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { encode, encodeEach } from '../../../../src/data-plane/tool-request/encode.ts'

it('of several texts is that of each', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '\n', '%0A', 'a\nb', '\ud800', "!'()*", '{}'),
  )
  fc.assert(
    fc.property(fc.array(text), texts => {
      expect(encodeEach(texts)).toEqual(texts.map(encode))
    }),
  )
})

it('leaves unreserved characters alone, and replaces a lone surrogate', () => {
  expect(encode('aZ09._~-')).toBe('aZ09._~-')
  expect(encode("a b&c=d'\ud800")).toBe('a%20b%26c%3Dd%27%EF%BF%BD')
})

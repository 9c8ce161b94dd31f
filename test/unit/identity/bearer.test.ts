/** Which `Authorization` headers carry a bearer token. */
import { expect, it } from 'vitest'
import { bearerToken } from '../../../src/identity/bearer.ts'

it.each([
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  ['BEARER   abc ', 'abc'],
  ['Bearer a b', 'a b'],
  ['Bearer ', undefined],
  ['Bearer    ', undefined],
  ['Bearer', undefined],
  ['Bearerabc', undefined],
  ['Basic abc', undefined],
  ['', undefined],
])('reads %j as %j', (header, token) => {
  expect(bearerToken(header)).toBe(token)
})

/** Each pattern of a schema is checked by itself: the validator must not take one for another. */
import { expect, it } from 'vitest'
import { compileValidator } from '../../../../src/base/json-schema/validate.ts'

it('checks every pattern of a schema with its own expression', () => {
  const validate = compileValidator({
    type: 'object',
    properties: {
      id: { type: 'string', pattern: '^K-[0-9]+$' },
      address: { type: 'object', properties: { country: { type: 'string', pattern: '^[A-Z]{2}$' } } },
    },
  })
  expect(validate({ id: 'K-1', address: { country: 'DE' } })).toEqual([])
  expect(validate({ id: 'DE', address: { country: 'K-1' } }).map(fault => fault.path)).toEqual([
    '/id',
    '/address/country',
  ])
})

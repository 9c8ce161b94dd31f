/** Faults of arguments stay short, whatever the caller or the document repeats in them. */
import { expect, it } from 'vitest'
import { compileValidator } from '../../../../src/base/json-schema/validate.ts'

it('a name of a megabyte is shortened in the path of a fault', () => {
  const validate = compileValidator({
    type: 'object',
    additionalProperties: { type: 'object', required: ['a'], properties: { c: { type: 'integer' } } },
  })
  const name = 'n'.repeat(1_000_000)
  const faults = validate({ [name]: { c: 'x' } })
  expect(faults.map(({ message }) => message)).toEqual(['is required', 'must be integer'])
  for (const { path } of faults) expect([path.slice(0, 6), path.length]).toEqual(['/nnnnn', 257])
})

it('a constant of a document is shortened in the message', () => {
  const validate = compileValidator({ type: 'object', properties: { a: { const: 'c'.repeat(100_000) } } })
  const [fault] = validate({ a: 'b' })
  expect([fault!.path, fault!.message.length]).toEqual(['/a', 1_001])
})

it('short ones stay as they are', () => {
  const validate = compileValidator({ type: 'object', properties: { a: { const: 1 } } })
  expect(validate({ a: 2 })).toEqual([{ path: '/a', message: 'must be 1' }])
})

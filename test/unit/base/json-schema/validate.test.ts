/** Argument validators: faults by JSON Pointer, and bounded work and output for hostile schemas and arguments. */
import { describe, expect, it } from 'vitest'
import { compileValidator } from '../../../../src/base/json-schema/validate.ts'
import { growth } from '../../../fixtures/cpu-time.ts'

describe('a validator', () => {
  const validate = compileValidator({
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 1 },
      kind: { enum: ['a', 'b'] },
      when: { type: 'string', format: 'date-time' },
      tree: { $ref: '#/$defs/Tree' },
    },
    required: ['count'],
    additionalProperties: false,
    $defs: {
      Tree: { type: 'object', properties: { left: { $ref: '#/$defs/Tree' }, 'a/b': { type: 'string' } } },
    },
  })

  it('finds nothing wrong with arguments that fit', () => {
    expect(
      validate({ count: 1, kind: 'a', when: '2026-11-21T00:00:00Z', tree: { left: { left: {} } } }),
    ).toEqual([])
  })

  it('names each failing path as a JSON Pointer', () => {
    expect(validate({ kind: 'c', extra: 1, when: 'soon', tree: { left: { 'a/b': 2 } } })).toEqual([
      { path: '/count', message: 'is required' },
      { path: '/extra', message: 'is not defined in the schema' },
      { path: '/kind', message: 'must be one of "a", "b"' },
      { path: '/when', message: 'must match format "date-time"' },
      { path: '/tree/left/a~1b', message: 'must be string' },
    ])
  })

  it('does not turn text into numbers', () => {
    expect(validate({ count: '1' })).toEqual([{ path: '/count', message: 'must be integer' }])
  })

  it.each([[undefined], [null], [7], ['text'], [[]]])('refuses %j without throwing', args => {
    expect(validate(args)).toHaveLength(1)
  })
})

describe('hostile input', () => {
  it('a pattern with exponential backtracking takes time that grows with the text alone', () => {
    const validate = compileValidator({ type: 'string', pattern: '^(a|a)*$|^(a+)+$' })
    const check = (chars: number) => expect(validate(`${'a'.repeat(chars)}!`)).toHaveLength(1)
    expect(growth(check, 6_250, 50_000, 24)).toBeLessThan(24)
  })

  it('a schema that cannot be compiled refuses every call', () => {
    const validate = compileValidator({ type: 'object', properties: { a: { $ref: '#/$defs/gone' } } })
    expect(validate({})[0]?.message).toContain('cannot be checked')
  })

  it('a schema that asks for a validator with promises is checked as any other', () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } } }
    expect(compileValidator({ $async: true, ...schema })({ a: 'x' })).toEqual([
      { path: '/a', message: 'must be number' },
    ])
    const inner = { type: 'object', properties: { a: { $async: true, type: 'number' } } }
    expect(compileValidator(inner)({ a: 1 })).toEqual([
      { path: '', message: expect.stringContaining('cannot be checked') },
    ])
  })

  it('arguments nested without end are refused', () => {
    let args: unknown = {}
    for (let i = 0; i < 100_000; i++) args = { a: args }
    expect(compileValidator({ type: 'object' })(args)).toEqual([
      { path: '', message: 'must not be nested deeper than 200 levels' },
    ])
  })

  it('a hundred thousand faults become one, and a thousand become twenty', () => {
    const validate = compileValidator({ type: 'array', items: { type: 'integer' } })
    expect(validate(Array.from({ length: 100_000 }, () => 'x'))).toHaveLength(1)
    expect(validate(Array.from({ length: 1_000 }, () => 'x'))).toHaveLength(20)
  })

  it('the arguments are never changed', () => {
    const args = Object.freeze({ a: '1' })
    compileValidator({ type: 'object', properties: { a: { type: 'integer' }, b: { default: 2 } } })(args)
    expect(args).toEqual({ a: '1' })
  })
})

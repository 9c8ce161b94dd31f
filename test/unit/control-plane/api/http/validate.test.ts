/** Validation, entity tags and field schemas: what is said about a bad value, and where. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkIfMatch } from '../../../../../src/control-plane/api/http/entity-tag.ts'
import { Problem } from '../../../../../src/control-plane/api/http/problem.ts'
import { validateInput } from '../../../../../src/control-plane/api/http/validate.ts'
import { pageQuery } from '../../../../../src/control-plane/api/schemas/fields.ts'
import { httpUrl, life, moment, textField } from '../../../../../src/model/schema/fields.ts'
import { z } from '../../../../../src/model/schema/zod.ts'

const schema = z.strictObject({
  name: textField(5),
  nested: z.strictObject({ list: z.array(z.int('must be an integer.')) }).optional(),
})

describe('validation', () => {
  it('names each bad field with its path, once', () => {
    const result = validateInput(
      schema,
      { name: 'too long', nested: { list: [1, 'x', 2.5] }, id: 1, '': 2 },
      'body',
      ['id'],
    )
    expect(result).toEqual({
      ok: false,
      faults: [
        { field: 'name', message: 'must have at most 5 characters.' },
        { field: 'nested.list[1]', message: 'must be an integer.' },
        { field: 'nested.list[2]', message: 'must be an integer.' },
        { field: 'id', message: 'is read-only.' },
        { field: 'body', message: 'is not a known field.' },
      ],
    })
  })

  it('reports a missing field as required, and a value that is not an object', () => {
    expect(validateInput(schema, {}, 'body')).toEqual({
      ok: false,
      faults: [{ field: 'name', message: 'is required.' }],
    })
    const result = validateInput(schema, [], 'body')
    expect(!result.ok && result.faults[0]?.field).toBe('body')
  })

  it('limits the length of the response to thousands of faults', () => {
    const junk = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`.repeat(200), 1]))
    const result = validateInput(schema, { name: 'x', ...junk }, 'body')
    expect(JSON.stringify(result).length).toBeLessThan(1_000_000)
    const list = validateInput(schema, { name: 'x', nested: { list: Array(5_000).fill('x') } }, 'body')
    expect(!list.ok && list.faults.length).toBe(50)
  })

  it('never throws on any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(validateInput(schema, value, 'body')).toHaveProperty('ok')
      }),
      { numRuns: 500 },
    )
  })
})

describe('fields', () => {
  const ok = (type: z.ZodType, value: unknown) => type.safeParse(value).success

  it.each([
    ['http://a', true],
    ['https://a.example:8443/x?y=z', true],
    ['http://[::1]:80/', true],
    ['ftp://a', false],
    ['http://user:pass@a/', false],
    ['http://a/#fragment', false],
    ['http://', false],
    ['//a', false],
    ['http://a b', false],
    ['http://a\n', false],
    ['javascript:alert(1)', false],
  ])('the address %j is accepted: %s', (value, accepted) => {
    expect(ok(httpUrl(), value)).toBe(accepted)
  })

  it.each([
    ['1s', 1],
    ['1m10s', 70],
    ['24h', 86_400],
    ['2d', 172_800],
    ['0s', undefined],
    ['9999999999999999d', undefined],
    ['', undefined],
    ['1', undefined],
    ['-1h', undefined],
  ])('the duration %j is %s seconds', (value, seconds) => {
    expect(life().safeParse(value).data).toBe(seconds)
  })

  it('takes moments with an offset, and days that exist', () => {
    expect(ok(moment(), '2026-02-28T12:00:00+02:00')).toBe(true)
    for (const bad of ['2026-02-30T12:00:00Z', '2026-02-28T12:00:00', '2026-02-28', 'now', ''])
      expect(ok(moment(), bad)).toBe(false)
  })

  it('takes page numbers in digits only and within bounds', () => {
    expect(pageQuery.limit.parse(undefined)).toBe(20)
    expect(pageQuery.limit.parse('100')).toBe(100)
    for (const bad of ['0', '101', '+1', '1e1', ' 1', '١', '0x10'])
      expect(ok(pageQuery.limit, bad)).toBe(false)
  })
})

describe('If-Match', () => {
  it.each(['', '*', '"7"', '"1", "7"', ' "7" '])('%j matches revision 7', header => {
    expect(() => checkIfMatch(header, 7)).not.toThrow()
  })
  it.each(['"6"', 'W/"7"', '7', '"77"'])('%j does not', header => {
    expect(() => checkIfMatch(header, 7)).toThrow(Problem)
  })
})

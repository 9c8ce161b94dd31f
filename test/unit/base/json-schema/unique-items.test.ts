/** `uniqueItems`: the verdict of Ajv's own keyword, corrected for names that it misjudges, in time linear in the size of the data. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileValidator } from '../../../../src/base/json-schema/validate.ts'

const UNIQUE = { type: 'array', uniqueItems: true }
const validate = compileValidator(UNIQUE)
const oracle = new Ajv2020({ strict: false }).compile(UNIQUE)

/** Ajv's own keyword compares objects with these own keys wrongly; cases below name them. */
const MISJUDGED = new Set(['constructor', 'valueOf', 'toString', '__proto__'])
const key = fc
  .oneof(fc.constantFrom('a', 'b', '', '1', '10', '"', '{"a":1}', '\ud800', 'é', 'e\u0301'), fc.string())
  .filter(name => !MISJUDGED.has(name))
const number = fc.constantFrom(
  0,
  -0,
  1,
  -1,
  1.5,
  1e21,
  1e300,
  Number.MIN_VALUE,
  2 ** 53,
  Number.POSITIVE_INFINITY,
)
const text = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    'n1',
    'null',
    'true',
    '[]',
    '{}',
    '[1]',
    '{"a":1}',
    '"1"',
    '\ud800',
    '\udfff',
    '__proto__',
  ),
  fc.string({ unit: 'binary' }),
)
const primitive = fc.oneof(number, text, fc.boolean(), fc.constant(null))
const value = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    primitive,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value

/** The same value with the keys of its objects in the opposite order. */
function reordered(of: unknown): unknown {
  if (Array.isArray(of)) return of.map(reordered)
  if (of === null || typeof of !== 'object') return of
  return Object.fromEntries(
    Object.entries(of)
      .reverse()
      .map(([name, part]) => [name, reordered(part)]),
  )
}

/** Items of which some repeat others, with their keys in another order. */
const items = fc
  .tuple(fc.array(value, { maxLength: 6 }), fc.array(fc.nat(5), { maxLength: 2 }), fc.boolean())
  .map(([own, repeated, first]) => {
    const copies = repeated.flatMap(at => (at < own.length ? [reordered(own[at])] : []))
    return first ? [...copies, ...own] : [...own, ...copies]
  })

describe('uniqueItems', () => {
  it('gives the verdict and the message of Ajv for generated arrays', () => {
    let duplicates = 0
    fc.assert(
      fc.property(items, list => {
        const expected = oracle(list) ? [] : oracle.errors!.map(({ message }) => ({ path: '', message }))
        if (expected.length > 0) duplicates++
        expect(validate(list)).toEqual(expected)
      }),
      { numRuns: 5_000 },
    )
    expect(duplicates).toBeGreaterThan(500)
  })

  it.each([
    ['[1, 1.0]', false],
    ['[1, 1e0]', false],
    ['[0, -0]', false],
    ['[1e400, null]', true],
    ['[1, true]', true],
    ['[0, false]', true],
    ['[0, "0", null, "null", "n0"]', true],
    ['[[1, 2], [2, 1]]', true],
    ['[[1, 2], [12], ["1,2"]]', true],
    ['[{"a": 1, "b": [{"c": 0, "d": 2}]}, {"b": [{"d": 2, "c": -0}], "a": 1.0}]', false],
    ['[{"a": {"b": 1}}, {"a": 1, "b": 1}]', true],
    ['["\\ud800", "\\ud800"]', false],
    ['["\\ud800", "\\ud801", "\\\\ud800"]', true],
    ['["é", "e\\u0301"]', true],
    ['["__proto__", "__proto__"]', false],
    ['[{"__proto__": 1}, {"__proto__": 1}]', false],
    ['[{"__proto__": 1}, {"__proto__": 2}, {}]', true],
    ['[{"constructor": {"a": 1}}, {"constructor": {"a": 1}}]', false],
    ['[{"valueOf": 1, "toString": 2}, {"toString": 2, "valueOf": 1}]', false],
    ['[{"valueOf": 1}, {"valueOf": 2}]', true],
  ])('judges %s: unique %s (JSON Schema 2020-12 §4.2.2)', (json, unique) => {
    expect(validate(JSON.parse(json)).length === 0).toBe(unique)
  })

  it('applies to strings of a typed list as well, and names the path and both positions', () => {
    const typed = compileValidator({
      type: 'object',
      properties: { tags: { type: 'array', items: { type: 'string' }, uniqueItems: true } },
    })
    expect(typed({ tags: ['__proto__', 'a', '__proto__'] })).toEqual([
      { path: '/tags', message: 'must NOT have duplicate items (items ## 0 and 2 are identical)' },
    ])
    expect(typed({ tags: ['a', 'b'] })).toEqual([])
  })

  it('is not asserted when it is false, nor of what is not an array', () => {
    expect(compileValidator({ uniqueItems: false })([1, 1])).toEqual([])
    expect(compileValidator({ uniqueItems: true })('aa')).toEqual([])
  })

  it('judges the same array again after it was changed', () => {
    const list: unknown[] = [{ a: 1 }, { a: 2 }]
    expect(validate(list)).toEqual([])
    list[1] = { a: 1 }
    expect(validate(list)).toHaveLength(1)
  })
})

describe('the cost of uniqueItems', () => {
  /** Milliseconds of processor time, the least of three. */
  function cost(run: () => void): number {
    const rounds = [0, 1, 2].map(() => {
      const before = process.cpuUsage()
      run()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    })
    return Math.min(...rounds)
  }

  const objects = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: `item ${id}` }))

  it('grows with the number of objects, not with its square', () => {
    validate(objects(1_000))
    const [few, many] = [objects(5_000), objects(20_000)]
    const costOfFew = cost(() => expect(validate(few)).toEqual([]))
    expect(cost(() => expect(validate(many)).toEqual([]))).toBeLessThan(8 * costOfFew + 50)
  })

  it('does not multiply with the depth of nested lists that all have the keyword', () => {
    const nested = compileValidator({
      $ref: '#/$defs/List',
      $defs: { List: { ...UNIQUE, items: { $ref: '#/$defs/List' } } },
    })
    const wrapped = (depth: number) => {
      let list: unknown = objects(5_000)
      for (let level = 1; level < depth; level++) list = [list]
      return list
    }
    nested(wrapped(2))
    const [shallow, deep] = [wrapped(2), wrapped(150)]
    const costOfShallow = cost(() => nested(shallow))
    expect(cost(() => nested(deep))).toBeLessThan(5 * costOfShallow + 50)
  })
})

/** The bound of the cost of a check: above the measured time of costly checks, exponential where schemas multiply, infinite for reference cycles. */
import { describe, expect, it } from 'vitest'
import { SchemaCost } from '../../../../src/base/json-schema/cost.ts'
import { compileValidator, measure } from '../../../../src/base/json-schema/validate.ts'
import { cpuUs, slowness } from '../../../fixtures/cpu-time.ts'

const list = (items: object) => ({ type: 'object', properties: { a: { type: 'array', items } } }) as const
const costOf = (schema: object, args: unknown) => new SchemaCost(schema as never).of(measure(args)!)
const branch = (i: number) => ({ type: 'object', properties: { a: { enum: [`v${i}`] } }, required: ['a'] })
const repeat = (value: unknown, times: number) => Array.from({ length: times }, () => value)

const COSTLY: readonly (readonly [name: string, schema: object, args: unknown])[] = [
  [
    'an enum of 100 objects',
    list({ enum: Array.from({ length: 100 }, (_, i) => ({ a: i, b: [i] })) }),
    { a: repeat({ a: 99, b: [99] }, 5_000) },
  ],
  [
    'oneOf with 50 branches',
    list({ oneOf: Array.from({ length: 50 }, (_, i) => branch(i)) }),
    { a: repeat({ a: 'v49' }, 5_000) },
  ],
  [
    'a pattern with a large repeat',
    list({ type: 'string', pattern: '(a{1,1000}){1,1}$' }),
    { a: ['a'.repeat(3_000)] },
  ],
  [
    'names that must match patterns',
    { patternProperties: { '(.*a){20}': {}, '(.*b){20}': {} } },
    { ['a'.repeat(5_000)]: 1 },
  ],
  [
    'contains and propertyNames',
    { contains: {}, propertyNames: { pattern: '(.*a){30}' } },
    { ['ab'.repeat(3_000)]: 1 },
  ],
  ['unique objects', list({ type: 'object' }), { a: Array.from({ length: 5_000 }, (_, i) => ({ i })) }],
  [
    'a pattern behind an escaped reference',
    {
      $defs: { 'a b/c~<d>': { type: 'string', pattern: '(a{1,300}){1,1}$' } },
      properties: { a: { $ref: '#/$defs/a%20b~1c%7E0%3cd>' } },
    },
    { a: 'a'.repeat(5_000) },
  ],
  [
    'a pattern in dependencies of older dialects',
    { dependencies: { a: { properties: { a: { pattern: '(a{1,300}){1,1}$' } } }, b: ['a'] } },
    { a: 'a'.repeat(5_000) },
  ],
  ['formats', list({ type: 'string', format: 'email' }), { a: repeat('a.b.c@d-e.example.com', 5_000) }],
]

/** On a machine that has much else to do, the same work takes twice the time for a while. */
const MAX_RUNS = 30

describe('the bound', () => {
  it.each(COSTLY)('is above the time of %s', (_, schema, args) => {
    const validate = compileValidator(schema as never)
    validate(args)
    const boundUs = costOf(schema, args) / 1_000
    let leastUs = Number.POSITIVE_INFINITY
    // of this machine against the one that the rates of the bound were measured on
    let slow = Number.POSITIVE_INFINITY
    // the least of several runs: other processes and the compiler of V8 only add to it
    for (let run = 0; run < MAX_RUNS && !(leastUs < boundUs * slow); run++) {
      leastUs = Math.min(
        leastUs,
        cpuUs(() => validate(args)),
      )
      slow = Math.min(slow, slowness())
    }
    expect(boundUs * slow).toBeGreaterThan(leastUs)
  })

  it('is low for what most calls send', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 10 }, (_, i) => [`p${i}`, { type: 'string', maxLength: 50 }]),
    )
    expect(costOf({ type: 'object', properties, required: ['p0'] }, { p0: 'a', p1: 'b' })).toBeLessThan(
      10_000,
    )
  })

  it('multiplies where a schema applies another to the same values twice, on each level', () => {
    const twice = {
      $defs: {
        n: {
          anyOf: [{ properties: { x: { $ref: '#/$defs/n' } } }, { properties: { x: { $ref: '#/$defs/n' } } }],
        },
      },
      $ref: '#/$defs/n',
    }
    const nested = (depth: number): object => (depth === 0 ? {} : { x: nested(depth - 1) })
    expect(costOf(twice, nested(30)) / costOf(twice, nested(10))).toBeGreaterThan(2 ** 20)
  })

  it('does not multiply for a tree', () => {
    const tree = { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } }
    const nested = (depth: number): object => (depth === 0 ? {} : { children: [nested(depth - 1)] })
    expect(costOf(tree, nested(30))).toBeLessThan(costOf(tree, nested(10)) * 4)
  })

  it('is infinite for more schemas of one value than are counted', () => {
    expect(costOf({ anyOf: Array.from({ length: 300_000 }, () => ({})) }, {})).toBe(Number.POSITIVE_INFINITY)
  })

  it('is infinite for a reference that leads back to itself without a step down', () => {
    expect(costOf({ $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }, {})).toBe(
      Number.POSITIVE_INFINITY,
    )
  })

  const slow = { pattern: '(a{1,300}){1,1}$' }
  const through = ($ref: string, $defs: object) => ({ $defs, properties: { a: { $ref } } })

  /** Ajv resolves most of them, some to `slow` where the text of the pointer leads elsewhere. */
  it.each<readonly [what: string, schema: object]>([
    ['an anchor', through('#p', { p: { $anchor: 'p', ...slow } })],
    ['a dynamic anchor', through('#p', { p: { $dynamicAnchor: 'p', ...slow } })],
    [
      '$dynamicRef',
      { $defs: { p: { $dynamicAnchor: 'p', ...slow } }, properties: { a: { $dynamicRef: '#p' } } },
    ],
    ['$recursiveRef', { ...slow, properties: { a: { $recursiveRef: '#' } } }],
    ['an id', through('https://a.example/p', { p: { $id: 'https://a.example/p', ...slow } })],
    [
      'a pointer below an inner id',
      {
        $defs: {
          p: {},
          q: { $id: 'https://a.example/q', $defs: { p: slow }, allOf: [{ $ref: '#/$defs/p' }] },
        },
        properties: { a: { $ref: '#/$defs/q' } },
      },
    ],
    ['a meta-schema', through('https://json-schema.org/draft/2020-12/schema', {})],
    ['the empty reference', { ...slow, properties: { a: { $ref: '' } } }],
    ['the root with a slash', { ...slow, '': {}, properties: { a: { $ref: '#/' } } }],
    ['a pointer with a fragment at its end', through('#/$defs/p#/', { p: slow, 'p#': { '': {} } })],
    ['an escaped slash', through('#/$defs/p%2Fq', { 'p/q': slow, p: { q: {} } })],
    ['half a character', through('#/$defs/\ud800', { '\ud800': {}, '\ufffd': slow })],
    ['a line separator', through('#/$defs/p\u2028q', { 'p\u2028q': {}, p: slow })],
    ['a definition that is missing', through('#/$defs/q', { p: slow })],
    ['a broken escape', through('#/$defs/%ff', { p: slow })],
  ])('is infinite for a reference that is not a plain pointer: %s', (_, schema) => {
    expect(costOf(schema, { a: 'a' })).toBe(Number.POSITIVE_INFINITY)
  })

  it('is finite below the id of the whole schema, and for properties with the names of keywords', () => {
    const named = { $ref: { type: 'string' }, $id: { type: 'string' } }
    const schema = {
      $id: 'https://a.example/tool',
      $defs: { p: slow },
      properties: { a: { $ref: '#/$defs/p' } },
    }
    expect(costOf(schema, { a: 'a' })).toBeLessThan(1_000_000)
    expect(costOf({ properties: named }, { $ref: 'a' })).toBeLessThan(1_000_000)
  })
})

/** Long JSON texts in pieces: the same text as in one; and which values count as long. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson, writeJson } from '../../../../src/base/json/exact-number.ts'
import { isLongJson, writeLongJson } from '../../../../src/base/json/long-json.ts'

const inPieces = async (value: unknown): Promise<string> => (await writeLongJson(value)).join('')

describe('a value', () => {
  it('is written as in one piece', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ noUnicodeString: false } as object), async value => {
        expect(await inPieces(value)).toBe(writeJson(value))
      }),
      { numRuns: 300 },
    )
  })

  it('keeps exact numbers, leaves out what is undefined, and has members of any name', async () => {
    const value = { a: undefined, b: readJson('[1e400,-0,{"__proto__":1}]'), c: [] }
    expect(await inPieces(value)).toBe('{"b":[1e400,-0,{"__proto__":1}],"c":[]}')
  })

  it.each(['a', '"', '\u0001', 'é', '😀', 'a😀', '\ud800', '\n'])(
    'of a long text of %j comes in short pieces',
    async one => {
      const value = { content: [{ type: 'text', text: one.repeat(300_000) }] }
      const pieces = await writeLongJson(value)
      expect(pieces.join('')).toBe(JSON.stringify(value))
      expect(Math.max(...pieces.map(piece => piece.length))).toBeLessThan(250_000)
    },
  )

  it.each(['a', '"', 'a😀'])('with long names of members of %j comes in short pieces', async one => {
    const name = one.repeat(300_000)
    const value = { [name]: { [`${name}b`]: [1], c: null }, d: 2 }
    const pieces = await writeLongJson(value)
    expect(pieces.join('')).toBe(JSON.stringify(value))
    expect(Math.max(...pieces.map(piece => piece.length))).toBeLessThan(250_000)
  })

  it('may be nested deeper than a recursive writer could go', async () => {
    const depth = 200_000
    expect(await inPieces(JSON.parse('['.repeat(depth) + ']'.repeat(depth)))).toHaveLength(2 * depth)
  })
})

it.each([
  [false, { content: [{ type: 'text', text: 'a'.repeat(10_000) }], isError: false }],
  [true, { content: [{ type: 'text', text: 'a'.repeat(300_000) }], isError: false }],
  [true, { structuredContent: Array.from({ length: 40_000 }, () => 1) }],
  [false, {}],
  [true, { ['n'.repeat(300_000)]: 1 }],
  [
    true,
    { names: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`${at}${'n'.repeat(5_000)}`, {}])) },
  ],
  [false, { ['n'.repeat(10_000)]: 1 }],
  [true, { many: Array.from({ length: 50_000 }, () => ({})) }],
])('is known to be long or not: %j', (long, value) => {
  expect(isLongJson(value)).toBe(long)
})

/** The bound of the time to parse a JSON text: low for ordinary records, high for many different names, and found in milliseconds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCost } from '../../../src/base/parse-cost.ts'
import { growth } from '../../fixtures/cpu-time.ts'

const MS = 1e6
const cost = (text: string) => parseCost(Buffer.from(text), Number.POSITIVE_INFINITY)
const listOf = (count: number, item: (at: number) => unknown) =>
  JSON.stringify(Array.from({ length: count }, (_, at) => item(at)))

describe('the bound', () => {
  it('is low for a megabyte of records, also with white space', () => {
    const record = (id: number) => ({ id, name: `line ${id}`, price: 1.5, active: true, tags: ['a'] })
    expect(cost(listOf(14_000, record))).toBeLessThan(13 * MS)
    expect(cost(JSON.stringify(JSON.parse(listOf(8_000, record)), null, 1))).toBeLessThan(13 * MS)
  })

  it('is high where each name is another one', () => {
    expect(cost(listOf(60_000, at => ({ [`k${at}`]: 1 })))).toBeGreaterThan(40 * MS)
    expect(cost(`{${Array.from({ length: 60_000 }, (_, at) => `"k${at}" : 1`).join()}}`)).toBeGreaterThan(
      30 * MS,
    )
  })

  it('is not lowered by names that collide under a hash with a known multiplier', () => {
    const names = Array.from({ length: 2 ** 12 }, (_, at) =>
      [...Array(12).keys()].map(bit => ((at >> bit) & 1 ? 'Aa' : 'BB')).join(''),
    )
    expect(cost(JSON.stringify(Object.fromEntries(names.map(name => [name, 1]))))).toBeGreaterThan(
      names.length * 500,
    )
  })

  it('reads quotes and brackets in texts as text', () => {
    expect(cost(JSON.stringify(['"{[,:'.repeat(10_000)]))).toBeLessThan(0.001 * MS)
  })

  it('is found early when it is above the limit', () => {
    expect(parseCost(Buffer.from(listOf(100_000, () => ({}))), 1_000)).toBeLessThan(2_000)
  })
})

describe('long texts', () => {
  /** The texts of a body, each of which ends at its first quote without an escape. */
  const textsOf = (json: string): readonly string[] => json.match(/"(?:[^"\\]|\\[\s\S])*"/g) ?? []

  it('end where JSON ends them, whatever they escape', () => {
    const pieces = fc.oneof(
      fc.constantFrom(
        '\\\\',
        '\\"',
        '\\n',
        'a',
        '\\\\\\"',
        '\\\\'.repeat(40),
        'x'.repeat(63),
        '\\"'.repeat(33),
      ),
      fc.nat(70).map(count => 'y'.repeat(count)),
    )
    const text = fc.array(pieces, { maxLength: 12 }).map(list => `"${list.join('')}"`)
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), texts => {
        const json = `[${texts.join(',')}]`
        expect(textsOf(json)).toEqual(texts)
        // a list, its commas and its texts: what is outside of them costs otherwise
        const commas = Math.max(0, texts.length - 1)
        expect(parseCost(Buffer.from(json), 1e9)).toBe(30 + 20 * commas + 40 * texts.length)
      }),
    )
  })

  it.each([
    ['plain', (chars: number) => 'x'.repeat(chars)],
    ['of escaped quotes', (chars: number) => '\\"'.repeat(chars / 2)],
    ['of backslashes', (chars: number) => '\\\\'.repeat(chars / 2)],
    ['without an end', (chars: number) => `${'x'.repeat(chars - 1)}\\"`],
  ])('%s are passed in time that grows with their length alone', (_, contentOf) => {
    const [short, long] = [50_000, 400_000].map(chars => Buffer.from(`"${contentOf(chars)}"`))
    const pass = (bytes: Buffer) => {
      for (let round = 0; round < 10; round++) expect(parseCost(bytes, 1e9)).toBe(40)
    }
    expect(growth(pass, short!, long!, 24)).toBeLessThan(24)
  })
})

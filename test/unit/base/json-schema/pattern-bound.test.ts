/** The bound of a pattern's program is never below the program that the engine makes. */
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { describe, expect, it } from 'vitest'
import { programBound } from '../../../../src/base/json-schema/pattern-bound.ts'
import { isPlainlyLinear } from '../../../../src/base/json-schema/plain-pattern.ts'

const ATOMS = ['a', 'b', '\\d', '\\w', '[a-z]', '[^x]', '[]a]', '.', 'é', '\\p{L}', '\\-', '^', '$', '\\b']
const COUNTS = ['', '', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '{0,1}', '{0,7}', '{3,9}', '*?', '{0}']
const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map(texts => texts.join(''))

const { pattern } = fc.letrec<{ pattern: string }>(tie => ({
  pattern: fc
    .array(
      joined(
        fc.oneof(
          { weight: 6, arbitrary: fc.constantFrom(...ATOMS) },
          {
            weight: 2,
            arbitrary: joined(fc.constantFrom('(', '(?:', '(?<n>'), tie('pattern'), fc.constant(')')),
          },
          {
            weight: 1,
            arbitrary: joined(
              fc.constant('('),
              tie('pattern'),
              fc.constant('|'),
              tie('pattern'),
              fc.constant(')'),
            ),
          },
        ),
        fc.constantFrom(...COUNTS),
      ),
      { maxLength: 4 },
    )
    .map(parts => parts.join('')),
}))

describe('the bound of a program', () => {
  it('is not below its size', () => {
    let compiled = 0
    fc.assert(
      fc.property(pattern, source => {
        if (isPlainlyLinear(source)) return
        let size: number
        try {
          size = RE2JS.compile(RE2JS.translateRegExp(source)).programSize()
        } catch {
          return
        }
        compiled++
        expect(programBound(source)).toBeGreaterThanOrEqual(size)
      }),
      { numRuns: 2_000 },
    )
    expect(compiled).toBeGreaterThan(500)
  })

  it('is low for what documents have', () => {
    expect(programBound('^(?:[a-z]{1,64}@[a-z]{1,64}\\.[a-z]{2,6})(a)?$')).toBeLessThan(700)
    expect(programBound('^[a-z0-9]+(-[a-z0-9]+)*$')).toBeLessThan(30)
  })

  it('has a step for each level of a count within a count', () => {
    expect(programBound('((a{1,100}){1,100}){1,100}$')).toBeGreaterThan(1_000_000)
  })
})

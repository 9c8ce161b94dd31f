/** Long texts in steps: their bytes, and numbers that a double would change. The results are those for the whole text. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runAtOnce } from '../../../../src/base/async/slices.ts'
import { lookingForExact, mayHoldExact } from '../../../../src/base/json/exact-number.ts'
import { countingBytes } from '../../../../src/data-plane/stages/shared/token-optimization.ts'

it('counts characters of any length, also where a step ends', () => {
  for (const character of ['a', 'ü', '€', '😀', '\ud800', '\udc00']) {
    for (const before of ['', 'x', 'xy']) {
      const text = before + character.repeat(200_000)
      expect(runAtOnce(countingBytes(text)), JSON.stringify(character)).toBe(Buffer.byteLength(text))
    }
  }
})

it('numbers that a double would change are found in steps as at once', () => {
  const number = fc.constantFrom(
    '1',
    '12345678901234567890',
    '1e400',
    '-0',
    '-0.5',
    '0.1234567890123456789',
    'x',
  )
  const gap = fc.nat(70_000).map(length => ' '.repeat(length))
  fc.assert(
    fc.property(fc.array(fc.tuple(gap, number), { maxLength: 4 }), parts => {
      const text = `[${parts.map(part => part.join('')).join(',')}]`
      expect(runAtOnce(lookingForExact(text))).toBe(mayHoldExact(text))
    }),
  )
  for (let at = 32_740; at < 32_790; at++)
    expect(runAtOnce(lookingForExact(`[${' '.repeat(at)}12345678901234567890]`)), String(at)).toBe(true)
})

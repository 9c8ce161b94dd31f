/** Patterns that V8 may run itself: which they are, that both engines say the same of them, and that the slowest form is linear in time. */
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { describe, expect, it } from 'vitest'
import { linearMatcher } from '../../../../src/base/json-schema/pattern.ts'
import { isPlainlyLinear } from '../../../../src/base/json-schema/plain-pattern.ts'

const HEX = '[0-9a-fA-F]'

describe('plainly linear', () => {
  it.each([
    '^P-[0-9]+$',
    '^[a-z][a-z0-9-]{0,62}$',
    `^${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}$`,
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^[^\\]\\s]*$',
    '^\\$\\.',
    '^.{1,10}$',
    '^é?',
    '^a*a{16}$',
  ])('%s', pattern => expect(isPlainlyLinear(pattern)).toBe(true))

  it.each([
    'P-[0-9]+',
    '^(a+)+$',
    '^a|b$',
    '^[a-z]+[0-9]+$',
    '^a*a{17}$',
    '^a+?b$',
    '^a++$',
    '^\\p{L}+$',
    '^[\\p{L}]+$',
    '^(?=a)a$',
    '^\\1$',
    '^a{1,2}{3}$',
    '^a$b',
    '^a\\',
    '^[a',
    '',
  ])('not %s', pattern => expect(isPlainlyLinear(pattern)).toBe(false))

  it('means the same to both engines', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '-',
      '[ab]',
      '[^a]',
      '[a-c-]',
      '\\d',
      '\\w',
      '\\.',
      '\\-',
      '.',
      '[0-9.]',
      'é',
    )
    const count = fc.constantFrom('', '', '', '{2}', '?', '*', '+', '{1,3}', '{2,}', '{0,1}')
    const pattern = fc
      .tuple(
        fc.array(
          fc.tuple(atom, count).map(pair => pair.join('')),
          { maxLength: 4 },
        ),
        fc.constantFrom('', '$'),
      )
      .map(([atoms, end]) => `^${atoms.join('')}${end}`)
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', 'c', '-', '0', '9', '.', 'é', 'x'),
      maxLength: 10,
    })
    let plain = 0
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 4, maxLength: 8 }), (source, texts) => {
        if (!isPlainlyLinear(source)) return
        const matcher = linearMatcher(source)
        if (matcher === undefined) return
        plain++
        const other = RE2JS.compile(RE2JS.translateRegExp(source))
        for (const one of texts)
          expect(matcher.test(one), `${source} on ${one}`).toBe(other.matcher(one).find())
      }),
      { numRuns: 5000 },
    )
    expect(plain).toBeGreaterThan(1000)
  })

  it('is linear: a text ten times as long takes about ten times as long', () => {
    const matcher = linearMatcher('^a*a{16}$')!
    // CPU time: other processes do not count
    const cpuMs = (length: number): number => {
      const text = `${'a'.repeat(length)}b`
      const before = process.cpuUsage()
      expect(matcher.test(text)).toBe(false)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    cpuMs(100_000)
    // in turns: what slows one slows the other
    const pairs = [1, 2, 3, 4, 5].map(() => ({ short: cpuMs(100_000), long: cpuMs(1_000_000) }))
    const short = Math.min(...pairs.map(pair => pair.short))
    const long = Math.min(...pairs.map(pair => pair.long))
    expect(long).toBeLessThan(40 * short + 5)
  })
})

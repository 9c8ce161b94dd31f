/** The format `url`: the verdict of ajv-formats, in time linear in the length of the text. */
import { fullFormats } from 'ajv-formats/dist/formats.js'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compileValidator } from '../../../../src/base/json-schema/validate.ts'

const validate = compileValidator({ type: 'string', format: 'url' })
const original = fullFormats.url as RegExp

it('gives the verdict of ajv-formats', () => {
  const piece = fc.constantFrom(
    'http://',
    'ftp://',
    'a',
    ':',
    '@',
    '.',
    'b.cd',
    '/',
    '8.8.8.8',
    ':80',
    '-',
    ' ',
    'é',
    '10',
  )
  const verdicts = new Set<boolean>()
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), fc.boolean(), (pieces, prefixed) => {
      const text = `${prefixed ? 'http://' : ''}${pieces.join('')}`
      verdicts.add(original.test(text))
      expect(validate(text).length === 0).toBe(original.test(text))
    }),
    { numRuns: 20_000 },
  )
  expect(verdicts.size).toBe(2)
})

it.each([
  ['colons', (size: number) => `http://${':@'.repeat(size / 2)}`],
  ['labels', (size: number) => `http://${'a-a.'.repeat(size / 4)}!`],
  ['user names', (size: number) => `http://${'a@'.repeat(size / 2)}`],
])('does not take quadratic time on many %s', (_what, textOf) => {
  validate(textOf(1_000))
  const before = process.cpuUsage()
  expect(validate(textOf(40_000))).toHaveLength(1)
  const { user, system } = process.cpuUsage(before)
  // several seconds where each colon made the rest be read again
  expect((user + system) / 1000).toBeLessThan(400)
})

/** Which patterns of documents a validator gets: none that is not ECMAScript, not linear in time, or too large as a program. */
import { describe, expect, it } from 'vitest'
import { usablePattern } from '../../../../src/base/json-schema/pattern.ts'

describe('a usable pattern', () => {
  it.each(['^[a-z]+$', '^\\d{4}-\\d{2}$', '^(?:a|b)+$', '[é]{1,10}'])('%s is kept as it is', pattern => {
    expect(usablePattern(pattern)).toBe(pattern)
  })

  it('loses needless escapes, which the flag u refuses', () => {
    expect(usablePattern('^\\@[a-z\\_]+$')).toBe('^@[a-z_]+$')
  })

  it.each([
    ['is not ECMAScript', '('],
    ['looks ahead', '^(?=a)b'],
    ['refers back', '(a)\\1'],
    ['has too many characters', 'a'.repeat(2_001)],
  ])('is left out when it %s', (_, pattern) => {
    expect(usablePattern(pattern)).toBeUndefined()
  })

  // of a program of n instructions, each character can cost n steps
  it.each(['(.*a){900}', '(?:[a-z]{1,50}x?){40}', '((a{0,30}b){0,30}c){0,5}'])(
    'is left out when its program is too large: %s',
    pattern => {
      expect(usablePattern(pattern)).toBeUndefined()
    },
  )

  it('is kept when its program is small', () => {
    expect(usablePattern('(.*a){20}')).toBe('(.*a){20}')
  })
})

/** The stored part of a receiver's response: bounded, valid text, without confidential values. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { storedResponse } from '../../../../src/control-plane/webhooks/attempt.ts'

const KEY = 'tgk_AbCdEfGh_0123456789abcdefghijklmnopqrstuv'

it('is at most 1,024 bytes of UTF-8 without NUL, for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4096, size: 'max' }), bytes => {
      const text = storedResponse(bytes, [KEY])
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024)
      expect(text).not.toContain('\0')
      expect(Buffer.from(text).toString()).toBe(text)
    }),
  )
})

it('keeps the beginning, cut between characters', () => {
  expect(storedResponse(Buffer.from('é'.repeat(600)), [])).toBe('é'.repeat(512))
  expect(storedResponse(Buffer.from(`x${'é'.repeat(600)}`), [])).toBe(`x${'é'.repeat(511)}`)
  expect(storedResponse(Buffer.from('😀'.repeat(300)), [])).toBe('😀'.repeat(256))
  expect(storedResponse(Buffer.from('short'), [])).toBe('short')
})

it('masks confidential texts wherever they stand, also across the cut', () => {
  for (let before = 0; before < 1100; before++) {
    const text = storedResponse(Buffer.from(`${'x'.repeat(before)}${KEY}${KEY}${'y'.repeat(2000)}`), [KEY])
    expect(text).not.toMatch(/tgk_/)
  }
  expect(storedResponse(Buffer.from(`{"key":"${KEY}"}`), [KEY])).toBe('{"key":"[redacted]"}')
  expect(storedResponse(Buffer.from('a cat'), ['cat'])).toBe('a cat')
})

/** A long text written as the inside of a JSON string, piece by piece, has the bytes that `JSON.stringify` writes. */
import { describe, expect, it } from 'vitest'
import { runAtOnce } from '../../../../src/base/async/slices.ts'
import { countEscaped, escapedPieces, isPlainUtf8 } from '../../../../src/base/json/escapes.ts'
import { randomFrom } from '../../../fixtures/fuzz-cases.ts'

const PARTS = [
  '"',
  '\\',
  '\n',
  '\t',
  '\b',
  '\f',
  '\r',
  '\0',
  '\u001f',
  '\u007f',
  'a',
  'é',
  '€',
  '\u2028',
  '\u{1f600}',
]

function written(text: string): string {
  // a piece is valid until the next one is read
  const pieces: Buffer[] = []
  for (const piece of escapedPieces(Buffer.from(text))) pieces.push(Buffer.from(piece))
  const all = Buffer.concat(pieces)
  expect(runAtOnce(countEscaped(Buffer.from(text)))).toBe(all.length)
  return `"${all.toString()}"`
}

describe('a text in pieces', () => {
  it.each([1, 16 * 1024 - 1, 16 * 1024, 100_001])('of %i characters of one kind', length => {
    for (const part of PARTS) {
      const text = part.repeat(length)
      expect(written(text) === JSON.stringify(text), JSON.stringify(part)).toBe(true)
    }
  })

  it('of mixed characters, also where a character or an escape sequence lies across two pieces', () => {
    const random = randomFrom(7)
    const pick = () => PARTS[Math.floor(random() * PARTS.length)]!
    for (let round = 0; round < 50; round++) {
      const text = Array.from({ length: 40_000 }, () => (random() < 0.8 ? 'x' : pick())).join('')
      expect(written(text) === JSON.stringify(text)).toBe(true)
    }
  })

  it('copies none that needs no escape', () => {
    const plain = Buffer.from('x'.repeat(1_000))
    expect([...escapedPieces(plain)][0]!.buffer).toBe(plain.buffer)
  })
})

describe('plain UTF-8', () => {
  it.each([[[0xff]], [[0x61, 0xc3]], [[0xed, 0xa0, 0x80]], [[0xc0, 0x80]], [[0xef, 0xbb, 0xbf, 0x61]]])(
    'is not %j',
    bytes => {
      expect(isPlainUtf8(Uint8Array.from(bytes))).toBe(false)
    },
  )

  it('is what a decoder and an encoder give back', () => {
    expect(isPlainUtf8(Buffer.from(PARTS.join('')))).toBe(true)
    expect(isPlainUtf8(new Uint8Array(0))).toBe(true)
  })
})

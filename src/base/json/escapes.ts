/** The escape sequences of JSON strings, and long texts written with them, as UTF-8 (RFC 8259 §7, as `JSON.stringify` writes them). */
import { isUtf8 } from 'node:buffer'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Longest escape sequence, `\u001f`. */
export const MAX_ESCAPED = 6
const HEX = Buffer.from('0123456789abcdef', 'latin1')
/** Written at once. */
const PIECE_BYTES = 16 * 1024
const COUNTED_BYTES = 128 * 1024

/** For each byte: 0: itself, 1: `\u00XX`, else the character behind a backslash. */
export const ESCAPES = new Uint8Array(256)
ESCAPES.fill(1, 0, 0x20)
for (const [code, letter] of [
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [QUOTE, '"'],
  [BACKSLASH, '\\'],
] as const)
  ESCAPES[code] = letter.charCodeAt(0)

/** @param sequence what ESCAPES has for the byte, not 0. @returns where the next byte is written */
export function writeEscape(into: Uint8Array, at: number, byte: number, sequence: number): number {
  into[at] = BACKSLASH
  if (sequence !== 1) {
    into[at + 1] = sequence
    return at + 2
  }
  into[at + 1] = 0x75
  into[at + 2] = 0x30
  into[at + 3] = 0x30
  into[at + 4] = HEX[byte >> 4]!
  into[at + 5] = HEX[byte & 15]!
  return at + MAX_ESCAPED
}

/** Whether a decoder makes of the bytes a text with the same bytes: it replaces what is not UTF-8, and takes a byte order mark away. */
export function isPlainUtf8(text: Uint8Array): boolean {
  return !(text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf) && isUtf8(text)
}

/** Bytes that each one takes. */
const LENGTHS = ESCAPES.map(sequence => (sequence === 0 ? 1 : sequence === 1 ? MAX_ESCAPED : 2))

/** Bytes of what `escapedPieces` makes, counted in steps. */
export function* countEscaped(text: Uint8Array): Generator<void, number> {
  let bytes = 0
  for (let from = 0; from < text.length; from += COUNTED_BYTES) {
    const to = Math.min(text.length, from + COUNTED_BYTES)
    for (let at = from; at < to; at++) bytes += LENGTHS[text[at]!]!
    yield
  }
  return bytes
}

const scratch = new Uint8Array(MAX_ESCAPED * PIECE_BYTES)

/**
 * The inside of the JSON string with this text, in pieces that are made when they are read. Each is valid until the next one is read: all share a
 * buffer, because the garbage of a long text delays other calls while it is collected.
 * @param text UTF-8
 */
export function* escapedPieces(text: Uint8Array): Generator<Uint8Array, void> {
  for (let from = 0; from < text.length; from += PIECE_BYTES) {
    const to = Math.min(text.length, from + PIECE_BYTES)
    let plain = from
    while (plain < to && ESCAPES[text[plain]!] === 0) plain++
    yield plain === to ? text.subarray(from, to) : escapePiece(text, from, plain, to)
  }
}

/** @param plain bytes before it need no escape */
function escapePiece(text: Uint8Array, from: number, plain: number, to: number): Uint8Array {
  scratch.set(text.subarray(from, plain))
  let at = plain - from
  for (let index = plain; index < to; index++) {
    const byte = text[index]!
    const sequence = ESCAPES[byte]!
    if (sequence === 0) scratch[at++] = byte
    else at = writeEscape(scratch, at, byte, sequence)
  }
  return scratch.subarray(0, at)
}

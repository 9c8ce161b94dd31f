/** Writes the JSON-RPC message of a text result as bytes, from the bytes of the text. */
import { isUtf8 } from 'node:buffer'
import { copyBytes } from '../../../base/copy-bytes.ts'

const SLAB_BYTES = 64 * 1024
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Longest escape sequence, `\u001f`. */
const MAX_ESCAPED = 6
const HEX = Buffer.from('0123456789abcdef', 'latin1')

/** For each ASCII character: 0: itself, 1: `\u00XX`, else the character behind a backslash (RFC 8259 §7, as `JSON.stringify` writes it). */
const ESCAPES = new Uint8Array(256)
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

let slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
let memory = slab.buffer
let used = 0

/**
 * What stands before the text (with the id, in JSON, between two parts), the text as the inside of a JSON string, and what follows it. The
 * bytes returned are the caller's.
 * @returns undefined when the text is not valid UTF-8 or begins with a byte order mark
 */
export function textMessage(
  [start, id, before]: readonly [Uint8Array, string, Uint8Array],
  text: Uint8Array,
  after: Uint8Array,
): Uint8Array | undefined {
  const most = start.length + 3 * id.length + before.length + MAX_ESCAPED * text.length + after.length
  const from = reserve(most)
  const into = slab
  let at = copyBytes(start, into, from)
  at += into.write(id, at, 'utf8')
  at = copyBytes(before, into, at)
  let all = 0
  for (let index = 0; index < text.length; index++) {
    const byte = text[index]!
    const escaped = ESCAPES[byte]!
    if (escaped === 0) {
      all |= byte
      into[at++] = byte
    } else {
      into[at++] = BACKSLASH
      if (escaped === 1) at = unicodeEscape(into, at, byte)
      else into[at++] = escaped
    }
  }
  if (all > 0x7f && (beginsWithMark(text) || !isUtf8(text))) return undefined
  at = copyBytes(after, into, at)
  used = (at + 7) & ~7
  // `subarray` of a Buffer takes twice as long
  return new Uint8Array(memory, from, at - from)
}

/** Decoders take the mark away. */
function beginsWithMark(text: Uint8Array): boolean {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf
}

function unicodeEscape(into: Buffer, at: number, byte: number): number {
  into[at] = 0x75
  into[at + 1] = 0x30
  into[at + 2] = 0x30
  into[at + 3] = HEX[byte >> 4]!
  into[at + 4] = HEX[byte & 15]!
  return at + 5
}

/** @returns where so many bytes are free in the slab */
function reserve(bytes: number): number {
  if (used + bytes > slab.length) {
    slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes))
    memory = slab.buffer
    used = 0
  }
  return used
}

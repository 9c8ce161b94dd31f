/** Writes the JSON-RPC message of a text result as bytes, from the bytes of the text. */
import { copyBytes } from '../../../base/copy-bytes.ts'
import { ESCAPES, isPlainUtf8, MAX_ESCAPED, writeEscape } from '../../../base/json/escapes.ts'

const SLAB_BYTES = 64 * 1024

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
    } else at = writeEscape(into, at, byte, escaped)
  }
  if (all > 0x7f && !isPlainUtf8(text)) return undefined
  at = copyBytes(after, into, at)
  used = (at + 7) & ~7
  // `subarray` of a Buffer takes twice as long
  return new Uint8Array(memory, from, at - from)
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

/** Writes a path into the kernel's input window. It does not interpret the path. */

import { MAX_PATH_BYTES } from './abi.ts'

/**
 * Up to here four characters at a time are faster than one call out of JavaScript (bench/kernel/copy.bench.ts:
 * 1.5 ns per character against 45 ns flat).
 */
const SHORT = 24
/** Space for one character beyond the longest path, so that `encodeInto` always writes the first non-ASCII character. */
const SLACK = 16

const encoder = new TextEncoder()

export class PathWindow {
  readonly #bytes: Uint8Array
  readonly #words: Uint32Array

  constructor(buffer: ArrayBufferLike, base: number) {
    this.#bytes = new Uint8Array(buffer, base, MAX_PATH_BYTES + SLACK)
    this.#words = new Uint32Array(buffer, base, (MAX_PATH_BYTES + SLACK) / 4)
  }

  /**
   * Writes a path of at most MAX_PATH_BYTES characters; as many bytes are to be looked at. A character outside ASCII
   * arrives as bytes above 7F, the first of them at the character's own index: the kernel refuses it there, and what
   * stands before it is neither changed nor cut off.
   */
  write(path: string): void {
    const length = path.length
    if (length > SHORT) {
      encoder.encodeInto(path, this.#bytes)
      return
    }
    const words = this.#words
    let seen = 0
    let at = 0
    let word = 0
    for (; at + 3 < length; at += 4) {
      const a = path.charCodeAt(at)
      const b = path.charCodeAt(at + 1)
      const c = path.charCodeAt(at + 2)
      const d = path.charCodeAt(at + 3)
      seen |= a | b | c | d
      words[word++] = a | (b << 8) | (c << 16) | (d << 24)
    }
    let rest = 0
    for (let shift = 0; at < length; at++, shift += 8) {
      const code = path.charCodeAt(at)
      seen |= code
      rest |= code << shift
    }
    words[word] = rest
    // A code unit above FF would have written its low byte as another character: U+012F as a slash.
    if (seen > 0x7f) encoder.encodeInto(path, this.#bytes)
  }
}

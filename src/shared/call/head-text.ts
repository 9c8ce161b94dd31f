/**
 * Builds the head of an HTTP message as one flat string, and checks the values of its fields. It sends nothing. Joining the pieces as
 * strings takes 1 KB of short-lived objects for ten fields, and one more copy when the string leaves the runtime.
 */
import { codeAt } from '../../model/code-at.ts'

const KEPT_BYTES = 16 * 1024
const TAB = 0x09

/** One per use: a head is built in one go, and no other one meanwhile. */
export class HeadText {
  #bytes = Buffer.allocUnsafeSlow(KEPT_BYTES)
  #end = 0

  /** @param line ASCII, first line of the head */
  begin(line: string): void {
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(KEPT_BYTES)
    this.#end = 0
    this.add(line)
  }

  /** @param text ASCII; it is not checked */
  add(text: string): void {
    const { length } = text
    const bytes = this.#reserve(length)
    for (let at = 0, to = this.#end; at < length; at++) bytes[to++] = codeAt(text, at)
    this.#end += length
  }

  /**
   * Adds a line break, the name and the value (RFC 9110 §5.5: visible characters, space, tab and obs-text).
   * @param name a token; it is not checked
   * @returns whether the value is ASCII; undefined when no field may have it, and the head is of no use then
   */
  addField(name: string, value: string): boolean | undefined {
    this.add('\r\n')
    this.add(name)
    this.add(': ')
    const { length } = value
    const bytes = this.#reserve(length)
    let all = 0
    for (let at = 0, to = this.#end; at < length; at++) {
      const code = codeAt(value, at)
      if ((code < 0x20 && code !== TAB) || code === 0x7f || code > 0xff) return undefined
      all |= code
      bytes[to++] = code
    }
    this.#end += length
    return all < 0x80
  }

  /** The head so far, one Latin-1 character per byte. */
  text(): string {
    return this.#bytes.toString('latin1', 0, this.#end)
  }

  /** The same as bytes, a copy. */
  bytes(): Uint8Array {
    return Buffer.from(this.#bytes.subarray(0, this.#end))
  }

  #reserve(length: number): Buffer {
    const needed = this.#end + length
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * needed)
      larger.set(this.#bytes.subarray(0, this.#end))
      this.#bytes = larger
    }
    return this.#bytes
  }
}

/** Steps over JSON as assembly/json.ts does, rule by rule, in plain JavaScript. */

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const COLON = 0x3a
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const BRACE = 0x7b
const CLOSING_BRACE = 0x7d
/** Containers in containers. */
const MAX_DEPTH = 64
/** What may follow a backslash, but for `u`. */
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map(letter => letter.charCodeAt(0)))
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

/**
 * One text. Every method takes a place and returns the one behind what it stepped over, or -1. Behind the last byte all
 * bytes are 0, which stands in no JSON text.
 */
export class JsonSteps {
  /** Set by every byte above 7F. */
  foreign = false
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  byte(at: number): number {
    return at < this.bytes.length ? this.bytes[at]! : 0
  }

  /** White space (RFC 8259 §2). */
  space(at: number): number {
    for (;;) {
      const byte = this.byte(at)
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
      at++
    }
  }

  /** A colon and the space around it. */
  colon(at: number): number {
    at = this.space(at)
    return this.byte(at) === COLON ? this.space(at + 1) : -1
  }

  value(at: number, depth = 0): number {
    switch (this.byte(at)) {
      case QUOTE:
        return this.string(at + 1)
      case BRACE:
        return depth === MAX_DEPTH && this.byte(this.space(at + 1)) !== CLOSING_BRACE
          ? -1
          : this.#container(at, CLOSING_BRACE, depth + 1)
      case BRACKET:
        return depth === MAX_DEPTH && this.byte(this.space(at + 1)) !== CLOSING_BRACKET
          ? -1
          : this.#container(at, CLOSING_BRACKET, depth + 1)
      case TRUE[0]:
        return this.literal(at, TRUE)
      case FALSE[0]:
        return this.literal(at, FALSE)
      case NULL[0]:
        return this.literal(at, NULL)
      default:
        return this.number(at)
    }
  }

  #container(at: number, closing: number, depth: number): number {
    at = this.space(at + 1)
    if (this.byte(at) === closing) return at + 1
    for (;;) {
      if (closing === CLOSING_BRACE) {
        if (this.byte(at) !== QUOTE) return -1
        at = this.string(at + 1)
        if (at >= 0) at = this.colon(at)
        if (at < 0) return -1
      }
      at = this.value(at, depth)
      if (at < 0) return -1
      at = this.space(at)
      if (this.byte(at) === closing) return at + 1
      if (this.byte(at) !== COMMA) return -1
      at = this.space(at + 1)
    }
  }

  literal(at: number, word: Uint8Array): number {
    for (let i = 0; i < word.length; i++) if (this.byte(at + i) !== word[i]) return -1
    return at + word.length
  }

  /** From behind the opening quote. */
  string(at: number): number {
    for (;;) {
      const byte = this.byte(at)
      if (byte === QUOTE) return at + 1
      if (byte < 0x20) return -1
      if (byte === BACKSLASH) at = this.#escape(at + 1)
      else if (byte > 0x7f) at = this.#sequence(at)
      else at++
      if (at < 0) return -1
    }
  }

  /** ASCII without escapes, from behind the opening quote. */
  plainString(at: number): number {
    for (;;) {
      const byte = this.byte(at)
      if (byte === QUOTE) return at + 1
      if (byte < 0x20 || byte > 0x7f || byte === BACKSLASH) return -1
      at++
    }
  }

  /** Half of a surrogate pair is not accepted. */
  #escape(at: number): number {
    if (this.byte(at) !== 0x75) return SIMPLE_ESCAPES.has(this.byte(at)) ? at + 1 : -1
    const code = this.#hex(at + 1)
    if (code < 0xd800 || code > 0xdfff) return code < 0 ? -1 : at + 5
    const paired = code < 0xdc00 && this.byte(at + 5) === BACKSLASH && this.byte(at + 6) === 0x75
    const low = paired ? this.#hex(at + 7) : -1
    return low >= 0xdc00 && low <= 0xdfff ? at + 11 : -1
  }

  /** Value of four hexadecimal digits, or -1. */
  #hex(at: number): number {
    let value = 0
    for (let i = 0; i < 4; i++) {
      const byte = this.byte(at + i)
      const letter = byte | 0x20
      if (!isDigit(byte) && !(letter >= 0x61 && letter <= 0x66)) return -1
      value = value * 16 + (isDigit(byte) ? byte - 0x30 : letter - 0x57)
    }
    return value
  }

  /** One well-formed UTF-8 sequence (RFC 3629 §4). */
  #sequence(at: number): number {
    this.foreign = true
    const lead = this.byte(at)
    const size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    if (lead < 0xc2 || lead > 0xf4) return -1
    let character = lead & (0x7f >> size)
    for (let i = 1; i < size; i++) {
      const byte = this.byte(at + i)
      if ((byte & 0xc0) !== 0x80) return -1
      character = (character << 6) | (byte & 0x3f)
    }
    if (character < [0, 0, 0x80, 0x800, 0x10000][size]! || character > 0x10ffff) return -1
    return character >= 0xd800 && character <= 0xdfff ? -1 : at + size
  }

  /** RFC 8259 §6, where a double has the value for certain: at most 15 characters and 2 digits of exponent, no `-0`, no `-0.0`. */
  number(at: number): number {
    const from = at
    if (this.byte(at) === MINUS) at++
    at = this.byte(at) === 0x30 ? at + 1 : this.#digits(at)
    if (at >= 0 && this.byte(at) === 0x2e) at = this.#digits(at + 1)
    if (at < 0 || at - from > 15) return -1
    if (this.byte(from) === MINUS && this.byte(from + 1) === 0x30) {
      if (this.byte(from + 2) !== 0x2e || this.byte(from + 3) === 0x30) return -1
    }
    if ((this.byte(at) | 0x20) !== 0x65) return at
    at++
    if (this.byte(at) === 0x2b || this.byte(at) === MINUS) at++
    const end = this.#digits(at)
    return end - at > 2 ? -1 : end
  }

  #digits(at: number): number {
    if (!isDigit(this.byte(at))) return -1
    while (isDigit(this.byte(at))) at++
    return at
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

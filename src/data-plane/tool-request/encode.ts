/** Percent-encoding of values for each place of a request (RFC 3986, RFC 6570). It never throws and never lets a delimiter through. */
import { writeJson } from '../../model/exact-number.ts'

const UNRESERVED = /^[A-Za-z0-9._~-]*$/

/** Everything but unreserved characters is encoded; a lone surrogate becomes U+FFFD. */
export function encode(text: string): string {
  if (UNRESERVED.test(text)) return text
  return encodeURIComponent(wellFormed(text)).replace(/[!'()*]/g, encodeCharacter)
}

/** `encode` of each text. Many short ones are encoded as one, because each call costs more than its text. */
export function encodeEach(texts: readonly string[]): readonly string[] {
  if (texts.length < 2 || texts.some(text => text.includes('\n'))) return texts.map(encode)
  return encode(texts.join('\n')).split('%0A')
}

/**
 * Reserved expansion (RFC 6570 §3.2.3) for `allowReserved` in a query: reserved characters and encoded triples stay,
 * but those that would end the value or the query (`&`, `#`, `+`, and the brackets a query must not hold) are encoded.
 */
export function encodeReserved(text: string): string {
  return wellFormed(text).replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~:/?@!$'()*,;=%-]/gu, encodeCharacter)
}

/** A header value: visible ASCII, space and tab stay; line breaks, controls and everything beyond ASCII are encoded. */
export function encodeHeader(text: string): string {
  if (/^[\x20-\x7e\t]*$/.test(text)) return text.trim()
  return wellFormed(text)
    .replace(/[^\x20-\x7e\t]/gu, encodeCharacter)
    .trim()
}

function encodeCharacter(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 0x80) return `%${code.toString(16).toUpperCase().padStart(2, '0')}`
  return encodeURIComponent(character)
}

function wellFormed(text: string): string {
  return text.toWellFormed()
}

/** A JSON value as text on the wire: strings as they are, everything else as JSON writes it. */
export function wireText(value: unknown): string {
  if (typeof value === 'string') return value
  return writeJson(value) ?? ''
}

/** Turns values into text, and percent-encodes text for the places of a request, in steps where it is long. */
import { writeJson } from '../../base/json/exact-number.ts'
import { longJson } from '../../base/json/long-json.ts'

const UNRESERVED = /^[A-Za-z0-9._~-]*$/

/** Everything but unreserved characters is encoded; a lone surrogate becomes U+FFFD. */
export function encode(text: string): string {
  if (UNRESERVED.test(text)) return text
  const encoded = encodeURIComponent(wellFormed(text))
  if (!/[!'()*]/.test(encoded)) return encoded
  // a function for each character would take a hundred times as long
  return (
    encoded
      .replaceAll('!', '%21')
      .replaceAll("'", '%27')
      .replaceAll('(', '%28')
      .replaceAll(')', '%29')
      // replaceAll leaves a tree of parts, which V8 would flatten at once at the end of a long text
      .split('*')
      .join('%2A')
  )
}

/** Characters that are encoded before other work may come between. */
const SLICE_CHARS = 16 * 1024

/** What the encoder makes of a text of any length. @param encoder one that looks at each character by itself, or at `%` and two digits */
export function* encodeLong(text: string, encoder: (text: string) => string): Generator<void, string> {
  if (text.length <= SLICE_CHARS) return encoder(text)
  let encoded = ''
  for (let from = 0; from < text.length; ) {
    const to = endOfSlice(text, from)
    encoded += encoder(text.slice(from, to))
    from = to
    yield
  }
  return encoded
}

/** Not within a surrogate pair, and not within an encoded triple. */
function endOfSlice(text: string, from: number): number {
  const end = from + SLICE_CHARS
  if (end >= text.length) return text.length
  const percent = text.lastIndexOf('%', end - 1)
  if (percent > end - 3) return percent
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

/** `encode` of each text. Many short ones are encoded as one, because each call costs more than its text. */
export function encodeEach(texts: readonly string[]): readonly string[] {
  if (texts.length < 2 || texts.some(text => text.includes('\n'))) return texts.map(encode)
  return encode(texts.join('\n')).split('%0A')
}

/** Texts that are encoded before other work may come between. */
const SLICE_TEXTS = 1_000

/** `encodeEach` for texts of any number and length, and for any encoder. @param encoder as that of `encodeLong` */
export function* encodeLongEach(
  texts: Iterable<string>,
  encoder: (text: string) => string,
): Generator<void, string[]> {
  const encoded: string[] = []
  let slice: string[] = []
  let sliceChars = 0
  const encodeSlice = () => {
    for (const text of encoder === encode ? encodeEach(slice) : slice.map(encoder)) encoded.push(text)
    slice = []
    sliceChars = 0
  }
  for (const text of texts) {
    if (text.length > SLICE_CHARS) {
      encodeSlice()
      encoded.push(yield* encodeLong(text, encoder))
      continue
    }
    slice.push(text)
    sliceChars += text.length
    if (slice.length < SLICE_TEXTS && sliceChars < SLICE_CHARS) continue
    encodeSlice()
    yield
  }
  encodeSlice()
  return encoded
}

/**
 * Reserved expansion (RFC 6570 §3.2.3) for `allowReserved` in a query: reserved characters and encoded triples stay,
 * but those that would end the value or the query (`&`, `#`, `+`, and the brackets a query must not hold) are encoded.
 */
export function encodeReserved(text: string): string {
  return wellFormed(text).replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~:/?@!$'()*,;=%-]/gu, encodeCharacter)
}

/** A header value: visible ASCII stays, and space and tab except at the ends; line breaks, controls and everything beyond ASCII are encoded. */
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
  // as JSON writes it, in a fifth of the time
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value)
  return writeJson(value) ?? ''
}

/** `wireText` for values of any size. */
export function* longText(value: unknown): Generator<void, string> {
  return typeof value === 'object' && value !== null ? yield* longJson(value) : wireText(value)
}

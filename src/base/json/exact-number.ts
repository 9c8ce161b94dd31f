/** Exact numbers, which a double would change: reading and writing JSON with them, finding and replacing them in values. */
import { canonicalText, type Decimal, decimalOf } from './decimal.ts'

/**
 * In JSON text, a string that begins with it is an exact number: what is between has only the methods of `JSON`, which pass
 * no number unchanged in Node 20. Random, so that no caller can write one.
 */
const MARK = `exact:${globalThis.crypto.randomUUID()}:`
const MARKED = new RegExp(`"${MARK}([-+.0-9eE]+)"`, 'g')

let writing = false
let wrote = false

/** A number whose value a double does not hold: too many digits, an exponent out of range, or negative zero. */
export class ExactNumber {
  /** As it was received. */
  readonly text: string
  #decimal: Decimal | undefined

  constructor(text: string) {
    this.text = text
  }

  get decimal(): Decimal {
    this.#decimal ??= decimalOf(this.text)
    return this.#decimal
  }

  /** Equal for equal values, however they are written. */
  get canonical(): string {
    return canonicalText(this.decimal)
  }

  toString(): string {
    return this.text
  }

  /** Outside of `writeJson`, the nearest double; null beyond the largest. */
  toJSON(): number | string {
    if (!writing) return Number(this.text)
    wrote = true
    return MARK + this.text
  }
}

/** As `JSON.stringify`, with exact numbers as their text. @param indent spaces for each level */
export function writeJson(value: unknown, indent = 0): string {
  writing = true
  wrote = false
  try {
    const json = JSON.stringify(value, undefined, indent)
    return wrote ? json.replace(MARKED, '$1') : json
  } finally {
    writing = false
  }
}

/** @param text of a JSON number */
export function numberOf(text: string): number | ExactNumber {
  return isExact(text) ? new ExactNumber(text) : Number(text)
}

/** True when the value is an exact number or has one at any depth. */
export function holdsExact(root: unknown): boolean {
  const pending = [root]
  while (pending.length > 0) {
    const value = pending.pop()
    if (value instanceof ExactNumber) return true
    if (value === null || typeof value !== 'object') continue
    for (const inner of Object.values(value)) if (typeof inner === 'object') pending.push(inner)
  }
  return false
}

/** A copy with the nearest double in the place of each exact number; null beyond the largest. */
export function withDoubles(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** As `JSON.parse`, with an ExactNumber for each number that a double would change. Throws what `JSON.parse` throws. */
export function readJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!mayHoldExact(text)) return value
  const marked = markExact(text)
  if (marked === text) return value
  return withExact(JSON.parse(marked))
}

/** Puts the numbers in the place of their marks; a reviver of `JSON.parse` takes five times as long. */
function withExact(root: unknown): unknown {
  const holder = { root }
  const pending: Record<string, unknown>[] = [holder]
  for (let parent = pending.pop(); parent !== undefined; parent = pending.pop()) {
    const names = Array.isArray(parent) ? undefined : Object.keys(parent)
    const count = names === undefined ? (parent as unknown as unknown[]).length : names.length
    for (let at = 0; at < count; at++) {
      const name = names === undefined ? (at as unknown as string) : names[at]!
      const inner = parent[name]
      if (typeof inner === 'string') {
        if (inner.startsWith(MARK)) setOwn(parent, name, new ExactNumber(inner.slice(MARK.length)))
      } else if (inner !== null && typeof inner === 'object') pending.push(inner as Record<string, unknown>)
    }
  }
  return holder.root
}

/** Also for a member named `__proto__`. */
export function setOwn(parent: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(parent, name, { value, writable: true, enumerable: true, configurable: true })
}

/** The shortest number beyond a double, apart from -0: `1e400`. */
const STRIDE = 5
/** Fifteen digits survive a double in any exponent of two digits; sign and point are characters too. */
const DOUBTFUL = /^-?(?=\d)(?:[\d.]{16}|[\d.]*[eE][-+]?\d{3})/
const BEFORE_NUMBER = '[:, \t\r\n'

/** Reading a text with exact numbers takes at most so many times as long as reading it without. */
export const EXACT_COST_FACTOR = 10

/** False when no number of the text needs a closer look. It looks at every fifth character, because most texts have none. */
export function mayHoldExact(text: string): boolean {
  return mayHoldExactIn(text, 0, text.length)
}

/** Characters that are looked through in a millisecond or two. */
const RANGE = 32_768

/** The same, interruptible. */
export function* lookingForExact(text: string): Generator<void, boolean> {
  for (let from = 0; from < text.length; from += RANGE, yield)
    if (mayHoldExactIn(text, from, Math.min(text.length, from + RANGE))) return true
  return false
}

/** Whether a number that touches the range needs a closer look. */
function mayHoldExactIn(text: string, start: number, stop: number): boolean {
  const end = text.length
  for (let at = start; at < stop; at += STRIDE) {
    if (!isNumeric(text.charCodeAt(at))) continue
    let from = at
    while (from > 0 && isNumeric(text.charCodeAt(from - 1))) from--
    while (++at < end && isNumeric(text.charCodeAt(at)));
    if (at - from >= STRIDE && mayBegin(text, from) && DOUBTFUL.test(text.slice(from, at))) return true
  }
  for (let at = text.indexOf('-0', start); at >= 0 && at < stop; at = text.indexOf('-0', at + 2))
    if (mayBegin(text, at) && !/^-0\.0*[1-9]/.test(text.slice(at, at + 32))) return true
  return false
}

function mayBegin(text: string, at: number): boolean {
  return at === 0 || BEFORE_NUMBER.includes(text[at - 1]!)
}

/** Digits and `+-.eE`. */
function isNumeric(code: number): boolean {
  return code < 58 ? code > 42 && code !== 44 && code !== 47 : (code | 32) === 101
}

/** A whole number text with an exponent, of more than 14 digits, or that begins with -0; it begins nowhere within another one. */
const CANDIDATE = /-?\d[\d.]*[eE][-+]?\d+|-?\d[\d.]{14,}|-0[\d.]*/g

/** The text with each exact number as a marked string. It is valid JSON, so a quote outside of a string begins one. */
function markExact(text: string): string {
  let out = ''
  for (let at = 0; ; ) {
    const quote = text.indexOf('"', at)
    const between = quote < 0 ? text.slice(at) : text.slice(at, quote)
    out += between.replace(CANDIDATE, number => (isExact(number) ? `"${MARK}${number}"` : number))
    if (quote < 0) return out
    at = endOfString(text, quote)
    out += text.slice(quote, at)
  }
}

function endOfString(text: string, quote: number): number {
  for (let at = quote + 1; ; at++) {
    at = text.indexOf('"', at)
    let escapes = at
    while (text[escapes - 1] === '\\') escapes--
    if ((at - escapes) % 2 === 0) return at + 1
  }
}

/** A longer text is not compared with a double: none writes so many digits. */
const MAX_DOUBLE_TEXT = 400
const INTEGER = /^-?\d+$/

function isExact(text: string): boolean {
  if (text.length > MAX_DOUBLE_TEXT) return true
  const double = Number(text)
  if (!Number.isFinite(double) || Object.is(double, -0)) return true
  const shortest = String(double)
  if (shortest === text) return false
  // a tenth of the time of the general comparison; with what would be written, not with the double, whose text may be rounded
  if (INTEGER.test(text) && INTEGER.test(shortest)) return BigInt(text) !== BigInt(shortest)
  return canonicalText(decimalOf(text)) !== canonicalText(decimalOf(shortest))
}

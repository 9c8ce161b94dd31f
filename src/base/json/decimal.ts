/** Decimal values of JSON number texts: their comparison, divisibility and canonical text. */

/** `sign` × `digits` × 10^`exponent`; no zeros at the ends of `digits`, which is '' for zero. */
export interface Decimal {
  readonly sign: -1 | 0 | 1
  readonly digits: string
  readonly exponent: number
}

/** Exponents beyond are equal to it: no digits of a text reach them. */
const MAX_EXPONENT = 1e15
const CHUNK = 15

/** @param text as JSON (RFC 8259 §6) or `String(number)` writes a finite number */
export function decimalOf(text: string): Decimal {
  const sign = text.startsWith('-') ? -1 : 1
  const mark = text.search(/[eE]/)
  const mantissa = text.slice(sign < 0 ? 1 : 0, mark < 0 ? undefined : mark)
  const point = mantissa.indexOf('.')
  const whole = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1)
  let from = 0
  while (whole[from] === '0') from++
  if (from === whole.length) return { sign: 0, digits: '', exponent: 0 }
  let to = whole.length
  while (whole[to - 1] === '0') to--
  const power = mark < 0 ? 0 : Number(text.slice(mark + 1))
  const fraction = point < 0 ? 0 : mantissa.length - point - 1
  const exponent = Math.max(-MAX_EXPONENT, Math.min(MAX_EXPONENT, power)) - fraction + (whole.length - to)
  return { sign, digits: whole.slice(from, to), exponent }
}

/** Negative, zero or positive, as for sorting. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.sign !== b.sign) return a.sign - b.sign
  const size = a.exponent + a.digits.length - (b.exponent + b.digits.length)
  if (size !== 0) return size * a.sign
  // digits of the same power of ten; a shorter text that the longer one begins with is smaller
  if (a.digits === b.digits) return 0
  return a.digits < b.digits ? -a.sign : a.sign
}

export function isWhole({ exponent }: Decimal): boolean {
  return exponent >= 0
}

/** Equal for equal values only. */
export function canonicalText({ sign, digits, exponent }: Decimal): string {
  return sign === 0 ? '0' : `${sign < 0 ? '-' : ''}${digits}e${exponent}`
}

/** In time linear in the length of the value, for a given step. @param step not zero */
export function isMultipleOf(value: Decimal, step: Decimal): boolean {
  if (value.sign === 0) return true
  const power = value.exponent - step.exponent
  // digits do not end in zero, so ten divides them no further
  if (power < 0) return false
  const divisor = BigInt(step.digits)
  let rest = 0n
  for (let at = 0; at < value.digits.length; at += CHUNK) {
    const chunk = value.digits.slice(at, at + CHUNK)
    rest = (rest * 10n ** BigInt(chunk.length) + BigInt(chunk)) % divisor
  }
  return (power > 0 ? rest * powerOfTen(power, divisor) : rest) % divisor === 0n
}

/** 10^`exponent` modulo `divisor`. */
function powerOfTen(exponent: number, divisor: bigint): bigint {
  let result = 1n
  let base = 10n
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = (result * base) % divisor
    base = (base * base) % divisor
  }
  return result
}

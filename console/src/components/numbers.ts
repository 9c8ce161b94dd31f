/** Numbers and durations as text. */

const NUMBER = new Intl.NumberFormat('en')

export function number(value: number): string {
  return NUMBER.format(value)
}

/** Milliseconds, from 1,000 on seconds, with two or three significant digits, and never with fewer than it has before the point. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  return Math.round(ms) >= 1000
    ? `${significant(Math.max(ms, 1000) / 1000, 3)} s`
    : `${significant(ms, 2)} ms`
}

/** Not as an exponent, which `toPrecision` writes when the value has more digits before the point. */
function significant(value: number, digits: number): string {
  const text = value.toPrecision(digits)
  return text.includes('e') ? number(Math.round(value)) : text
}

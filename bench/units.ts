/** Figures as text for people, with their unit. */

const LADDERS: readonly (readonly string[])[] = [
  ['ns', 'µs', 'ms', 's'],
  ['KiB', 'MiB', 'GiB'],
]

/** Three digits, or all before the point from 1,000 on, in the unit of its kind that keeps them short: `77.1 ns`, `1.86 µs`, `52,100 calls/s`, `0.87`. */
export function shown(value: number, unit: string): string {
  const ladder = LADDERS.find(units => units.includes(unit))
  if (ladder === undefined) return `${digits(value)}${unit === '' ? '' : ` ${unit}`}`
  const step = ladder[0] === 'ns' ? 1000 : 1024
  let at = ladder.indexOf(unit)
  for (; value >= step && at < ladder.length - 1; at++) value /= step
  for (; value < 1 && value > 0 && at > 0; at--) value *= step
  return `${digits(value)} ${ladder[at]}`
}

/** Both ends in one unit: `77.1–79.0 ns`. */
export function shownRange(min: number, max: number, unit: string): string {
  const [low, high] = [shown(min, unit), shown(max, unit)]
  const [lowDigits, lowUnit] = low.split(' ')
  return lowUnit === high.split(' ')[1] ? `${lowDigits}–${high}` : `${low} – ${high}`
}

function digits(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

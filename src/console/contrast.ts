/** Colors as `#rrggbb`: their form, contrast and mixtures. */

export function isColor(value: unknown): value is string {
  return typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value)
}

function channels(color: string): readonly number[] {
  return [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))
}

function luminance(color: string): number {
  const [red, green, blue] = channels(color).map(value => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** WCAG 2.2, contrast ratio: from 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

/** @param share of the first color, from 0 to 1 */
export function mixOf(one: string, other: string, share: number): string {
  const base = channels(other)
  const mixed = channels(one).map((value, at) => Math.round(value * share + base[at]! * (1 - share)))
  return `#${mixed.map(value => value.toString(16).padStart(2, '0')).join('')}`
}

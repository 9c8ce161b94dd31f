/** Elements of HTML and SVG as text, escaped. */

export type Attributes = Readonly<Record<string, string | number | undefined>>

/** @param children are markup already: text goes through `text` */
export function tag(name: string, attributes: Attributes = {}, ...children: readonly string[]): string {
  const all = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${text(typeof value === 'number' ? rounded(value) : value!)}"`)
  return `<${name}${all.join('')}>${children.join('')}</${name}>`
}

export function text(value: string): string {
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** A picture that says in words what it shows. */
export function picture(
  size: { readonly width: number; readonly height: number },
  label: string,
  ...children: readonly string[]
): string {
  const { width, height } = size
  return tag(
    'svg',
    { viewBox: `0 0 ${rounded(width)} ${rounded(height)}`, role: 'img', 'aria-label': label },
    ...children,
  )
}

const rounded = (value: number): string => String(Math.round(value * 100) / 100)

/** The colour of the n-th series, from 0; there are eight. */
export const colour = (at: number): string => `var(--series-${(at % 8) + 1})`

/** Names beside their colours. */
export function legend(names: readonly string[]): string {
  return tag(
    'ul',
    { class: 'legend' },
    ...names.map((name, at) => tag('li', {}, tag('i', { style: `background:${colour(at)}` }), text(name))),
  )
}

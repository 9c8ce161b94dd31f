/** What a whole is made of, as one SVG bar and a table of its parts. */
import { shown } from '../units.ts'
import { colour, picture, tag, text } from './svg.ts'

export interface Share {
  readonly name: string
  readonly value: number
}

/** A limit drawn across the bar. */
export interface Mark {
  readonly name: string
  readonly value: number
}

const WIDTH = 920
const GAP = 2
/** As many colours as eyes keep apart; the smallest parts share the last one. */
const COLOURS = 8

export function stackedBar(
  title: string,
  parts: readonly Share[],
  unit: string,
  marks: readonly Mark[] = [],
): string {
  const drawn = folded(parts)
  const sum = parts.reduce((total, { value }) => total + value, 0)
  const widest = Math.max(sum, ...marks.map(({ value }) => value)) * 1.02
  const x = (value: number): number => (value / widest) * WIDTH
  let from = 0
  const segments = drawn.map(({ name, value }, at) => {
    const left = x(from)
    from += value
    const width = Math.max(x(from) - left - GAP, 0.5)
    return tag(
      'g',
      {},
      tag(
        'rect',
        { x: left, y: 24, width, height: 34, rx: 2, style: `fill:${colour(at)}` },
        tag('title', {}, text(`${name}: ${shown(value, unit)}`)),
      ),
      width > 62
        ? tag(
            'text',
            { x: left + width / 2, y: 46, 'text-anchor': 'middle', class: 'inside' },
            text(shown(value, unit)),
          )
        : '',
    )
  })
  const lines = marks.map(({ name, value }) =>
    [
      tag('line', { x1: x(value), x2: x(value), y1: 18, y2: 64, class: 'mark' }),
      tag('text', { x: x(value), y: 12, 'text-anchor': 'end' }, text(`${name} ${shown(value, unit)}`)),
    ].join(''),
  )
  return tag(
    'figure',
    { class: 'stacked' },
    tag('figcaption', {}, text(`${title}: ${shown(sum, unit)}`)),
    picture({ width: WIDTH, height: 70 }, `${title}, ${shown(sum, unit)}, by parts`, ...segments, ...lines),
    partsTable(drawn, unit, sum),
  )
}

function folded(parts: readonly Share[]): readonly Share[] {
  if (parts.length <= COLOURS) return parts
  const kept = [...parts].sort((a, b) => b.value - a.value).slice(0, COLOURS - 1)
  const rest = parts.filter(part => !kept.includes(part))
  return [
    ...parts.filter(part => kept.includes(part)),
    {
      name: rest.map(({ name, value }) => `${name} ${Math.round(value)}`).join(', '),
      value: rest.reduce((total, { value }) => total + value, 0),
    },
  ]
}

function partsTable(parts: readonly Share[], unit: string, sum: number): string {
  const rows = parts.map(({ name, value }, at) =>
    tag(
      'tr',
      {},
      tag('td', {}, tag('i', { style: `background:${colour(at)}` }), text(name)),
      tag('td', { class: 'figure' }, text(shown(value, unit))),
      tag('td', { class: 'figure' }, `${((value / sum) * 100).toFixed(0)} %`),
    ),
  )
  return tag('table', { class: 'parts' }, tag('tbody', {}, ...rows))
}

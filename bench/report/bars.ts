/** Figures of one kind side by side as horizontal SVG bars, each with the range of its repeats. */
import type { Spread } from '../statistics.ts'
import { shown, shownRange } from '../units.ts'
import { picture, tag, text } from './svg.ts'

export interface Bar extends Spread {
  readonly name: string
  /** Ours stand out, the others are what they are compared with. */
  readonly ours: boolean
}

const WIDTH = 920
const ROW = 28
const PLOT = { left: 300, right: 800 }

export function bars(title: string, all: readonly Bar[], unit: string): string {
  const largest = Math.max(...all.map(({ max }) => max))
  const x = (value: number): number => PLOT.left + (value / largest) * (PLOT.right - PLOT.left)
  const rows = all.map(({ name, median, min, max, ours }, at) => {
    const top = at * ROW + 4
    const middle = top + 9
    return tag(
      'g',
      {},
      tag('text', { x: PLOT.left - 10, y: middle + 4, 'text-anchor': 'end' }, text(name)),
      tag(
        'rect',
        {
          x: PLOT.left,
          y: top,
          width: Math.max(x(median) - PLOT.left, 1),
          height: 18,
          rx: 2,
          class: ours ? 'ours' : 'theirs',
        },
        tag('title', {}, text(`${name}: ${shown(median, unit)} (${shownRange(min, max, unit)})`)),
      ),
      tag('line', { x1: x(min), x2: x(max), y1: middle, y2: middle, class: 'whisker' }),
      tag('text', { x: x(max) + 8, y: middle + 4, class: 'value' }, text(shown(median, unit))),
    )
  })
  return tag(
    'figure',
    { class: 'bars' },
    tag('figcaption', {}, text(title)),
    picture({ width: WIDTH, height: all.length * ROW + 4 }, title, ...rows),
  )
}

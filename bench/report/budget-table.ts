/** The table of targets in HTML, each row with a small picture of how much of its limit is used. */
import { boundText } from '../table.ts'
import { shown } from '../units.ts'
import type { JudgedBound, JudgedRow } from './judge.ts'
import { GROUPS, rangeText, ratioTexts, shortIn } from './results-markdown.ts'
import { picture, tag, text } from './svg.ts'

const WORDS: Record<JudgedRow['verdict'], string> = {
  stretch: '✓ stretch',
  met: '✓ met',
  noisy: 'no claim: not quiet',
  missed: '✗ missed',
  unmeasured: '○ not measured',
}
const HEAD = [
  'What',
  'Median',
  'Ratio to its reference',
  'Target',
  'Used of the limit',
  'Verdict',
  'Specified',
]

export function budgetTable(rows: readonly JudgedRow[]): string {
  return GROUPS.map(({ id, title }) => {
    const own = rows.filter(({ target }) => target.group === id)
    if (own.length === 0) return ''
    return tag(
      'table',
      { class: 'budget' },
      tag('caption', {}, text(title)),
      tag('thead', {}, tag('tr', {}, ...HEAD.map(name => tag('th', { scope: 'col' }, text(name))))),
      tag('tbody', {}, ...own.map(budgetRow)),
    )
  }).join('')
}

function budgetRow(row: JudgedRow): string {
  const { target, line, bounds, verdict, explanation } = row
  const ratios = line === undefined ? [] : ratioTexts(row)
  const cells = [
    tag('th', { scope: 'row' }, text(target.what), tag('small', {}, text(target.case))),
    line === undefined
      ? tag('td', {}, '–')
      : tag('td', {}, text(shown(line.median, line.unit)), tag('small', {}, text(rangeText(line)))),
    tag('td', {}, ratios.map(text).join('<br>') || '–'),
    tag(
      'td',
      {},
      bounds.map(({ bound }) => text(boundText(bound, target.unit, shortIn(target)))).join('<br>'),
    ),
    tag('td', {}, ...bounds.map(used)),
    tag('td', { class: 'verdict' }, WORDS[verdict]),
    tag('td', {}, target.specified === undefined ? '' : text(shown(target.specified, target.unit))),
  ]
  const why =
    verdict === 'missed' && explanation !== undefined
      ? tag('tr', { class: 'why' }, tag('td', { colspan: HEAD.length }, text(explanation)))
      : ''
  return tag('tr', { class: verdict }, ...cells) + why
}

const SIZE = { width: 120, height: 16 }
/** Limits are drawn at half the width: twice a limit fills it. */
const LIMIT = SIZE.width / 2

/** How much of a limit is used: right of the mark is over. Of a least value, the limit in parts of the figure. */
function used({ bound, figure, verdict }: JudgedBound): string {
  if (figure === undefined || verdict === undefined) return ''
  const share = bound.max === undefined ? bound.min! / figure.median : figure.median / bound.max
  return picture(
    SIZE,
    `${(share * 100).toFixed(0)} % of the limit used`,
    tag('rect', { x: 0, y: 4, width: SIZE.width, height: 8, rx: 2, class: 'track' }),
    tag(
      'rect',
      { x: 0, y: 4, width: Math.min(share * LIMIT, SIZE.width), height: 8, rx: 2, class: verdict },
      tag('title', {}, `${(share * 100).toFixed(0)} % of the limit`),
    ),
    tag('line', { x1: LIMIT, x2: LIMIT, y1: 0, y2: SIZE.height, class: 'mark' }),
  )
}

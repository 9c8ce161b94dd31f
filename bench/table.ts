/** Figures and verdicts of suites as text for people. */
import type { RatioVerdict } from './budgets.ts'
import { grid } from './grid.ts'
import { ratioSpread, spread } from './statistics.ts'
import type { Fact, Figures } from './suite.ts'
import { type Bound, type Target, verdictOf, worst } from './targets.ts'
import { shown, shownRange } from './units.ts'

/** Once, above all tables: every column in a few words. */
export const LEGEND = [
  'Time for one operation: median of the rounds, then fastest–slowest round, then the 99th percentile of single runs.',
  'ratio: its time in parts of the reference’s, measured in turns with it (below 1 is faster; range over the rounds).',
  'target: bench/targets.json, of this time or of a ratio; “met, stretch too” keeps the harder limit as well.',
].join('\n')

const HEAD = ['case', 'median', 'rounds', 'p99', 'ratio', 'of reference', 'target', 'verdict']
const FIGURES = [1, 2, 3]

/**
 * One suite.
 * @param suite its id: left out of the cases' names
 */
export function suiteTable(
  suite: { readonly id: string; readonly title: string },
  figures: readonly Figures[],
  facts: readonly Fact[],
  targets: readonly Target[],
): string {
  const short = (id: string): string => (id.startsWith(`${suite.id}/`) ? id.slice(suite.id.length + 1) : id)
  const references = new Set(figures.map(({ of }) => of))
  const rows = figures.map(row => {
    const { min, max } = spread(row.roundsNs)
    const target = targets.find(one => one.case === row.id && one.metric === 'time')
    return [
      short(row.id),
      shown(row.medianNs, 'ns'),
      shownRange(min, max, 'ns'),
      shown(row.p99Ns, 'ns'),
      ratioText(row, figures),
      row.of === undefined ? (references.has(row.id) ? '← reference' : '') : short(row.of),
      target === undefined ? '' : target.bounds.map(bound => boundText(bound, target.unit, short)).join('; '),
      target === undefined ? '' : verdictText(target, row, figures),
    ]
  })
  return [
    `\n${suite.id}: ${suite.title}`,
    grid(HEAD, rows, FIGURES),
    ...facts.map(({ id, value, unit, note }) => {
      return `${short(id)}: ${shown(value, unit)}${note === undefined ? '' : ` (${note})`}`
    }),
  ].join('\n')
}

/** The ratios that decide the exit code. */
export function ratioTable(verdicts: readonly RatioVerdict[]): string {
  const rows = verdicts.map(({ case: mine, of, max, ratio, kept, why }) => [
    mine,
    of,
    ratio.toFixed(2),
    `≤ ${max}`,
    kept ? 'kept' : 'BROKEN',
    why,
  ])
  const head = ['case', 'in parts of', 'ratio', 'budget', 'verdict', 'why']
  return `\nBudgets of ratios (bench/budgets.json): a broken one fails the run\n${grid(head, rows, [2])}`
}

/** `≤ 45 ns (stretch 35 ns)`, `≤ 0.60 × match/50/find-my-way`. */
export function boundText(bound: Bound, unit: string, short: (id: string) => string = id => id): string {
  const { on, of, max, min, stretch } = bound
  const text = (limit: number): string =>
    on === 'value' ? shown(limit, unit).replace(/\.0+ /, ' ') : limit.toFixed(2)
  return [
    max === undefined ? '≥' : '≤',
    text((max ?? min)!),
    ...(of === undefined ? [] : ['×', short(of)]),
    ...(stretch === undefined ? [] : [`(stretch ${text(stretch)})`]),
  ].join(' ')
}

function ratioText(row: Figures, figures: readonly Figures[]): string {
  const other = figures.find(({ id }) => id === row.of)
  if (other === undefined) return ''
  const { median, min, max } = ratioSpread(row.roundsNs, other.roundsNs)
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
}

/** `met`, or what was missed or not measured, and whether the fixed limit of the target is kept. */
function verdictText(target: Target, row: Figures, figures: readonly Figures[]): string {
  const judged = target.bounds.map(bound => {
    if (bound.on === 'value') return { what: 'time', verdict: verdictOf(bound, row.medianNs) }
    const other = figures.find(({ id }) => id === bound.of)
    if (other === undefined) return { what: 'ratio', verdict: 'unmeasured' as const }
    return { what: 'ratio', verdict: verdictOf(bound, ratioSpread(row.roundsNs, other.roundsNs).median) }
  })
  const missed = judged.filter(({ verdict }) => verdict === 'missed').map(({ what }) => what)
  const verdicts = judged.flatMap(({ verdict }) => (verdict === 'unmeasured' ? [] : verdict))
  if (missed.length === 0) {
    if (verdicts.length < judged.length) return 'unmeasured: ratio'
    return worst(verdicts) === 'stretch' ? 'met, stretch too' : 'met'
  }
  const keeps = target.specified !== undefined && row.medianNs <= target.specified
  return `MISSED: ${missed.join(', ')}${keeps ? `; keeps the ${shown(target.specified!, 'ns')} specified` : ''}`
}

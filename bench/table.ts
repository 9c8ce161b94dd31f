/** Figures and verdicts as text for people. It judges nothing. */
import { absoluteVerdict, type Budgets, type RatioVerdict } from './budgets.ts'
import type { Figures } from './suite.ts'

/** One suite: case, median, range of the rounds, p99, samples, budget, verdict. */
export function suiteTable(title: string, figures: readonly Figures[], budgets: Budgets): string {
  const rows = figures.map(row => {
    const budget = budgets.absolute[row.id]
    const wanted =
      budget === undefined
        ? ''
        : [budget.targetNs, budget.stretchNs].filter(Boolean).map(Number).map(time).join(', then ')
    return [
      row.id,
      time(row.medianNs),
      `${time(row.minNs)} – ${time(row.maxNs)}`,
      time(row.p99Ns),
      String(row.samples),
      wanted,
      absoluteVerdict(budgets, row),
    ]
  })
  return `\n${title}\n${grid(['case', 'median', 'rounds', 'p99', 'samples', 'target', 'verdict'], rows)}`
}

/** The ratios that decide the exit code. */
export function ratioTable(verdicts: readonly RatioVerdict[]): string {
  const rows = verdicts.map(({ case: mine, of, max, ratio, kept, why }) => [
    `${mine} / ${of}`,
    ratio.toFixed(2),
    `≤ ${max}`,
    kept ? 'kept' : 'BROKEN',
    why,
  ])
  return `\nRatios in this run\n${grid(['case / of', 'ratio', 'budget', 'verdict', 'why'], rows)}`
}

function time(ns: number): string {
  if (ns < 1000) return `${ns < 100 ? ns.toFixed(1) : ns.toFixed(0)} ns`
  return ns < 1e6 ? `${(ns / 1000).toFixed(2)} µs` : `${(ns / 1e6).toFixed(2)} ms`
}

function grid(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map(row => row[column]!.length)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return [line(head), widths.map(width => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

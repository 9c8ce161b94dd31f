/** Compares the newest results with the table of targets, and fills in the explanation of each row that has one. */
import { readFileSync } from 'node:fs'
import { MAX_SLOW } from '../pace.ts'
import { MAX_OTHERS } from '../quiet.ts'
import type { ResultLine } from '../record.ts'
import { ratioSpread, type Spread } from '../statistics.ts'
import { type Bound, type Target, type Verdict, verdictOf, worst } from '../targets.ts'
import { explain } from './explain.ts'
import type { Results } from './read-results.ts'

/** Row of the table → why it was missed: the profile or the proof, with figures of the run in braces (`explain.ts`). */
export type Explanations = Readonly<Record<string, string>>

export interface JudgedBound {
  readonly bound: Bound
  /** What it was held against; undefined when the reference was not measured in the same run. */
  readonly figure: Spread | undefined
  readonly verdict: Verdict | undefined
}

export interface JudgedRow {
  readonly target: Target
  /** Undefined when nothing fills it. */
  readonly line: ResultLine | undefined
  readonly bounds: readonly JudgedBound[]
  /** A row is met when every bound is; it is unmeasured when one has no figure and none was missed, noisy when the machine was not quiet. */
  readonly verdict: Verdict | 'unmeasured' | 'noisy'
  readonly explanation: string | undefined
}

export function readExplanations(file: URL = new URL('../explanations.json', import.meta.url)): Explanations {
  return JSON.parse(readFileSync(file, 'utf8')) as Explanations
}

export function judge(
  targets: readonly Target[],
  results: Results,
  explanations: Explanations,
): readonly JudgedRow[] {
  return targets.map(target => {
    const line =
      results.find(target.case, target.metric) ?? results.lines.find(one => one.target === target.id)
    const bounds = target.bounds.map(bound => judged(bound, line, results))
    return {
      target,
      line,
      bounds,
      verdict: isNoisy(line) ? 'noisy' : ofRow(bounds),
      explanation: explanationOf(explanations[target.id], line, results),
    }
  })
}

function explanationOf(
  text: string | undefined,
  line: ResultLine | undefined,
  results: Results,
): string | undefined {
  return text === undefined || line === undefined ? text : explain(text, line, results)
}

function judged(bound: Bound, line: ResultLine | undefined, results: Results): JudgedBound {
  const figure = line && figureOf(bound, line, results)
  return { bound, figure, verdict: figure && verdictOf(bound, figure.median) }
}

function figureOf(bound: Bound, line: ResultLine, results: Results): Spread | undefined {
  if (bound.on === 'value') return line
  const other = results.beside(line, bound.of!)
  const ratio = other && ratioSpread(line.samples, other.samples)
  return ratio !== undefined && Number.isFinite(ratio.max) ? ratio : undefined
}

/** Lines of earlier versions do not say it. */
function isNoisy(line: ResultLine | undefined): boolean {
  const { others = 0, slow = 0 } = line ?? {}
  return others > MAX_OTHERS || slow > MAX_SLOW
}

function ofRow(bounds: readonly JudgedBound[]): JudgedRow['verdict'] {
  const verdicts = bounds.flatMap(({ verdict }) => verdict ?? [])
  const verdict = worst(verdicts)
  return verdict !== 'missed' && verdicts.length < bounds.length ? 'unmeasured' : verdict
}

/** How many rows came out how. */
export function counted(rows: readonly JudgedRow[]): Record<JudgedRow['verdict'], number> {
  const counts = { stretch: 0, met: 0, missed: 0, unmeasured: 0, noisy: 0 }
  for (const { verdict } of rows) counts[verdict]++
  return counts
}

/** Reads `budgets.json`, the limits that fail a run, and compares figures with them. It measures nothing; targets are in `targets.json`. */
import { readFileSync } from 'node:fs'
import { ratioSpread } from './statistics.ts'
import type { Figures } from './suite.ts'

/** `case` takes at most `max` times what `of` takes in the same run. Broken, it fails the run. */
export interface RatioBudget {
  readonly case: string
  readonly of: string
  readonly max: number
  /** What `npm run bench:gate` allows of it, with a margin for a loaded machine; absent: the gate leaves it out. */
  readonly gateMax?: number
  /** What the limit stands for. */
  readonly why: string
}

/** What a call may cost on one rung of the ladder (bench/http/ladder). */
export interface RungBudget {
  readonly rung: string
  /** Allocated on the JavaScript heap by a call. The figure is nearly the same on every machine and under every load: 5 % are margin enough. */
  readonly maxBytes: number
  /**
   * What `npm run bench:gate` allows of CPU time in parts of the floor's, with a margin for a loaded machine; absent: not judged. It holds for
   * the gate's own load: under another one both programs read more, or less, at a time.
   */
  readonly gateMaxFloorRatio?: number
  /** What the limits stand for. */
  readonly why: string
}

export interface Budgets {
  readonly ratios: readonly RatioBudget[]
  readonly rungs: readonly RungBudget[]
}

export type RatioVerdict = RatioBudget & { readonly ratio: number; readonly kept: boolean }

/** One limit of a rung: on bytes (`allocated`), or on CPU time in parts of the floor's (`cpu`). */
export interface RungLimit {
  readonly rung: string
  readonly metric: 'allocated' | 'cpu'
  readonly max: number
  readonly why: string
}

export type RungFigure = Pick<RungLimit, 'rung' | 'metric'> & { readonly figure: number }
export type RungVerdict = RungLimit & RungFigure & { readonly kept: boolean }

export function readBudgets(file: URL = new URL('budgets.json', import.meta.url)): Budgets {
  return JSON.parse(readFileSync(file, 'utf8')) as Budgets
}

/** Verdicts on the ratios whose two cases were both measured: median of the rounds' ratios, the rounds having been taken in turns. */
export function ratioVerdicts(budgets: Pick<Budgets, 'ratios'>, figures: readonly Figures[]): RatioVerdict[] {
  const rounds = new Map(figures.map(({ id, roundsNs }) => [id, roundsNs]))
  return budgets.ratios.flatMap(budget => {
    const mine = rounds.get(budget.case)
    const other = rounds.get(budget.of)
    if (mine === undefined || other === undefined) return []
    const ratio = ratioSpread(mine, other).median
    return [{ ...budget, ratio, kept: ratio <= budget.max }]
  })
}

/** The ratios of each suite, and those whose suite does not exist: a renamed file must not lose its budgets in silence. */
export function ratiosBySuite(
  ratios: readonly RatioBudget[],
  suites: readonly string[],
): { readonly of: ReadonlyMap<string, readonly RatioBudget[]>; readonly lost: readonly RatioBudget[] } {
  const of = new Map<string, RatioBudget[]>()
  const lost: RatioBudget[] = []
  for (const ratio of ratios) {
    const suite = suites.find(name => ratio.case.startsWith(`${name}/`))
    if (suite === undefined) lost.push(ratio)
    else of.set(suite, [...(of.get(suite) ?? []), ratio])
  }
  return { of, lost }
}

/** Case ids that `budgets.json` names and that no bench file measured: a renamed case must not lose its budget in silence. */
export function unmeasured(budgets: Budgets, figures: readonly Figures[]): string[] {
  const measured = new Set(figures.map(({ id }) => id))
  const named = budgets.ratios.flatMap(ratio => [ratio.case, ratio.of])
  return [...new Set(named)].filter(id => !measured.has(id))
}

export function rungLimits(budgets: readonly RungBudget[]): RungLimit[] {
  return budgets.flatMap(({ rung, maxBytes, gateMaxFloorRatio, why }) => [
    { rung, metric: 'allocated', max: maxBytes, why },
    ...(gateMaxFloorRatio === undefined
      ? []
      : [{ rung, metric: 'cpu', max: gateMaxFloorRatio, why } as const]),
  ])
}

/** Verdicts on the limits whose figure was measured. */
export function rungVerdicts(limits: readonly RungLimit[], figures: readonly RungFigure[]): RungVerdict[] {
  return limits.flatMap(limit => {
    const measured = figures.find(({ rung, metric }) => rung === limit.rung && metric === limit.metric)
    if (measured === undefined) return []
    return [{ ...limit, figure: measured.figure, kept: measured.figure <= limit.max }]
  })
}

/** What is wrong with the pairs of rung and budget, as text for people: a renamed rung must not lose its budget in silence. */
export function unpaired(budgets: readonly RungBudget[], rungs: readonly string[]): string[] {
  const named = budgets.map(({ rung }) => rung)
  return [
    ...rungs
      .filter(rung => !named.includes(rung))
      .map(rung => `rung "${rung}" of the ladder has no budget: add it to "rungs" in bench/budgets.json`),
    ...named
      .filter(rung => !rungs.includes(rung))
      .map(rung => `bench/budgets.json has a budget for rung "${rung}", which the ladder does not have`),
    ...named
      .filter((rung, at) => named.indexOf(rung) !== at)
      .map(rung => `bench/budgets.json has two budgets for rung "${rung}"`),
  ]
}

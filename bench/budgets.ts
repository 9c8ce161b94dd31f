/** Reads `budgets.json`, the ratios that fail a run, and holds figures against it. What is wanted beyond stands in `targets.json`. */
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

export interface Budgets {
  readonly ratios: readonly RatioBudget[]
}

export type RatioVerdict = RatioBudget & { readonly ratio: number; readonly kept: boolean }

export function readBudgets(file: URL = new URL('budgets.json', import.meta.url)): Budgets {
  return JSON.parse(readFileSync(file, 'utf8')) as Budgets
}

/** Verdicts on the ratios whose two cases were both measured: median of the rounds' ratios, the rounds having been taken in turns. */
export function ratioVerdicts(budgets: Budgets, figures: readonly Figures[]): RatioVerdict[] {
  const rounds = new Map(figures.map(({ id, roundsNs }) => [id, roundsNs]))
  return budgets.ratios.flatMap(budget => {
    const mine = rounds.get(budget.case)
    const other = rounds.get(budget.of)
    if (mine === undefined || other === undefined) return []
    const ratio = ratioSpread(mine, other).median
    return [{ ...budget, ratio, kept: ratio <= budget.max }]
  })
}

/** Case ids that `budgets.json` names and that no bench file measured: a renamed case must not lose its budget in silence. */
export function unmeasured(budgets: Budgets, figures: readonly Figures[]): string[] {
  const measured = new Set(figures.map(({ id }) => id))
  const named = budgets.ratios.flatMap(ratio => [ratio.case, ratio.of])
  return [...new Set(named)].filter(id => !measured.has(id))
}

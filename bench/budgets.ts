/** Reads `budgets.json` and holds figures against it. It measures nothing and prints nothing. */
import { readFileSync } from 'node:fs'
import type { Figures } from './suite.ts'

/** Nanoseconds; they only inform, since machines differ and drift by ±20 %. */
export interface AbsoluteBudget {
  /** The specification's overhead target. */
  readonly specifiedNs?: number
  readonly targetNs: number
  readonly stretchNs?: number
}

/** `case` takes at most `max` times what `of` takes in the same run. Broken, it fails the run. */
export interface RatioBudget {
  readonly case: string
  readonly of: string
  readonly max: number
  /** What the limit stands for. */
  readonly why: string
}

export interface Budgets {
  readonly absolute: { readonly [caseId: string]: AbsoluteBudget }
  readonly ratios: readonly RatioBudget[]
}

export type RatioVerdict = RatioBudget & { readonly ratio: number; readonly kept: boolean }

export function readBudgets(file: URL = new URL('budgets.json', import.meta.url)): Budgets {
  return JSON.parse(readFileSync(file, 'utf8')) as Budgets
}

/** `stretch`, `target`, `specified`: the hardest that was kept; `over`: none; '' without a budget. */
export function absoluteVerdict(budgets: Budgets, { id, medianNs }: Figures): string {
  const budget = budgets.absolute[id]
  if (budget === undefined) return ''
  if (budget.stretchNs !== undefined && medianNs <= budget.stretchNs) return 'stretch'
  if (medianNs <= budget.targetNs) return 'target'
  return budget.specifiedNs !== undefined && medianNs <= budget.specifiedNs ? 'specified' : 'over'
}

/** Verdicts on the ratios whose two cases were both measured. */
export function ratioVerdicts(budgets: Budgets, figures: readonly Figures[]): RatioVerdict[] {
  const medians = new Map(figures.map(({ id, medianNs }) => [id, medianNs]))
  return budgets.ratios.flatMap(budget => {
    const mine = medians.get(budget.case)
    const other = medians.get(budget.of)
    if (mine === undefined || other === undefined) return []
    const ratio = mine / other
    return [{ ...budget, ratio, kept: ratio <= budget.max }]
  })
}

/** Case ids that `budgets.json` names and that no bench file measured: a renamed case must not lose its budget in silence. */
export function unmeasured(budgets: Budgets, figures: readonly Figures[]): string[] {
  const measured = new Set(figures.map(({ id }) => id))
  const named = [...Object.keys(budgets.absolute), ...budgets.ratios.flatMap(ratio => [ratio.case, ratio.of])]
  return [...new Set(named)].filter(id => !measured.has(id))
}

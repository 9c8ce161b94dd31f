/** The verdict on the budgets of the rungs, with a second measurement of what is over its limit. */
import {
  type RungBudget,
  type RungFigure,
  type RungLimit,
  type RungVerdict,
  rungLimits,
  rungVerdicts,
  unpaired,
} from '../../budgets.ts'
import { shown } from '../../units.ts'

/** The figures of these limits; `again`: of those that were over them, measured for longer. */
export type MeasureRungs = (limits: readonly RungLimit[], again: boolean) => Promise<readonly RungFigure[]>

export interface RungsJudged {
  /** One for each limit and for each fault. */
  readonly lines: readonly string[]
  readonly limits: number
  /** Limits that were over or could not be measured, and rungs and budgets without each other. */
  readonly broken: number
}

/** @param rungs of the ladder */
export async function judgeRungs(
  budgets: readonly RungBudget[],
  rungs: readonly string[],
  measure: MeasureRungs,
): Promise<RungsJudged> {
  const faults = unpaired(budgets, rungs)
  const limits = rungLimits(budgets.filter(({ rung }) => rungs.includes(rung)))
  const first = rungVerdicts(limits, await measure(limits, false))
  const doubtful = first.filter(({ kept }) => !kept)
  const again = doubtful.length === 0 ? [] : rungVerdicts(doubtful, await measure(doubtful, true))
  const verdicts = first.map(
    one => again.find(({ rung, metric }) => rung === one.rung && metric === one.metric) ?? one,
  )
  const without = limits.filter(
    ({ rung, metric }) => !verdicts.some(one => one.rung === rung && one.metric === metric),
  )
  return {
    lines: [
      ...verdicts.map(lineOf),
      ...without.map(({ rung, metric }) => `BROKEN http/ladder/${rung}: ${metric} could not be measured`),
      ...faults.map(fault => `BROKEN ${fault}`),
    ],
    limits: limits.length,
    broken: verdicts.filter(({ kept }) => !kept).length + without.length + faults.length,
  }
}

function lineOf({ rung, metric, figure, max, kept, why }: RungVerdict): string {
  const text = `${rungFigureText(metric, figure)} of ≤ ${rungFigureText(metric, max)}  http/ladder/${rung}`
  return kept ? `kept   ${text}` : `BROKEN ${text}: ${why}`
}

/** `14,130 B`, `4.21 × floor`. */
export function rungFigureText(metric: RungLimit['metric'], figure: number): string {
  return metric === 'allocated' ? shown(figure, 'B') : `${shown(figure, '')} × floor`
}

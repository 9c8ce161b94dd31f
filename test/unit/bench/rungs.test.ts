/** The budgets of the ladder's rungs: which figures break them, what is measured twice, and that no rung goes without. */
import { describe, expect, it } from 'vitest'
import {
  type RungFigure,
  type RungLimit,
  readBudgets,
  rungLimits,
  rungVerdicts,
} from '../../../bench/budgets.ts'
import { judgeRungs } from '../../../bench/http/ladder/judge.ts'
import { CALLS, GATEWAY, RUNGS } from '../../../bench/http/ladder/rung-list.ts'

const BUDGETS = [
  { rung: 'floor', maxBytes: 1000, why: 'the runtime' },
  { rung: 'meter', maxBytes: 5000, gateMaxFloorRatio: 4, why: 'the event is encoded in place' },
]
const NAMES = ['floor', 'meter']
const figure = (rung: string, metric: RungFigure['metric'], value: number): RungFigure => ({
  rung,
  metric,
  figure: value,
})
const KEPT = [
  figure('floor', 'allocated', 1000),
  figure('meter', 'allocated', 4800),
  figure('meter', 'cpu', 3.1),
]

/** Gives the first figures, then the second ones, and keeps what it was asked for. */
function measurement(...runs: readonly (readonly RungFigure[])[]) {
  const asked: { readonly limits: readonly RungLimit[]; readonly again: boolean }[] = []
  return {
    asked,
    measure: async (limits: readonly RungLimit[], again: boolean): Promise<readonly RungFigure[]> => {
      asked.push({ limits, again })
      return runs[asked.length - 1]!
    },
  }
}

describe('budgets of rungs', () => {
  it('are a limit of bytes, and one of CPU time where it is asked for', () => {
    expect(rungLimits(BUDGETS).map(({ rung, metric, max }) => [rung, metric, max])).toEqual([
      ['floor', 'allocated', 1000],
      ['meter', 'allocated', 5000],
      ['meter', 'cpu', 4],
    ])
  })

  it('are kept up to the limit itself, and NaN breaks them', () => {
    const limits = rungLimits(BUDGETS)
    const kept = (...figures: RungFigure[]): boolean[] =>
      rungVerdicts(limits, figures).map(verdict => verdict.kept)
    expect(kept(...KEPT)).toEqual([true, true, true])
    expect(kept(figure('floor', 'allocated', 1000.1))).toEqual([false])
    expect(kept(figure('floor', 'allocated', Number.NaN))).toEqual([false])
    expect(kept(figure('meter', 'cpu', 4.01))).toEqual([false])
  })

  it('of the repository belong to the rungs, and have known fields only', () => {
    const { rungs } = readBudgets()
    for (const { rung, maxBytes, gateMaxFloorRatio = 1, why, ...unknown } of rungs) {
      expect(unknown, rung).toEqual({})
      expect(maxBytes, rung).toBeGreaterThan(0)
      expect(gateMaxFloorRatio, rung).toBeGreaterThanOrEqual(1)
      expect(why, rung).not.toBe('')
    }
    expect(rungs.map(({ rung }) => rung)).toEqual([...RUNGS, GATEWAY, ...CALLS].map(([name]) => name))
  })
})

describe('the gate', () => {
  it('measures once what is within its limits', async () => {
    const { asked, measure } = measurement(KEPT)
    const { lines, ...counts } = await judgeRungs(BUDGETS, NAMES, measure)
    expect(counts).toEqual({ limits: 3, broken: 0 })
    expect(lines).toEqual([
      'kept   1,000 B of ≤ 1,000 B  http/ladder/floor',
      'kept   4,800 B of ≤ 5,000 B  http/ladder/meter',
      'kept   3.10 × floor of ≤ 4.00 × floor  http/ladder/meter',
    ])
    expect(asked).toHaveLength(1)
  })

  it('measures again only what was over, and believes the second figure', async () => {
    const noisy = [KEPT[0]!, KEPT[1]!, figure('meter', 'cpu', 6)]
    const { asked, measure } = measurement(noisy, [KEPT[2]!])
    expect((await judgeRungs(BUDGETS, NAMES, measure)).broken).toBe(0)
    expect(asked.map(({ again }) => again)).toEqual([false, true])
    expect(asked[1]!.limits).toMatchObject([{ rung: 'meter', metric: 'cpu' }])
  })

  it('fails with the rung, the figure, the limit and what it stands for', async () => {
    const over = [KEPT[0]!, figure('meter', 'allocated', 5400), KEPT[2]!]
    const { measure } = measurement(over, [figure('meter', 'allocated', 5300)])
    const { lines, broken } = await judgeRungs(BUDGETS, NAMES, measure)
    expect(broken).toBe(1)
    expect(lines).toContain('BROKEN 5,300 B of ≤ 5,000 B  http/ladder/meter: the event is encoded in place')
  })

  it('fails when a limit cannot be measured', async () => {
    const { measure } = measurement(KEPT.slice(0, 2))
    const { lines, broken } = await judgeRungs(BUDGETS, NAMES, measure)
    expect(broken).toBe(1)
    expect(lines).toContain('BROKEN http/ladder/meter: cpu could not be measured')
  })

  it('fails when the second measurement does not give the figure', async () => {
    const { measure } = measurement([KEPT[0]!, KEPT[1]!, figure('meter', 'cpu', 6)], [])
    expect((await judgeRungs(BUDGETS, NAMES, measure)).broken).toBe(1)
  })

  it('fails on a rung without a budget and on a budget without a rung: a renamed rung keeps its budget', async () => {
    const { asked, measure } = measurement(KEPT)
    const { lines, broken, limits } = await judgeRungs(BUDGETS, ['floor', 'metering'], measure)
    expect(broken).toBeGreaterThanOrEqual(2)
    expect(limits).toBe(1)
    expect(asked[0]!.limits.map(({ rung }) => rung)).toEqual(['floor'])
    expect(lines).toContain(
      'BROKEN rung "metering" of the ladder has no budget: add it to "rungs" in bench/budgets.json',
    )
    expect(lines).toContain(
      'BROKEN bench/budgets.json has a budget for rung "meter", which the ladder does not have',
    )
  })

  it('fails on two budgets for one rung', async () => {
    const { measure } = measurement(KEPT)
    const { lines } = await judgeRungs([...BUDGETS, BUDGETS[0]!], NAMES, measure)
    expect(lines).toContain('BROKEN bench/budgets.json has two budgets for rung "floor"')
  })
})

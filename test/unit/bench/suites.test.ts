/** Which suites a filter selects, budgets of suites that do not exist, and verdicts of the table. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ratiosBySuite, readBudgets } from '../../../bench/budgets.ts'
import { suiteFiles, suiteOf } from '../../../bench/suite-process.ts'
import { suiteTable } from '../../../bench/table.ts'
import type { Target } from '../../../bench/targets.ts'

const BENCH = fileURLToPath(new URL('../../../bench/', import.meta.url))
const all = suiteFiles(BENCH, '').map(suiteOf)
const selected = (filter: string): string[] => suiteFiles(BENCH, filter).map(suiteOf)

describe('a filter', () => {
  it.each([
    ['kernel/normalize/dirty', ['kernel/normalize']],
    ['normalize/clean', ['kernel/normalize']],
    ['malize/cl', ['kernel/normalize']],
    ['token/first-sight', ['stages/token/first-sight']],
    ['kernel/copy,stages/api-key', ['kernel/copy', 'stages/api-key']],
  ])('%s selects the suites that it names', (filter, suites) => {
    expect(selected(filter)).toEqual(suites)
  })

  it.each(['', 'wasm', 'match', 'clean/wasm', 'clean/wasm,kernel/copy'])(
    '%j may be in the ids of every suite',
    filter => {
      expect(selected(filter)).toEqual(all)
    },
  )

  it('with a folder selects its suites', () => {
    expect(selected('stages/')).toEqual(all.filter(suite => suite.startsWith('stages/')))
  })
})

describe('budgets of ratios', () => {
  const { ratios } = readBudgets()

  it('belong to a suite each', () => {
    const { of, lost } = ratiosBySuite(ratios, all)
    expect(lost).toEqual([])
    expect([...of.values()].flat()).toHaveLength(ratios.length)
  })

  it('are lost when their suite is renamed', () => {
    const renamed = all.map(suite => (suite === 'kernel/match' ? 'kernel/matching' : suite))
    const { of, lost } = ratiosBySuite(ratios, renamed)
    expect(lost).toEqual(ratios.filter(ratio => ratio.case.startsWith('kernel/match/')))
    expect(lost).not.toEqual([])
    expect([...of.values()].flat()).toHaveLength(ratios.length - lost.length)
  })
})

describe('the table of a suite', () => {
  const target: Target = {
    id: 't',
    group: 'stages',
    what: 'a test',
    case: 's/mine',
    metric: 'time',
    unit: 'ns',
    bounds: [
      { on: 'value', max: 100 },
      { on: 'ratio', of: 's/other', max: 0.5 },
    ],
  }
  const figures = (id: string, ns: number) => ({ id, roundsNs: [ns], medianNs: ns, p99Ns: ns, runs: 1 })
  const table = (...measured: ReturnType<typeof figures>[]): string =>
    suiteTable({ id: 's', title: 'Test' }, measured, [], [target])

  it('makes no claim about a bound whose reference was not measured', () => {
    expect(table(figures('s/mine', 90))).toContain('unmeasured: ratio')
    expect(table(figures('s/mine', 90))).not.toContain('met')
    expect(table(figures('s/mine', 110))).toContain('MISSED: time')
    expect(table(figures('s/mine', 90), figures('s/other', 200))).toMatch(/ met\s*$/m)
    expect(table(figures('s/mine', 90), figures('s/other', 100))).toContain('MISSED: ratio')
  })
})

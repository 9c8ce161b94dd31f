/**
 * `npm run bench:gate`: the ratios of `budgets.json` that have a `gateMax`, each within one run, and the budgets of the rungs. It measures a
 * little, judges what a loaded machine does not change and keeps nothing: times are the business of `bench:micro`.
 * Exit code 1: a limit was broken twice, or could not be measured. A breach is measured once more, for longer, before it counts.
 */
import { fileURLToPath } from 'node:url'
import { type RatioBudget, type RatioVerdict, ratiosBySuite, ratioVerdicts, readBudgets } from './budgets.ts'
import { rungMeasurement } from './http/ladder/gate-figures.ts'
import { judgeRungs } from './http/ladder/judge.ts'
import { CALLS, GATEWAY, RUNGS } from './http/ladder/rung-list.ts'
import { runSuite, suiteFiles, suiteOf } from './suite-process.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const FIRST = { timeMs: 12, rounds: 7 }
const AGAIN = { timeMs: 60, rounds: 11 }

// the backend of the rungs listens on
process.exit(await main())

async function main(): Promise<number> {
  const budgets = readBudgets()
  const ratios = budgets.ratios.flatMap(ratio =>
    ratio.gateMax === undefined ? [] : [{ ...ratio, max: ratio.gateMax }],
  )
  const files = suiteFiles(HERE, '')
  const { of: ratiosOf, lost } = ratiosBySuite(ratios, files.map(suiteOf))
  let broken = lost.length
  for (const { case: mine, of } of lost)
    console.log(`BROKEN ${mine} / ${of}: no suite has this case; is its name in budgets.json still right?`)
  for (const file of files) {
    const ofSuite = ratiosOf.get(suiteOf(file))
    if (ofSuite !== undefined) broken += await judge(file, ofSuite)
  }
  const rungs = [...RUNGS, GATEWAY, ...CALLS].map(([name]) => name)
  const judged = await judgeRungs(budgets.rungs, rungs, await rungMeasurement())
  for (const line of judged.lines) console.log(line)
  broken += judged.broken
  const limits = `${ratios.length} ratios and ${judged.limits} limits of rungs`
  console.log(broken === 0 ? `${limits} kept` : `${broken} broken of ${limits}`)
  return broken === 0 ? 0 : 1
}

/** @returns how many are broken; one whose cases were not measured is, because a renamed case must not lose its budget in silence */
async function judge(file: string, ratios: readonly RatioBudget[]): Promise<number> {
  let verdicts = await measured(file, ratios, FIRST)
  const doubtful = verdicts.filter(({ kept }) => !kept)
  if (doubtful.length > 0) {
    const again = await measured(file, doubtful, AGAIN)
    verdicts = verdicts.map(one => again.find(other => other.case === one.case && other.of === one.of) ?? one)
  }
  for (const { case: mine, of, ratio, max, kept, why } of verdicts)
    console.log(
      `${kept ? 'kept  ' : 'BROKEN'} ${ratio.toFixed(2)} of ≤ ${max}  ${mine} / ${of}${kept ? '' : `: ${why}`}`,
    )
  const unmeasured = ratios.length - verdicts.length
  if (unmeasured > 0)
    console.error(
      `${file}: ${unmeasured} of its ratios could not be measured; are the names in budgets.json still right?`,
    )
  return unmeasured + verdicts.filter(({ kept }) => !kept).length
}

async function measured(
  file: string,
  ratios: readonly RatioBudget[],
  options: { readonly timeMs: number; readonly rounds: number },
): Promise<RatioVerdict[]> {
  const filter = ratios.flatMap(ratio => [ratio.case, ratio.of]).join(',')
  const { figures, failure } = await runSuite(HERE, file, { ...options, filter })
  if (failure !== undefined) console.error(`${file}: failed\n${failure}`)
  return ratioVerdicts({ ratios }, figures)
}

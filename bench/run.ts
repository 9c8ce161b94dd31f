/** `npm run bench:micro`: runs every `*.bench.ts` below bench/ in a fresh process and prints tables and verdicts. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Budgets, ratioVerdicts, readBudgets, unmeasured } from './budgets.ts'
import { openResults, type ResultWriter } from './record.ts'
import type { Figures } from './suite.ts'
import { runSuite, type SuiteRun, suiteFiles, suiteOf } from './suite-process.ts'
import { LEGEND, ratioTable, suiteTable } from './table.ts'
import { readTargets } from './targets.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))

const HELP = `Usage: npm run bench:micro -- [options]

Measures every stage of a call in process, each suite in a fresh process, and judges ratios by bench/budgets.json.

  --filter TEXT  runs only the cases whose id contains TEXT
  --time MS      duration of each case in each round (default: 40)
  --rounds N     number of rounds (default: 5)
  --out FILE     file for the results as NDJSON (default: a new file in bench/results/)
  --json         writes the results to standard output, in place of tables
  --help         prints this help

Exit code 1: a ratio budget is broken, a suite failed, or no case was measured.
`
const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    time: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '5' },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (options.help) console.log(HELP)
else process.exitCode = await main()

async function main(): Promise<number> {
  const budgets = readBudgets()
  const targets = readTargets()
  const results = openResults('micro', options.out, options.filter)
  const files = suiteFiles(HERE, options.filter)
  const all: Figures[] = []
  let failed = 0
  if (!options.json) console.log(LEGEND)
  for (const [at, file] of files.entries()) {
    const id = suiteOf(file)
    const startedAt = performance.now()
    process.stderr.write(`[${at + 1}/${files.length}] ${id} …`)
    const run = await runSuite(HERE, file, {
      timeMs: Number(options.time),
      rounds: Number(options.rounds),
      filter: options.filter,
    })
    process.stderr.write(` ${Math.round((performance.now() - startedAt) / 1000)} s\n`)
    if (run.failure !== undefined) {
      failed++
      console.error(`\n${file}: failed\n${run.failure}`)
    }
    if (run.figures.length === 0) continue
    const figures = run.figures.map(row => withReference(row, run.figures, budgets))
    all.push(...figures)
    write(results, id, { ...run, figures })
    if (!options.json) console.log(suiteTable({ id, title: run.title }, figures, run.facts, targets))
  }
  const lines = results.complete()
  if (options.json) for (const line of lines) console.log(JSON.stringify(line))
  const verdicts = ratioVerdicts(budgets, all)
  if (verdicts.length > 0 && !options.json) console.log(ratioTable(verdicts))
  const missing = options.filter === '' ? unmeasured(budgets, all) : []
  if (missing.length > 0) console.error(`\nbudgets.json names cases that no suite has: ${missing.join(', ')}`)
  if (all.length === 0) console.error(`no case has ${JSON.stringify(options.filter)} in its id`)
  const broken = verdicts.filter(({ kept }) => !kept)
  for (const { case: mine, of, ratio, max } of broken)
    console.error(`broken: ${mine} takes ${ratio.toFixed(2)} times as long as ${of}; the limit is ${max}`)
  process.stderr.write(`\ncases: ${all.length}; result lines in ${relative(process.cwd(), results.file)}\n`)
  return failed > 0 || broken.length > 0 || all.length === 0 ? 1 : 0
}

/** Its own reference, or that of the first ratio in the budgets. */
function withReference(row: Figures, figures: readonly Figures[], budgets: Budgets): Figures {
  const of = row.of ?? budgets.ratios.find(ratio => ratio.case === row.id)?.of
  return of === undefined || !figures.some(({ id }) => id === of) ? row : { ...row, of }
}

function write(results: ResultWriter, suite: string, { figures, facts }: SuiteRun): void {
  const setup = { timeMs: Number(options.time), rounds: Number(options.rounds) }
  const named = (id: string): { suite: string; case: string } => ({ suite, case: id.slice(suite.length + 1) })
  for (const row of figures) {
    const reference = figures.find(({ id }) => id === row.of)
    results.write({
      ...named(row.id),
      metric: 'time',
      unit: 'ns',
      better: 'lower',
      samples: row.roundsNs,
      reference: reference && { case: reference.id, samples: reference.roundsNs },
      setup: { ...setup, p99Ns: Math.round(row.p99Ns) },
    })
  }
  for (const { id, value, unit } of facts)
    results.write({ ...named(id), metric: 'fact', unit, better: 'lower', samples: [value], setup })
}

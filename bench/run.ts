/**
 * `npm run bench`: runs every `*.bench.ts` below bench/ in a fresh process, then prints tables and verdicts. It knows no suite by name.
 * Options: `--filter TEXT` (part of a case id), `--json` (NDJSON), `--time MS` per case and round, `--rounds N`.
 * Exit code 1: a ratio budget is broken, or a suite failed.
 */
import { execFileSync, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { absoluteVerdict, ratioVerdicts, readBudgets, unmeasured } from './budgets.ts'
import type { Fact, Figures } from './suite.ts'
import { ratioTable, suiteTable } from './table.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))

interface SuiteRun {
  readonly title: string
  readonly figures: readonly Figures[]
  readonly facts: readonly Fact[]
  /** What the process said when it failed; undefined when it did not. */
  readonly failure: string | undefined
}

const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    time: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '5' },
  },
})

process.exitCode = await main()

async function main(): Promise<number> {
  const budgets = readBudgets()
  const all: Figures[] = []
  let failed = 0
  if (options.json) console.log(JSON.stringify(machine()))
  else
    console.log(
      Object.entries(machine())
        .map(([name, value]) => `${name} ${value}`)
        .join(' · '),
    )
  for (const file of benchFiles()) {
    const { title, figures, facts, failure } = await runSuite(file)
    if (failure !== undefined) {
      failed++
      console.error(`\n${file}: failed\n${failure}`)
    }
    if (figures.length === 0) continue
    all.push(...figures)
    if (options.json)
      for (const row of figures)
        console.log(
          JSON.stringify({ ...row, ...budgets.absolute[row.id], verdict: absoluteVerdict(budgets, row) }),
        )
    else console.log(suiteTable(title, figures, budgets))
    for (const fact of facts) console.log(options.json ? JSON.stringify(fact) : `${fact.id}  ${fact.value}`)
  }
  const verdicts = ratioVerdicts(budgets, all)
  if (options.json) for (const verdict of verdicts) console.log(JSON.stringify(verdict))
  else if (verdicts.length > 0) console.log(ratioTable(verdicts))
  const missing = options.filter === '' ? unmeasured(budgets, all) : []
  if (missing.length > 0) console.error(`\nbudgets.json names cases that no suite has: ${missing.join(', ')}`)
  return failed > 0 || verdicts.some(verdict => !verdict.kept) ? 1 : 0
}

/** Paths below bench/, in order; with a filter that names a room or a file, only those that can hold such a case. */
function benchFiles(): string[] {
  return readdirSync(HERE, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.bench.ts'))
    .map(file => file.split(sep).join('/'))
    .filter(file => {
      const suite = file.slice(0, -'.bench.ts'.length)
      return (
        !options.filter.includes('/') || suite.startsWith(options.filter) || options.filter.startsWith(suite)
      )
    })
    .sort()
}

function runSuite(file: string): Promise<SuiteRun> {
  return new Promise(resolve => {
    const child = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        join(HERE, 'measure.ts'),
        join(HERE, file),
        options.time,
        options.rounds,
        options.filter,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const figures: Figures[] = []
    const facts: Fact[] = []
    let title = file
    let stderr = ''
    createInterface({ input: child.stdout }).on('line', line => {
      if (!line.startsWith('{')) return
      const row = JSON.parse(line) as Figures | Fact | { readonly title: string }
      if ('title' in row) title = row.title
      else if ('value' in row) facts.push(row)
      else figures.push(row)
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text
    })
    child.on('close', code =>
      resolve({ title, figures, facts, failure: code === 0 ? undefined : stderr.trim() }),
    )
  })
}

function machine(): Record<string, string> {
  return {
    commit: commit(),
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    platform: `${process.platform} ${process.arch}`,
    at: new Date().toISOString(),
  }
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: HERE, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

/**
 * Runs tests as of days on which calendars go wrong, and prints a table of dates and counts. It needs a C compiler and a current build.
 * Usage: npm run test:dates -- [--date NAME]… [--all] [FILE…]   without files: those that read or move a clock; `--all`: every file of FOLDERS.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** Name → instant at which each test file begins, and time zone. */
const DATES = {
  // the last day of its month
  'february-28': ['2027-02-28T10:00:00Z', 'UTC'],
  // the last day but one
  'leap-year-28': ['2028-02-28T10:00:00Z', 'UTC'],
  'leap-day': ['2028-02-29T10:00:00Z', 'UTC'],
  'december-31': ['2026-12-31T10:00:00Z', 'UTC'],
  // the clocks of Berlin change at 01:00 UTC
  'summer-time-begins': ['2027-03-28T00:59:50Z', 'Europe/Berlin'],
  'summer-time-ends': ['2027-10-31T00:59:50Z', 'Europe/Berlin'],
  // there it is another month than in UTC
  'zone-plus-14': ['2027-01-31T11:00:00Z', 'Pacific/Kiritimati'],
  'zone-minus-11': ['2027-02-01T08:00:00Z', 'Pacific/Pago_Pago'],
  'year-ends': ['2026-12-31T23:59:58Z', 'UTC'],
}
const FOLDERS = ['test/e2e', 'test/contract', 'test/integration']
const KNOWS_DATES = /\bDate\b|[cC]lock/
/** These read a clock to wait or to measure, and no date. */
const ANY_DAY =
  /(build|directory|fleet-calls|follower|how-to|mcp-fuzz|official-client|policy-swap|policy-threads|publish|redis-burst-model|resource-watches|upstreams)\.test\.ts$/
const LOGS = join(import.meta.dirname, '../../reports/dates')
const LIBRARY = join(LOGS, 'shift-clock.so')

const { values, positionals } = parseArgs({
  options: { date: { type: 'string', multiple: true }, all: { type: 'boolean' } },
  allowPositionals: true,
})
const names = values.date ?? Object.keys(DATES)
const unknown = names.filter(name => DATES[name] === undefined)
if (unknown.length > 0)
  fail(`There is no date ${unknown.join(', ')}. Choose from ${Object.keys(DATES).join(', ')}.`)

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(64)
}

function filesToRun() {
  if (positionals.length > 0) return positionals
  if (values.all) return FOLDERS
  return FOLDERS.flatMap(folder =>
    readdirSync(folder, { recursive: true })
      .filter(name => name.endsWith('.test.ts'))
      .map(name => join(folder, name)),
  ).filter(file => !ANY_DAY.test(file) && KNOWS_DATES.test(readFileSync(file, 'utf8')))
}

/** @returns the row of the table */
function runAsOf(name, files) {
  const [instant, zone] = DATES[name]
  const [log, report] = [join(LOGS, `${name}.log`), join(LOGS, `${name}.json`)]
  const began = performance.now()
  const output = openSync(log, 'w')
  const { status } = spawnSync(
    'npx',
    ['--no-install', 'vitest', 'run', ...files, '--reporter=dot', '--reporter=./scripts/test-report.mjs'],
    {
      env: {
        ...process.env,
        TZ: zone,
        FILES_BEGIN_AT: instant,
        LD_PRELOAD: LIBRARY,
        // an offset, since an absolute time would begin again with each process
        CLOCK_OFFSET_MS: String(Date.parse(instant) - Date.now()),
        TEST_REPORT: report,
      },
      stdio: ['ignore', output, output],
    },
  )
  const printed = spawnSync(
    process.execPath,
    ['scripts/test-report.mjs', 'print', log, String(status), report],
    { encoding: 'utf8' },
  )
  const seconds = Math.round((performance.now() - began) / 1000)
  const lines = printed.stdout.trimEnd().split('\n')
  const counts = lines.pop()
  for (const line of [`${name}: ${counts} in ${seconds} s`, ...lines]) console.log(line)
  const count = what => new RegExp(`(\\d+) ${what}`).exec(counts)?.[1] ?? '0'
  return {
    ok: printed.status === 0,
    line: `| ${[name, instant, zone, ...['passed', 'failed', 'skipped'].map(count), seconds].join(' | ')} |`,
  }
}

mkdirSync(LOGS, { recursive: true })
execFileSync('cc', [
  '-O2',
  '-Wall',
  '-shared',
  '-fPIC',
  '-o',
  LIBRARY,
  join(import.meta.dirname, 'shift-clock.c'),
])
const files = filesToRun()
const rows = names.map(name => runAsOf(name, files))
console.log(
  '\n| Date | Files begin at | TZ | Passed | Failed | Skipped | Seconds |\n|---|---|---|---|---|---|---|',
)
for (const { line } of rows) console.log(line)
process.exit(rows.every(({ ok }) => ok) ? 0 : 1)

/** `npm run test:mutation [-- folder…]`: runs Stryker over each part of the folders and judges the score of each folder. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { FOLDERS, PARTS } from './folders.mjs'

/** Per cent of the mutants of a folder that its tests must notice. */
const LEAST_SCORE = 85

const names = process.argv.slice(2)
const unknown = names.filter(name => FOLDERS[name] === undefined)
if (unknown.length > 0) {
  process.stderr.write(
    `Unknown folder ${unknown.join(', ')}; give none for all, or some of ${Object.keys(FOLDERS).join(', ')}.\n`,
  )
  process.exit(2)
}

const files = readdirSync('test', { recursive: true }).map(file => `test/${file}`)

/** A pattern without a file would lower the score for a reason that no one sees. */
function checkTests(part) {
  const empty = PARTS[part].tests.filter(pattern => !files.some(file => matchesGlob(file, pattern)))
  if (empty.length > 0)
    throw new Error(`${empty.join(', ')} of ${part} matches no file; correct test/mutation/folders.mjs`)
}

/** How many mutants of a part had each status. */
function run(part) {
  checkTests(part)
  const reportFile = `reports/mutation/${part}.json`
  rmSync(reportFile, { force: true })
  const env = { ...process.env, MUTATION_PART: part }
  const { status } = spawnSync('npx', ['stryker', 'run'], { env, stdio: 'inherit' })
  if (status !== 0 || !existsSync(reportFile))
    throw new Error(`Stryker ended with ${status} on ${part}; see above`)
  const mutants = Object.values(JSON.parse(readFileSync(reportFile, 'utf8')).files).flatMap(
    file => file.mutants,
  )
  const count = status => mutants.filter(mutant => mutant.status === status).length
  return {
    killed: count('Killed'),
    timeout: count('Timeout'),
    survived: count('Survived'),
    uncovered: count('NoCoverage'),
    // neither noticed nor missed: the mutant ended the run itself
    errors: count('RuntimeError') + count('CompileError'),
  }
}

const scoreOf = ({ killed, timeout, survived, uncovered }) =>
  (100 * (killed + timeout)) / (killed + timeout + survived + uncovered)

const rows = []
function report(name, counts) {
  const text = Object.entries(counts).map(([status, count]) => `${count} ${status}`)
  rows.push(`${name.padEnd(18)} ${scoreOf(counts).toFixed(1).padStart(5)} %  ${text.join(', ')}`)
}

let failed = false
for (const name of names.length > 0 ? names : Object.keys(FOLDERS)) {
  const whole = { killed: 0, timeout: 0, survived: 0, uncovered: 0, errors: 0 }
  for (const part of Object.keys(FOLDERS[name])) {
    const counts = run(part)
    for (const status of Object.keys(whole)) whole[status] += counts[status]
    report(`  ${part}`, counts)
  }
  report(name, whole)
  // a folder without mutants has no score (NaN) and fails
  if (!(scoreOf(whole) >= LEAST_SCORE)) failed = true
}
process.stdout.write(`\n${rows.join('\n')}\n`)
if (failed)
  process.stderr.write(`A score is below ${LEAST_SCORE} %: see reports/mutation for the survivors.\n`)
process.exit(failed ? 1 : 0)

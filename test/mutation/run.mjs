/** `npm run test:mutation [-- folder…]`: runs Stryker over each part of the folders and judges the score of each folder. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { FOLDERS } from './folders.mjs'

/** Per cent of the mutants of a folder that its tests must notice. */
const LEAST_SCORE = 85
const KILLED = ['Killed', 'Timeout']
const ALIVE = ['Survived', 'NoCoverage']

const names = process.argv.slice(2)
const unknown = names.filter(name => FOLDERS[name] === undefined)
if (unknown.length > 0) {
  process.stderr.write(
    `Unknown folder ${unknown.join(', ')}; give none for all, or some of ${Object.keys(FOLDERS).join(', ')}.\n`,
  )
  process.exit(2)
}

/** Mutants of a part that were noticed, and all that were run. */
function run(part) {
  const env = { ...process.env, MUTATION_PART: part }
  const { status } = spawnSync('npx', ['stryker', 'run'], { env, stdio: 'inherit' })
  const report = `reports/mutation/${part}.json`
  if (status !== 0 || !existsSync(report))
    throw new Error(`Stryker ended with ${status} on ${part}; see above`)
  const { files } = JSON.parse(readFileSync(report, 'utf8'))
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(mutant => mutant.status))
  const killed = statuses.filter(one => KILLED.includes(one)).length
  return { killed, alive: statuses.filter(one => ALIVE.includes(one)).length }
}

let failed = false
const rows = []
for (const name of names.length > 0 ? names : Object.keys(FOLDERS)) {
  const parts = Object.keys(FOLDERS[name]).map(run)
  const killed = parts.reduce((sum, part) => sum + part.killed, 0)
  const alive = parts.reduce((sum, part) => sum + part.alive, 0)
  const score = (100 * killed) / (killed + alive)
  if (score < LEAST_SCORE) failed = true
  rows.push(`${name.padEnd(10)} ${score.toFixed(1).padStart(5)} %  ${killed} of ${killed + alive} mutants`)
}
process.stdout.write(`\n${rows.join('\n')}\n`)
if (failed)
  process.stderr.write(`A score is below ${LEAST_SCORE} %: see reports/mutation for the survivors.\n`)
process.exit(failed ? 1 : 0)

/** `npm run fuzz`: fuzzes the parsers, guided by coverage. A failure is saved in the corpus, which a test replays. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runSearch, say } from '../fixtures/search-command.ts'
import { type FuzzResult, fuzz } from './fuzz.ts'
import { TARGETS } from './targets.ts'

const HELP = `Usage: npm run fuzz -- [options]

Calls the parsers with mutated inputs, guided by coverage, and saves each input that makes one fail.

  --minutes M        minutes for all targets together (default: 10)
  --seed N           seed for the mutations (default: random; it is printed)
  --targets A,B      comma-separated targets (default: all): ${Object.keys(TARGETS).join(', ')}
  --json             writes the result to standard output as JSON; progress is always on standard error
  --help             prints this help

Exit code 0: nothing was found. 1: a target failed; the input is in test/fuzz/corpus, and test/fuzz/replay.test.ts fails until the target
is fixed. 64: the options are not valid. 70: the run failed.
`

function optionsOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      targets: { type: 'string', default: Object.keys(TARGETS).join(',') },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const minutes = Number(values.minutes)
  if (!(minutes > 0 && minutes <= 1_440)) throw new Error('--minutes must be above 0 and at most 1440.')
  const seed = Number(values.seed)
  if (!Number.isInteger(seed) || seed < 0) throw new Error('--seed must be an integer of 0 or more.')
  const targets = values.targets.split(',')
  const unknown = targets.filter(name => !Object.hasOwn(TARGETS, name))
  if (unknown.length > 0) throw new Error(`--targets: ${unknown.join(', ')} does not exist.`)
  return { ...values, seed, targets, forMs: (minutes * 60_000) / targets.length }
}

function save(name: string, input: Buffer): string {
  const folder = join(import.meta.dirname, 'corpus', name)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, createHash('sha256').update(input).digest('hex').slice(0, 16))
  writeFileSync(file, input)
  return file
}

async function search({ targets, seed, forMs, json }: ReturnType<typeof optionsOf>): Promise<boolean> {
  const results: { [name: string]: Omit<FuzzResult, 'failure'> & { failure?: string; file?: string } } = {}
  let found = false
  for (const name of targets) {
    const { failure, ...counts } = await fuzz(TARGETS[name]!, seed, forMs)
    results[name] = counts
    say(
      `${name}: ${counts.inputs} inputs, ${counts.corpus} in the corpus${failure === undefined ? '' : `, FAILED: ${failure.message}`}`,
    )
    if (failure === undefined) continue
    found = true
    results[name] = { ...counts, failure: failure.message, file: save(name, failure.input) }
  }
  if (json) process.stdout.write(`${JSON.stringify({ seed, targets: results })}\n`)
  return found
}

process.exitCode = await runSearch({ help: HELP, optionsOf, search })

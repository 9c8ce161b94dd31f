/** `npm run fuzz`: fuzzes the parsers, guided by coverage. A failure is saved in the corpus, which a test replays. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type FuzzResult, fuzz } from './fuzz.ts'
import { TARGETS } from './targets.ts'

const HELP = `Usage: npm run fuzz -- [options]

  --minutes M        for all targets together (10)
  --seed N           of the mutations (a random one, which is printed)
  --targets A,B      only these; without it all: ${Object.keys(TARGETS).join(', ')}
  --json             the result as JSON on standard output; progress is on standard error in any case
  --help

Exit code 0: nothing was found. 1: a target failed; the input is in test/fuzz/corpus, and test/fuzz/replay.test.ts fails until it is
fixed. 64: the options are not valid. 70: the run failed.
`
const EXIT = { found: 1, usage: 64, failed: 70 } as const
const say = (line: string): void => void process.stderr.write(`${line}\n`)

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

async function main(): Promise<number> {
  let options: ReturnType<typeof optionsOf>
  try {
    options = optionsOf(process.argv.slice(2))
  } catch (error) {
    say(`${(error as Error).message}\n\n${HELP}`)
    return EXIT.usage
  }
  if (options.help) {
    process.stdout.write(HELP)
    return 0
  }
  say(`seed ${options.seed}`)
  const results: { [name: string]: Omit<FuzzResult, 'failure'> & { failure?: string; file?: string } } = {}
  let found = false
  try {
    for (const name of options.targets) {
      const { failure, ...counts } = await fuzz(TARGETS[name]!, options.seed, options.forMs)
      results[name] = counts
      say(
        `${name}: ${counts.inputs} inputs, ${counts.corpus} in the corpus${failure === undefined ? '' : `, FAILED: ${failure.message}`}`,
      )
      if (failure === undefined) continue
      found = true
      results[name] = { ...counts, failure: failure.message, file: save(name, failure.input) }
    }
  } catch (error) {
    say((error as Error).stack ?? String(error))
    return EXIT.failed
  }
  if (options.json) process.stdout.write(`${JSON.stringify({ seed: options.seed, targets: results })}\n`)
  return found ? EXIT.found : 0
}

process.exitCode = await main()

/** `npm run stalls`: searches for inputs that block a serving thread, and prints progress and the result. Exit code 1: something was found. */
import { parseArgs } from 'node:util'
import { runSearch, say } from '../fixtures/search-command.ts'
import { MAX_TURN_MS, type SearchResult, searchStalls } from './search.ts'

const HELP = `Usage: npm run stalls -- [options]

  --minutes M        how long rounds are begun (30)
  --seed N           seed of the first round, the next one has N + 1 (a random one, which is printed)
  --rounds N         end after N rounds
  --install N        tools of a large installation at the end (20000); 0: none
  --json             the result as JSON on standard output; progress is on standard error in any case
  --help

Starts the built gateway (npm run build) with two serving threads, installs generated tools, calls them with generated arguments, and
measures the CPU time of each turn of a serving thread. A turn longer than ${MAX_TURN_MS} ms that shows again three times is a finding.

Exit code 0: nothing was found. 1: something was found; replay it with the seed that is printed and --rounds 1. 64: the options are not
valid. 70: the search failed.
`

function optionsOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '30' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      rounds: { type: 'string', default: '1000000' },
      install: { type: 'string', default: '20000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const numberOf = (name: 'minutes' | 'seed' | 'rounds' | 'install', max: number): number => {
    const value = Number(values[name])
    if (values[name] === '' || !(value >= 0 && value <= max))
      throw new Error(`--${name} must be a number from 0 to ${max}.`)
    return value
  }
  return {
    json: values.json,
    help: values.help,
    forMs: numberOf('minutes', 1_440) * 60_000,
    seed: Math.floor(numberOf('seed', 2 ** 32 - 1)),
    maxRounds: Math.floor(numberOf('rounds', 1_000_000)),
    largeInstall: Math.floor(numberOf('install', 50_000)),
  }
}

function summary({ seed, rounds, calls, statuses, longest, findings }: SearchResult): string {
  return [
    `seed ${seed}: ${rounds} rounds, ${calls} calls, statuses ${JSON.stringify(statuses)}`,
    `longest turn ${longest?.leastMs.toFixed(1)} ms of CPU: ${longest?.what}`,
    `${findings.length} findings`,
    ...findings.map(one => `  ${one.leastMs.toFixed(1)} ms, --seed ${one.seed} --rounds 1: ${one.what}`),
  ].join('\n')
}

async function search(options: ReturnType<typeof optionsOf>): Promise<boolean> {
  const result = await searchStalls({ ...options, onProgress: say })
  process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : `${summary(result)}\n`)
  return result.findings.length > 0
}

process.exitCode = await runSearch({ help: HELP, optionsOf, search })

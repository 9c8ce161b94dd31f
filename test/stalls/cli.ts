/** `npm run stalls`: searches for inputs that block a serving thread, and prints progress and the result. Exit code 1: something was found. */
import { parseArgs } from 'node:util'
import { runSearch, say } from '../fixtures/search-command.ts'
import { MAX_TURN_MS, type SearchResult, searchStalls } from './search.ts'

const HELP = `Usage: npm run stalls -- [options]

Starts the built gateway, installs generated tools, calls them with generated arguments, and measures the CPU time
of each turn of the event loop. A turn of more than ${MAX_TURN_MS} ms that occurs again in three repetitions is a finding.

  --minutes M        starts new rounds for M minutes (default: 30)
  --seed N           seed of the first round; the next round has N + 1 (default: random; it is printed)
  --rounds N         ends after N rounds (default: when the minutes are over)
  --install N        after the rounds, installs N tools at once and measures that too (default: 20000; 0 skips it)
  --workers N        serving threads (default: 2; 1: the main thread serves)
  --json             writes the result to standard output as JSON; progress is always on standard error
  --help             prints this help

Exit code 0: nothing was found. 1: there is a finding; repeat it with the printed seed and --rounds 1. 64: the options are not valid.
70: the search failed.
`

function optionsOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '30' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      rounds: { type: 'string', default: '1000000' },
      install: { type: 'string', default: '20000' },
      workers: { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const numberOf = (name: 'minutes' | 'seed' | 'rounds' | 'install' | 'workers', max: number): number => {
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
    workers: Math.max(1, Math.floor(numberOf('workers', 64))),
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

/** `npm run chaos`: a deployment under load, random faults and oracles, or swaps of a policy. It prints progress and result; the exit code is the verdict. */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parseDurationMs } from '../../src/base/duration.ts'
import { FAULT_KINDS, type FaultKind } from './faults.ts'
import { swapPolicies } from './policy-swaps.ts'
import { type ChaosResult, runChaos } from './run.ts'

const HELP = `Usage: npm run chaos -- [options]

Starts several gateways and control planes, sends calls and changes to them, injects faults, and checks that calls, counts and events stay
correct.

  --minutes M        minutes in which faults are injected (default: 30; at most 100, because the tokens of the run expire after two hours)
  --every D          time from one fault to the next (default: 20s)
  --seed N           seed for the schedule of faults and the mix of calls (default: random; it is printed)
  --faults A,B       comma-separated kinds of faults (default: all): ${FAULT_KINDS.join(', ')}
  --gateways N       number of gateways (default: 3)
  --control-planes N number of control planes (default: 2)
  --rate R           multiplier of the usual rate of about 120 calls per second (default: 1; at most 10)
  --policy-swaps N   instead of faults: swaps the policy of one gateway with two threads N times, under load
  --busy N           with --policy-swaps: number of processes that only use processor time (default: 0)
  --dir DIR          folder for the logs of the processes (default: a temporary folder, which is kept if a check failed)
  --out FILE         writes the result to FILE as JSON
  --json             writes the result to standard output as JSON; progress is always on standard error
  --help             prints this help

Needs Redis, PostgreSQL, Kafka and kcat: bash scripts/services.sh redis postgresql kafka kcat

Exit code 0: no check failed. 1: a check failed; run it again with the printed --seed. 64: the options are not valid. 70: the run failed.
`
const MAX_MINUTES = 100
const EXIT = { found: 1, usage: 64, failed: 70 } as const
const say = (line: string): void => void process.stderr.write(`${line}\n`)

class UsageError extends Error {}

function optionsOf(args: readonly string[]) {
  let values: ReturnType<typeof parse>['values']
  try {
    values = parse(args).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  const integer = (
    name: 'seed' | 'gateways' | 'control-planes' | 'policy-swaps' | 'busy',
    min: number,
    max: number,
  ): number => {
    const value = Number(values[name])
    if (!Number.isInteger(value) || value < min || value > max)
      throw new UsageError(`--${name} must be an integer from ${min} to ${max}.`)
    return value
  }
  const minutes = Number(values.minutes)
  if (!(minutes > 0 && minutes <= MAX_MINUTES))
    throw new UsageError(`--minutes must be above 0 and at most ${MAX_MINUTES}.`)
  const rate = Number(values.rate)
  if (!(rate > 0 && rate <= 10)) throw new UsageError('--rate must be above 0 and at most 10.')
  const everyMs = parseDurationMs(values.every)
  if (everyMs === undefined || everyMs < 2_000)
    throw new UsageError('--every must be a duration of 2s or more.')
  const kinds = values.faults === undefined ? FAULT_KINDS : values.faults.split(',')
  const unknown = kinds.filter(kind => !FAULT_KINDS.includes(kind as FaultKind))
  if (unknown.length > 0) throw new UsageError(`--faults: ${unknown.join(', ')} does not exist.`)
  return {
    ...values,
    seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : integer('seed', 0, 2 ** 32 - 1),
    gateways: integer('gateways', 1, 8),
    controls: integer('control-planes', 1, 4),
    forMs: minutes * 60_000,
    everyMs,
    kinds: kinds as readonly FaultKind[],
    rate,
    busy: integer('busy', 0, 64),
    swaps: values['policy-swaps'] === undefined ? 0 : integer('policy-swaps', 1, 10_000),
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '30' },
      every: { type: 'string', default: '20s' },
      seed: { type: 'string' },
      faults: { type: 'string' },
      gateways: { type: 'string', default: '3' },
      'control-planes': { type: 'string', default: '2' },
      rate: { type: 'string', default: '1' },
      'policy-swaps': { type: 'string' },
      busy: { type: 'string', default: '0' },
      dir: { type: 'string' },
      out: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
}

function summary(result: ChaosResult): string {
  const { availability, metering, propagation, webhooks } = result
  const lines = [
    `seed ${result.seed}: ${result.calls} calls, ${result.faults.length} faults`,
    `availability ${(100 * availability.share).toFixed(4)} % of ${availability.counted} calls; ${availability.exempt} needed a broken part`,
    ...Object.entries(availability.byKind).map(
      ([kind, row]) =>
        `  ${kind.padEnd(8)} ${row.counted} counted, ${row.failed} failed, ${row.exempt} exempt`,
    ),
    `recovery, longest: ${JSON.stringify(availability.recoveryMs)} ms`,
    `highest counts at the backend: ${JSON.stringify(result.highest)}`,
    ...Object.entries(result.refused).map(([message, times]) => `  refused ${times} times: ${message}`),
    `metering: ${metering.required} calls with a response, ${metering.events} events, ${metering.messages} messages`,
    `webhooks: ${webhooks.promised} acknowledged changes, ${webhooks.deliveries} deliveries, ${webhooks.received} requests`,
    `propagation of ${propagation.changes} changes: p50 ${propagation.p50} ms, max ${propagation.max} ms`,
    ...result.lifetimes.map(
      life =>
        `  ${life.name.padEnd(10)} ${life.minutes} min, RSS ${life.rssMib.join(' → ')} MiB, descriptors ${life.descriptors.join(' → ')}` +
        (life.mibPerMinute === undefined
          ? ''
          : `; ${life.mibPerMinute} MiB and ${life.descriptorsPerMinute} descriptors a minute`),
    ),
    `processes waited for a processor during ${Math.round(100 * result.cpuPressure)} % of the run`,
    ...(result.findings.length === 0
      ? ['nothing was found']
      : [
          `FOUND ${result.findings.length}; replay with --seed ${result.seed}; logs in ${result.dir}`,
          ...result.findings,
        ]),
  ]
  return lines.join('\n')
}

async function main(): Promise<number> {
  let options: ReturnType<typeof optionsOf>
  try {
    options = optionsOf(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    say(`${error.message}\n\n${HELP}`)
    return EXIT.usage
  }
  if (options.help) {
    process.stdout.write(HELP)
    return 0
  }
  const { seed, forMs, everyMs, gateways, controls, kinds, rate, dir, swaps, busy } = options
  if (swaps > 0) {
    const result = await swapPolicies({ swaps, busy, workers: 2, progress: say })
    print(options, result, JSON.stringify(result, undefined, 2))
    return result.findings.length === 0 ? 0 : EXIT.found
  }
  const result = await runChaos({
    seed,
    forMs,
    everyMs,
    gateways,
    controls,
    kinds,
    rate,
    progress: say,
    ...(dir === undefined ? {} : { dir }),
  })
  print(options, result, summary(result))
  return result.findings.length === 0 ? 0 : EXIT.found
}

function print({ out, json }: { out?: string; json: boolean }, result: object, text: string): void {
  if (out !== undefined) writeFileSync(out, `${JSON.stringify(result, undefined, 2)}\n`)
  process.stdout.write(`${json ? JSON.stringify(result) : text}\n`)
}

try {
  process.exitCode = await main()
} catch (error) {
  say(`the run failed: ${(error as Error).stack}`)
  process.exitCode = EXIT.failed
}

/**
 * `npm run bench:consoles`: tool calls a second of a gateway with open consoles and without, in turns, and calls per second of processor
 * time of its process. It fails below the bound. The consoles read what their pages read: event streams, polling, files.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openResults } from '../../record.ts'
import { ratioSpread } from '../../statistics.ts'
import { pinLoad } from '../load/child.ts'
import { runClosedLoop } from '../load/closed-loop.ts'
import { CALL_REST, over } from '../load/requests.ts'
import { startApart, startTogether } from './deployment.ts'
import { type ConsolePage, type OpenConsole, openBrowser, openConsole } from './open-console.ts'

const HELP = `Usage: npm run bench:consoles -- [options]

Compares the throughput of a gateway with open consoles and without.

  --consoles N   number of open consoles (default: 20)
  --rounds N     number of rounds; each measures once with consoles and once without (default: 10)
  --seconds S    duration of each measurement (default: 15); usage is counted in bursts, so shorter measurements differ by a tenth
  --connections N  number of connections of the load (default: 16)
  --min RATIO    fails when the throughput with consoles is below this part of that without (default: 0.97)
  --apart        runs the control plane, which serves the consoles, in a separate process on the processor of the load, as in production
  --browser      opens one of the consoles in Chromium, which takes processor time from the gateway unless the machine has several cores
  --out FILE     file for the results as NDJSON (default: a new file in bench/results/)
  --help         prints this help

Exit code 0: the ratio is reached. 1: it is not, or the run failed.
`
const { values: options } = parseArgs({
  options: {
    consoles: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '15' },
    connections: { type: 'string', default: '16' },
    min: { type: 'string', default: '0.97' },
    apart: { type: 'boolean', default: false },
    browser: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

/** Half of the consoles follow the calls, which costs most. */
const SHOWN: readonly ConsolePage[] = ['calls', 'now', 'calls', 'limits', 'calls', 'now', 'calls', 'fleet']
const WARM_SECONDS = 5
/** What consoles use runs seldom: it is compiled, and the code of calls optimized again for both, in the course of several rounds. */
const WARM_ROUNDS = 4
/** Before each measurement: opening consoles leaves the gateway without calls for a moment, after which the heap grows again. */
const SETTLE_SECONDS = 3
const SUITE = 'http/consoles'
const say = (text: string): void => void process.stderr.write(`${text}\n`)

async function main(): Promise<boolean> {
  const count = Number(options.consoles)
  const seconds = Number(options.seconds)
  pinLoad()
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-consoles-'))
  const { gateway, gatewayUrl, apiUrl, token, stop } = await (options.apart
    ? startApart(dir)
    : startTogether(dir))
  try {
    const request = over(CALL_REST, { authorization: `Bearer ${token}` })
    const load = {
      url: gatewayUrl,
      request,
      connections: Number(options.connections),
      side: 'load' as const,
    }
    for (let round = 1; round <= WARM_ROUNDS; round++) {
      const consoles = await openConsoles(apiUrl, count)
      const beside = await runClosedLoop({ ...load, seconds: WARM_SECONDS })
      await Promise.all(consoles.map(each => each.close()))
      const alone = await runClosedLoop({ ...load, seconds: WARM_SECONDS })
      say(
        `warming up ${round} of ${WARM_ROUNDS}: ${Math.round(beside.perSecond)} calls/s with consoles, then ${Math.round(alone.perSecond)} without`,
      )
    }
    const [without, beside]: [number[], number[]] = [[], []]
    const [cpuWithout, cpuBeside]: [number[], number[]] = [[], []]
    for (let round = 1; round <= Number(options.rounds); round++) {
      // which comes first alternates, so that a slow drift favours neither
      for (const open of round % 2 === 0 ? [true, false] : [false, true]) {
        const consoles = open ? await openConsoles(apiUrl, count) : []
        await runClosedLoop({ ...load, seconds: SETTLE_SECONDS })
        const usedBeforeUs = gateway.cpuUs()
        const { perSecond, requests: calls } = await runClosedLoop({ ...load, seconds })
        const perCpuSecond = calls / ((gateway.cpuUs() - usedBeforeUs) / 1e6)
        ;(open ? beside : without).push(perSecond)
        ;(open ? cpuBeside : cpuWithout).push(perCpuSecond)
        const requests = consoles.reduce((sum, each) => sum + each.requests(), 0)
        const events = consoles.reduce((sum, each) => sum + each.events(), 0)
        await Promise.all(consoles.map(each => each.close()))
        const what = open ? `${count} consoles, ${requests} requests, ${events} events` : 'no console'
        say(
          `round ${round}: ${Math.round(perSecond)} calls/s, ${Math.round(perCpuSecond)} per CPU second, with ${what}`,
        )
      }
    }
    const results = openResults('consoles', options.out)
    const setup = { consoles: count, apart: options.apart }
    function record(metric: string, unit: string, reference: number[], samples: number[]): string {
      const common = { suite: SUITE, metric, unit, better: 'higher' as const }
      results.write({ ...common, case: 'without', samples: reference })
      const named = { case: `${SUITE}/without`, samples: reference }
      results.write({ ...common, case: 'open', samples, reference: named, setup })
      const { median, min, max } = ratioSpread(samples, reference)
      return `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})`
    }
    say(`throughput ${record('throughput', 'calls/s', without, beside)} of that without consoles`)
    say(`calls per CPU second ${record('per-core', 'calls/CPU-s', cpuWithout, cpuBeside)}; ${results.file}`)
    const { median } = ratioSpread(beside, without)
    return median >= Number(options.min)
  } finally {
    await stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function openConsoles(apiUrl: string, count: number): Promise<readonly OpenConsole[]> {
  const browser = options.browser ? await openBrowser(apiUrl) : undefined
  const others = Array.from({ length: count - (browser === undefined ? 0 : 1) }, (_, at) =>
    openConsole(apiUrl, SHOWN[at % SHOWN.length]!),
  )
  return [...(browser === undefined ? [] : [browser]), ...(await Promise.all(others))]
}

if (options.help) process.stdout.write(HELP)
// the backend listens in this process, and would keep it running
else process.exit((await main()) ? 0 : 1)

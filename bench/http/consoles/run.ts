/**
 * `npm run bench:consoles`: tool calls a second of a gateway with open consoles and of one without, and calls per second of processor
 * time of their processes. It fails below the bound. The consoles read what their pages read: event streams, polling, files.
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
import { warmUp, warmUpText } from '../load/warm-up.ts'
import { type Deployment, startApart, startTogether } from './deployment.ts'
import { type ConsolePage, type OpenConsole, openBrowser, openConsole } from './open-console.ts'

const HELP = `Usage: npm run bench:consoles -- [options]

Compares the throughput of a gateway with open consoles and without.

  --consoles N   number of open consoles (default: 20)
  --rounds N     number of rounds; each measures once with consoles and once without (default: 10)
  --seconds S    duration of each measurement (default: 15); usage is counted in bursts, so shorter measurements differ by a tenth
  --connections N  number of connections of the load to each gateway (default: 16)
  --min RATIO    fails when the throughput with consoles is below this part of that without (default: 0.97)
  --apart        runs the control plane, which serves the consoles, in a separate process on idle processors, as in production
  --beside       measures two gateways on one processor at the same time, one with consoles, in turns: what slows the machine slows
                 both. Each has half of the processor, so consoles weigh up to twice as much as for a gateway by itself
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
    beside: { type: 'boolean', default: false },
    browser: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

/** Half of the consoles follow the calls, which costs most. */
const SHOWN: readonly ConsolePage[] = ['calls', 'now', 'calls', 'limits', 'calls', 'now', 'calls', 'fleet']
const WARM_SECONDS = 5
/**
 * What consoles use runs seldom: it is compiled, and the code of calls optimized again for both, in the course of several windows, each with
 * consoles and without.
 */
const MAX_WARM_UP_MS = 120_000
/** Before each measurement: opening consoles leaves the gateway without calls for a moment, after which the heap grows again. */
const SETTLE_SECONDS = 3
const SUITE = 'http/consoles'
const say = (text: string): void => void process.stderr.write(`${text}\n`)

interface Measured {
  readonly perSecond: number
  readonly perCpuSecond: number
}

async function main(): Promise<boolean> {
  const count = Number(options.consoles)
  pinLoad()
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-consoles-'))
  const start = options.apart ? startApart : startTogether
  const deployments: Deployment[] = []
  try {
    for (const name of options.beside ? ['first', 'second'] : ['only'])
      deployments.push(await start(join(dir, name)))
    const warm = await warmUpAll(deployments, count)
    const results = openResults('consoles', options.out)
    const [without, beside]: [Measured[], Measured[]] = [[], []]
    const setup = { consoles: count, apart: options.apart, beside: options.beside }
    function record(
      metric: keyof Measured,
      unit: string,
    ): { readonly median: number; readonly text: string } {
      const name = metric === 'perSecond' ? 'throughput' : 'per-core'
      const [reference, samples] = [without, beside].map(all => all.map(each => each[metric]))
      const common = { suite: SUITE, metric: name, unit, better: 'higher' as const, warm }
      results.write({ ...common, case: 'without', samples: reference! })
      const named = { case: `${SUITE}/without`, samples: reference! }
      results.write({ ...common, case: 'open', samples: samples!, reference: named, setup })
      const { median, min, max } = ratioSpread(samples!, reference!)
      return { median, text: `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})` }
    }
    const recordBoth = () => ({
      throughput: record('perSecond', 'calls/s'),
      perCore: record('perCpuSecond', 'calls/CPU-s'),
    })
    for (let round = 1; round <= Number(options.rounds); round++) {
      // which comes first, or has the consoles, alternates, so that neither a slow drift nor a difference of the processes favours one
      const turns = round % 2 === 0 ? [true, false] : [false, true]
      const figures = options.beside
        ? await measure(deployments, turns.indexOf(true), round)
        : (await inTurn(turns, open => measure(deployments, open ? 0 : undefined, round))).flat()
      beside.push(figures[turns.indexOf(true)]!)
      without.push(figures[turns.indexOf(false)]!)
      recordBoth()
    }
    const { throughput, perCore } = recordBoth()
    results.complete()
    say(`throughput ${throughput.text} of that without consoles`)
    say(`calls per CPU second ${perCore.text}; ${results.file}`)
    return throughput.median >= Number(options.min)
  } finally {
    for (const deployment of deployments) await deployment.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** @returns whether all are warm */
async function warmUpAll(deployments: readonly Deployment[], count: number): Promise<boolean> {
  const costOf = (each: readonly Measured[]): number =>
    each.reduce((sum, { perCpuSecond }) => sum + 1e6 / perCpuSecond, 0) / each.length
  let warm = true
  for (const [at, open] of deployments.entries()) {
    const warmed = await warmUp(
      async () => {
        const consoles = await openConsoles(open.apiUrl, count)
        const beside = await load(deployments, WARM_SECONDS)
        await Promise.all(consoles.map(each => each.close()))
        const alone = await load(deployments, WARM_SECONDS)
        say(
          `warming up: ${Math.round(beside[at]!.perSecond)} calls/s with consoles, then ${Math.round(alone[at]!.perSecond)} without`,
        )
        return [beside[at]!, alone[at]!]
      },
      costOf,
      { maxMs: MAX_WARM_UP_MS },
    )
    say(warmUpText(warmed, costOf))
    warm &&= warmed.warm
  }
  return warm
}

async function inTurn<In, Out>(
  items: readonly In[],
  run: (item: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const all: Out[] = []
  for (const item of items) all.push(await run(item))
  return all
}

/** Loads all deployments at the same time. @param shown index of the one whose consoles are open, undefined for none */
async function measure(
  deployments: readonly Deployment[],
  shown: number | undefined,
  round: number,
): Promise<readonly Measured[]> {
  const consoles =
    shown === undefined ? [] : await openConsoles(deployments[shown]!.apiUrl, Number(options.consoles))
  await load(deployments, SETTLE_SECONDS)
  const figures = await load(deployments, Number(options.seconds))
  const requests = consoles.reduce((sum, each) => sum + each.requests(), 0)
  const events = consoles.reduce((sum, each) => sum + each.events(), 0)
  await Promise.all(consoles.map(each => each.close()))
  for (const [at, { perSecond, perCpuSecond }] of figures.entries()) {
    const what =
      at === shown ? `${consoles.length} consoles, ${requests} requests, ${events} events` : 'no console'
    say(
      `round ${round}: ${Math.round(perSecond)} calls/s, ${Math.round(perCpuSecond)} per CPU second, with ${what}`,
    )
  }
  return figures
}

function load(deployments: readonly Deployment[], seconds: number): Promise<readonly Measured[]> {
  return Promise.all(
    deployments.map(async ({ gateway, gatewayUrl, token }) => {
      const usedBeforeUs = gateway.cpuUs()
      const { perSecond, requests } = await runClosedLoop({
        url: gatewayUrl,
        request: over(CALL_REST, { authorization: `Bearer ${token}` }),
        connections: Number(options.connections),
        side: 'load',
        seconds,
      })
      return { perSecond, perCpuSecond: requests / ((gateway.cpuUs() - usedBeforeUs) / 1e6) }
    }),
  )
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

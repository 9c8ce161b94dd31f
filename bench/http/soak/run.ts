/**
 * `npm run bench:soak -- --minutes 30`: mixed load that keeps the gateway busy for 70 % of the time, every response checked. It fails when memory grows by
 * 1 MiB a minute or more (in a run of 10 minutes or longer), when p99.9 is over 5 times p50 outside garbage collection, or with the first
 * wrong response.
 */
import { parseArgs } from 'node:util'
import { openResults } from '../../record.ts'
import { startBackend } from '../load/backend.ts'
import { pinLoad } from '../load/child.ts'
import { saturate } from '../load/closed-loop.ts'
import { openLoop } from '../load/open-loop.ts'
import { elsewhere } from '../load/quietly.ts'
import { startToolgate, type Toolgate } from '../load/toolgate.ts'
import { WINDOW_SECONDS, warmUp, warmUpText } from '../load/warm-up.ts'
import type { Prepared } from '../load/wire.ts'
import { Latencies } from './latencies.ts'
import { drawer, type Kind, mixOf } from './mix.ts'
import { OwnPauses, type Pause, StolenTime, windowsOf } from './pauses.ts'
import { bareServer } from './reference.ts'
import { type Collected, type Found, judge, type Sample } from './verdict.ts'
import { Visitors } from './visitors.ts'

const HELP = `Usage: npm run bench:soak -- [options]

Sends calls for a long time, so many that the gateway is busy for a constant share of it, and checks responses, memory and latency.
The rate follows the speed of the machine.

  --minutes M        duration (default: 30; at most 50, because the tokens of the run expire after an hour)
  --share S          share of the time for which the gateway is busy (default: 0.7)
  --connections N    number of connections of the load (default: 32)
  --out FILE         file for the results as NDJSON (default: a new file in bench/results/)
  --heap-snapshots DIR   writes a heap snapshot after the warm-up and one at the end to DIR, to find a leak
  --help             prints this help

Exit code 0: every bound was kept. 1: one was not, or the run failed.
`
const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    share: { type: 'string', default: '0.7' },
    connections: { type: 'string', default: '32' },
    out: { type: 'string' },
    'heap-snapshots': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const MAX_MINUTES = 50
const EVERY_MS = 10_000
const WARM_SHARE = 0.2
const MAX_WARM_MINUTES = 5
const CAPACITY_SECONDS = 8
const REFERENCE_SECONDS = 60
/** A gateway busier than this works nothing off. */
const MAX_BUSY = 0.95
/** For the rate, from one look to the next: other programs, also of other machines on the same hardware, slow the gateway down by a factor. */
const MAX_STEP = 1.2
/** Sessions that are not ended expire within the warm-up: what remains is a leak. */
const MANY = '1000000'
const ENV = {
  SESSION_TTL: '20s',
  MAX_PER_IP: MANY,
  MAX_PER_TENANT: MANY,
  MAX_TOTAL: MANY,
  RATE_LIMIT_PER_MIN: MANY,
}

const say = (text: string): void => void process.stderr.write(`${text}\n`)

async function main(): Promise<boolean> {
  const minutes = Number(options.minutes)
  if (!(minutes > 0 && minutes <= MAX_MINUTES))
    throw new Error(`--minutes must be above 0 and at most ${MAX_MINUTES}`)
  const pinned = pinLoad()
  say('starting control plane and gateway')
  const gateway = await startToolgate({
    upstream: startBackend(),
    workers: 1,
    side: 'server',
    env: ENV,
    agentPerMonth: 0,
  })
  try {
    const { api, token } = gateway.control
    await api.createPlan('once', 1)
    const spentKey = await api.subscribe(gateway.url, 'spent', 'once')
    const kinds = mixOf(gateway, await token('demo-viewer'), spentKey)
    const capacity = await capacityOf(gateway, kinds)
    const perSecond = Math.round(capacity * Number(options.share))
    say(`capacity of the mix ${Math.round(capacity)}/s; ${perSecond}/s at first, ${minutes} minutes`)
    say('first a bare uWS server at the first rate, for what machine and load do by themselves')
    const connections = Number(options.connections)
    const seconds = Math.min(REFERENCE_SECONDS, minutes * 60)
    const reference = await bareServer({ perSecond, connections, seconds })
    const found = await soak(gateway, kinds, perSecond, minutes)
    const results = openResults('soak', options.out)
    const kept = judge({ ...found, reference }, results, {
      minutes,
      share: Number(options.share),
      connections,
      pinned,
    })
    results.complete()
    return kept
  } finally {
    await gateway.stop()
  }
}

/** Requests a second with the gateway busy all the time; what the load cannot send in time is reckoned from its CPU time. */
async function capacityOf(gateway: Toolgate, kinds: readonly Kind[]): Promise<number> {
  const draw = drawer(kinds)
  const next = (): Prepared => draw().request
  const connections = Number(options.connections)
  const measure = async (seconds: number): Promise<{ cpuUs: number; perSecond: number }> => {
    const before = gateway.cpuUs()
    const { latenciesMs, tookMs } = await saturate({ url: gateway.url, connections, next, seconds })
    const usedUs = gateway.cpuUs() - before
    const busy = Math.min(1, usedUs / 1000 / tookMs)
    return { cpuUs: usedUs / latenciesMs.length, perSecond: latenciesMs.length / (tookMs / 1000) / busy }
  }
  const costOf = ({ cpuUs }: { readonly cpuUs: number }): number => cpuUs
  const warmed = await warmUp(() => measure(WINDOW_SECONDS), costOf)
  say(`${warmUpText(warmed, costOf)}; measuring the capacity`)
  return (await measure(CAPACITY_SECONDS)).perSecond
}

async function soak(
  gateway: Toolgate,
  kinds: readonly Kind[],
  perSecond: number,
  minutes: number,
): Promise<Omit<Found, 'reference'>> {
  const stop = new AbortController()
  let fault: Error | undefined
  const visitors = new Visitors(gateway, error => {
    fault ??= error
    stop.abort()
  })
  const latencies = new Latencies(kinds)
  const watch = new Watch(gateway, latencies, minutes, perSecond)
  try {
    const draw = drawer(kinds)
    const kindOf = new Map(kinds.map(kind => [kind.request, kind]))
    await watch.begin()
    await openLoop({
      url: gateway.url,
      connections: Number(options.connections),
      perSecond: () => watch.perSecond,
      seconds: minutes * 60,
      next: () => draw().request,
      record: (request, dueMs, latencyMs) => latencies.add(kindOf.get(request)!, dueMs, latencyMs),
      signal: stop.signal,
    })
    await watch.end()
  } finally {
    await visitors.close()
  }
  if (fault !== undefined) throw fault
  say(`sessions opened: ${visitors.came}, ended as expected: ${visitors.left}`)
  return { samples: watch.samples, collected: watch.collected, latencies, visitors: visitors.came }
}

/** Looks at the gateway every ten seconds. */
class Watch {
  readonly samples: Sample[] = []
  readonly #gateway: Toolgate
  readonly #latencies: Latencies
  readonly #warmMs: number
  /** The rate, which follows how busy the gateway is. */
  perSecond: number
  /** What collections leave, behind the warm-up and at the end. */
  readonly collected: Collected[] = []
  readonly #own = new OwnPauses()
  readonly #stolen = new StolenTime()
  readonly #startMs = performance.now()
  #lookedAtMs = performance.now()
  #cpuUs = 0
  #pausesBefore: readonly Pause[] = []
  #stolenBefore: readonly Pause[] = []
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(gateway: Toolgate, latencies: Latencies, minutes: number, perSecond: number) {
    this.perSecond = perSecond
    this.#gateway = gateway
    this.#latencies = latencies
    this.#warmMs = Math.min(MAX_WARM_MINUTES, minutes * WARM_SHARE) * 60_000
  }

  async begin(): Promise<void> {
    await this.#gateway.ask('collections')
    await this.#gateway.ask('heapFloor')
    this.#cpuUs = this.#gateway.cpuUs()
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look())
    }, EVERY_MS)
  }

  async end(): Promise<void> {
    clearInterval(this.#timer)
    this.#stolen.stop()
    await this.#looking
    await this.#look()
    await this.#collect('end')
  }

  #minute(): number {
    return (performance.now() - this.#startMs) / 60_000
  }

  async #look(): Promise<void> {
    const pauses = (await this.#gateway.ask('collections')) as readonly Pause[]
    const heapBytes = (await this.#gateway.ask('heapFloor')) as number
    const nowMs = performance.now()
    const cpuUs = this.#gateway.cpuUs()
    const warm = nowMs - this.#startMs > this.#warmMs
    const latestPauses = [...pauses, ...this.#own.take()]
    // a request that came due before the last look may get its response after it
    const busy = (cpuUs - this.#cpuUs) / 1000 / (nowMs - this.#lookedAtMs)
    const wanted = Number(options.share)
    const share = Math.min(MAX_BUSY, Math.max(wanted, busy))
    const windows = windowsOf([...this.#pausesBefore, ...latestPauses], share)
    this.#pausesBefore = latestPauses
    const thefts = this.#stolen.take()
    const stolen = windowsOf([...this.#stolenBefore, ...thefts], share)
    this.#stolenBefore = thefts
    const recent = this.#latencies.settle(windows, stolen, warm)
    const sample: Sample = {
      minute: this.#minute(),
      warm,
      heapMiB: heapBytes / 1024 ** 2,
      rssMiB: this.#gateway.rssMiB(),
      busy,
      perSecond: this.perSecond,
      pauses: pauses.length,
      longestPauseMs: Math.max(0, ...pauses.map(([, ms]) => ms)),
    }
    this.#lookedAtMs = nowMs
    this.#cpuUs = cpuUs
    this.samples.push(sample)
    this.perSecond *= Math.min(MAX_STEP, Math.max(1 / MAX_STEP, wanted / busy))
    say(line(sample, recent.count, recent.p50Ms, recent.p99Ms, recent.p999Ms))
    if (warm && this.collected.length === 0) await this.#collect('warm')
  }

  /** The pauses that this makes are collections like others. */
  async #collect(name: string): Promise<void> {
    const { heapBytes } = (await this.#gateway.ask('memory')) as { heapBytes: number }
    this.collected.push({ minute: this.#minute(), heapMiB: heapBytes / 1024 ** 2 })
    const dir = options['heap-snapshots']
    if (dir !== undefined) say(String(await this.#gateway.ask('heapSnapshot', `${dir}/${name}.heapsnapshot`)))
  }
}

function line(sample: Sample, count: number, p50Ms: number, p99Ms: number, p999Ms: number): string {
  return [
    `${sample.minute.toFixed(1).padStart(5)} min${sample.warm ? '' : ' (warm-up)'}`,
    `${count} correct`,
    `p50 ${p50Ms.toFixed(2)} p99 ${p99Ms.toFixed(2)} p99.9 ${p999Ms.toFixed(2)} ms`,
    `heap ${sample.heapMiB.toFixed(1)} RSS ${sample.rssMiB.toFixed(1)} MiB`,
    `busy ${Math.round(sample.busy * 100)}%`,
    `${sample.pauses} collections, longest ${sample.longestPauseMs.toFixed(1)} ms`,
  ].join('  ')
}

async function keptOrNot(): Promise<number> {
  try {
    return (await main()) ? 0 : 1
  } catch (error) {
    console.error(`the soak failed: ${(error as Error).message}`)
    return 1
  }
}

if (options.help) console.log(HELP)
else process.exit(await (elsewhere() ?? keptOrNot()))

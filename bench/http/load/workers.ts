/**
 * Part `workers`: gateways of one, two and four threads on all processors with the load beside them, and bare uWS in one and two processes;
 * and whether a consumer's limit stays exact while all threads are at work. Nothing is pinned while it measures.
 */
import { availableParallelism } from 'node:os'
import { spread } from '../../statistics.ts'
import { type Child, pinLoad, startServer, unpinLoad } from './child.ts'
import { runClosedLoop, saturate } from './closed-loop.ts'
import type { Part } from './part.ts'
import { freePort } from './proxy.ts'
import { BARE, CALL_REST, CALL_RPC, type LoadRequest, over } from './requests.ts'
import { startToolgate, type Toolgate } from './toolgate.ts'
import { type Prepared, prepare } from './wire.ts'

const THREADS = [1, 2, 4]
/** Threads share connections by chance: with few of them, one has none. */
const CONNECTIONS = 64
const LIMIT = 5000
/** Sent for each call that is admitted. */
const OVER = 3

interface Variant {
  readonly id: string
  readonly name: string
  /** Of all its processes, µs. */
  cpuUs(): number
  readonly url: string
  readonly request: LoadRequest
  readonly of: string
}

interface Round {
  readonly perSecond: number
  readonly perCore: number
}

export async function measureWorkers(part: Part): Promise<void> {
  const running: Child[] = []
  unpinLoad()
  try {
    const variants: Variant[] = []
    for (const threads of [1, 2]) variants.push(await bare(threads, running))
    for (const threads of THREADS) {
      part.progress(`workers: starting a gateway of ${threads}`)
      const gateway = await startToolgate({
        upstream: part.backend,
        workers: threads,
        side: 'any',
        agentPerMonth: LIMIT,
      })
      running.push(gateway)
      variants.push(ours(gateway, threads))
      await checkQuota(part, gateway, threads)
    }
    const rounds = new Map<string, Round[]>(variants.map(({ id }) => [id, []]))
    for (const one of variants) await measure(one, 1)
    for (let round = 1; round <= part.rounds; round++) {
      part.progress(`workers: round ${round} of ${part.rounds}`)
      for (const one of variants) rounds.get(one.id)!.push(await measure(one, part.seconds))
    }
    report(part, variants, rounds)
  } finally {
    for (const child of running.reverse()) await child.stop()
    pinLoad()
  }
}

/** Processes that share a port: uWS has no threads. */
async function bare(count: number, running: Child[]): Promise<Variant> {
  const file = new URL('./server.ts', import.meta.url).pathname
  const port = String(await freePort())
  const servers: Child[] = []
  for (let number = 0; number < count; number++) {
    const server = await startServer(file, ['echo', port], 'any')
    servers.push(server)
    running.push(server)
  }
  return {
    id: `bare-uws/${count}`,
    name: `bare uWS, ${count} process${count > 1 ? 'es' : ''}`,
    cpuUs: () => servers.reduce((sum, server) => sum + server.cpuUs(), 0),
    url: `http://127.0.0.1:${port}`,
    request: BARE,
    of: 'bare-uws/1',
  }
}

const ours = (server: Toolgate, threads: number): Variant => ({
  id: `tools-call/${threads}`,
  name: `toolgate: tools/call, ${threads} worker${threads > 1 ? 's' : ''}`,
  cpuUs: () => server.cpuUs(),
  url: server.url,
  request: over(CALL_RPC, { authorization: `Bearer ${server.token}` }),
  of: 'tools-call/1',
})

async function measure(variant: Variant, seconds: number): Promise<Round> {
  const { url, request } = variant
  const before = variant.cpuUs()
  const loopResult = await runClosedLoop({ url, request, connections: CONNECTIONS, seconds, side: 'any' })
  return {
    perSecond: loopResult.perSecond,
    perCore: (loopResult.requests * 1e6) / (variant.cpuUs() - before),
  }
}

/** A month's limit, asked for three times over from all threads at once. @throws Error when one more or one less was admitted */
async function checkQuota(part: Part, gateway: Toolgate, threads: number): Promise<void> {
  const token = await gateway.control.token('demo-agent')
  const limited: Prepared = {
    ...prepare(gateway.url, over(CALL_REST, { authorization: `Bearer ${token}` })),
    refusal: { status: 429, holds: Buffer.from('error') },
  }
  let left = LIMIT * OVER
  let admitted = 0
  let refused = 0
  await saturate({
    url: gateway.url,
    connections: CONNECTIONS,
    next: () => (left-- > 0 ? limited : undefined),
    seen: status => {
      if (status === 200) admitted++
      else refused++
    },
  })
  if (admitted !== LIMIT)
    throw new Error(
      `${threads} threads admitted ${admitted} calls of a plan of ${LIMIT}; ${refused} were refused`,
    )
  part.progress(
    `workers: threads ${threads}, calls sent ${admitted + refused}, admitted ${admitted}: exactly the limit`,
  )
  part.write({
    suite: 'http/workers',
    case: `quota/${threads}`,
    metric: 'admitted',
    unit: 'calls',
    better: 'lower',
    samples: [admitted],
    setup: { limit: LIMIT, sent: admitted + refused, connections: CONNECTIONS },
  })
}

function report(
  part: Part,
  variants: readonly Variant[],
  rounds: ReadonlyMap<string, readonly Round[]>,
): void {
  const setup = {
    connections: CONNECTIONS,
    seconds: part.seconds,
    pinned: false,
    cores: availableParallelism(),
  }
  for (const { id, of } of variants)
    for (const [metric, unit, figure] of [
      ['throughput', 'calls/s', (round: Round) => round.perSecond],
      ['per-core', 'calls/CPU-s', (round: Round) => round.perCore],
    ] as const)
      part.write({
        suite: 'http/workers',
        case: id,
        metric,
        unit,
        better: 'higher',
        samples: rounds.get(id)!.map(figure),
        setup,
        reference:
          id === of ? undefined : { case: `http/workers/${of}`, samples: rounds.get(of)!.map(figure) },
      })
  part.show(
    `Threads on ${availableParallelism()} processors, load beside them; each limit of ${LIMIT} calls was admitted exactly`,
    ['case', 'calls/s', 'least–most', 'CPU µs', 'calls/CPU-s', 'times one'],
    variants.map(({ id, name, of }) => {
      const perSecond = spread(rounds.get(id)!.map(round => round.perSecond))
      const perCore = spread(rounds.get(id)!.map(round => round.perCore)).median
      const one = spread(rounds.get(of)!.map(round => round.perSecond)).median
      return [
        name,
        String(Math.round(perSecond.median)),
        `${Math.round(perSecond.min)}–${Math.round(perSecond.max)}`,
        (1e6 / perCore).toFixed(1),
        String(Math.round(perCore)),
        (perSecond.median / one).toFixed(2),
      ]
    }),
    [1, 2, 3, 4, 5],
  )
}

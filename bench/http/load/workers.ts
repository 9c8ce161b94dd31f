/**
 * Part `workers`: gateways of one, two and four threads on all processors with the load beside them, and bare uWS in one and two processes;
 * and whether a consumer's limit stays exact while all threads are at work. Nothing is pinned while it measures.
 */
import { availableParallelism } from 'node:os'
import { spread } from '../../statistics.ts'
import { type Child, pinLoad, startServer, unpinLoad } from './child.ts'
import { runClosedLoop, saturate } from './closed-loop.ts'
import { choose, type Named, type Part } from './part.ts'
import { freePort } from './proxy.ts'
import { BARE, CALL_REST, CALL_RPC, type LoadRequest, over } from './requests.ts'
import { startToolgate, type Toolgate } from './toolgate.ts'
import { type Round, type Taken, takeTurns } from './turns.ts'
import { type Prepared, prepare } from './wire.ts'

const THREADS = [1, 2, 4]
/** Threads share connections by chance: with few of them, one has none. */
const CONNECTIONS = 64
const LIMIT = 5000
/** Sent for each call that is admitted. */
const OVER = 3

interface Plan extends Named {
  readonly start: (part: Part, running: Child[]) => Promise<Served>
}

interface Served {
  /** For all its processes, µs. */
  cpuUs(): number
  readonly url: string
  readonly request: LoadRequest
}

type Variant = Named & Served

interface ThreadsRound extends Round {
  readonly perSecond: number
}

const PLANS: readonly Plan[] = [
  ...[1, 2].map(count => ({
    id: `bare-uws/${count}`,
    name: `bare uWS, ${count} process${count > 1 ? 'es' : ''}`,
    ...(count > 1 ? { of: 'bare-uws/1' } : {}),
    start: (_: Part, running: Child[]) => bare(count, running),
  })),
  ...THREADS.map(threads => ({
    id: `tools-call/${threads}`,
    name: `toolgate: tools/call, ${threads} worker${threads > 1 ? 's' : ''}`,
    ...(threads > 1 ? { of: 'tools-call/1' } : {}),
    start: (part: Part, running: Child[]) => ours(part, threads, running),
  })),
]

export const workersCases = (filter: string): readonly Named[] => choose(PLANS, filter)

export async function measureWorkers(part: Part): Promise<void> {
  const running: Child[] = []
  unpinLoad()
  try {
    const variants: Variant[] = []
    for (const { start, ...named } of choose(PLANS, part.filter)) {
      part.progress(`workers: starting ${named.id}`)
      variants.push({ ...named, ...(await start(part, running)) })
    }
    const takenOf = await takeTurns<Variant, ThreadsRound>(part, {
      name: 'workers',
      cases: variants,
      measure,
      write: (one, takenOf) => write(part, one, takenOf),
    })
    show(part, variants, takenOf)
  } finally {
    for (const child of running.reverse()) await child.stop()
    pinLoad()
  }
}

/** Processes that share a port: uWS has no threads. */
async function bare(count: number, running: Child[]): Promise<Served> {
  const file = new URL('./server.ts', import.meta.url).pathname
  const port = String(await freePort())
  const servers: Child[] = []
  for (let number = 0; number < count; number++) {
    const server = await startServer(file, ['echo', port], 'any')
    servers.push(server)
    running.push(server)
  }
  return {
    cpuUs: () => servers.reduce((sum, server) => sum + server.cpuUs(), 0),
    url: `http://127.0.0.1:${port}`,
    request: BARE,
  }
}

async function ours(part: Part, threads: number, running: Child[]): Promise<Served> {
  const gateway = await startToolgate({
    upstream: part.backend,
    workers: threads,
    side: 'any',
    agentPerMonth: LIMIT,
  })
  running.push(gateway)
  await checkQuota(part, gateway, threads)
  return {
    cpuUs: () => gateway.cpuUs(),
    url: gateway.url,
    request: over(CALL_RPC, { authorization: `Bearer ${gateway.token}` }),
  }
}

async function measure(variant: Variant, seconds: number): Promise<ThreadsRound> {
  const { url, request } = variant
  const before = variant.cpuUs()
  const loopResult = await runClosedLoop({ url, request, connections: CONNECTIONS, seconds, side: 'any' })
  return {
    perSecond: loopResult.perSecond,
    cpuUs: (variant.cpuUs() - before) / loopResult.requests,
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

function write(part: Part, { id, of }: Variant, takenOf: (id: string) => Taken<ThreadsRound>): void {
  const { rounds, warm, warmUpMs } = takenOf(id)
  for (const [metric, unit, figure] of [
    ['throughput', 'calls/s', (round: ThreadsRound) => round.perSecond],
    ['per-core', 'calls/CPU-s', (round: ThreadsRound) => 1e6 / round.cpuUs],
  ] as const)
    part.write({
      suite: 'http/workers',
      case: id,
      metric,
      unit,
      better: 'higher',
      samples: rounds.map(figure),
      warm,
      setup: {
        connections: CONNECTIONS,
        seconds: part.seconds,
        pinned: false,
        cores: availableParallelism(),
        warmUpMs,
      },
      reference:
        of === undefined
          ? undefined
          : { case: `http/workers/${of}`, samples: takenOf(of).rounds.map(figure) },
    })
}

function show(part: Part, variants: readonly Variant[], takenOf: (id: string) => Taken<ThreadsRound>): void {
  part.show(
    `Threads on ${availableParallelism()} processors, load beside them; each limit of ${LIMIT} calls was admitted exactly`,
    ['case', 'calls/s', 'least–most', 'CPU µs', 'calls/CPU-s', 'times one'],
    variants.map(({ id, name, of = id }) => {
      const rate = (one: string) => spread(takenOf(one).rounds.map(({ perSecond }) => perSecond))
      const perSecond = rate(id)
      const cpuUs = spread(takenOf(id).rounds.map(round => round.cpuUs)).median
      return [
        name,
        String(Math.round(perSecond.median)),
        `${Math.round(perSecond.min)}–${Math.round(perSecond.max)}`,
        cpuUs.toFixed(1),
        String(Math.round(1e6 / cpuUs)),
        (perSecond.median / rate(of).median).toFixed(2),
      ]
    }),
    [1, 2, 3, 4, 5],
  )
}

/**
 * Part `ladder`: what each part of the gateway adds to the floor in the middle of a real call, as CPU time and as bytes allocated, rung
 * by rung in turns. Bytes are counted by a second process with a young generation that no collection empties during the count.
 */
import { spread } from '../../statistics.ts'
import { type Child, startChild } from '../load/child.ts'
import { runClosedLoop, saturate } from '../load/closed-loop.ts'
import { hasNginx, startNginx } from '../load/nginx.ts'
import type { Part } from '../load/part.ts'
import { CALL_RPC, type LoadRequest, over } from '../load/requests.ts'
import { INSIDE, startToolgate } from '../load/toolgate.ts'
import { prepare } from '../load/wire.ts'
import { bundled } from './bundle.ts'
import { BACKEND_PATH, RUNGS } from './rungs.ts'

const SERVER = new URL('./server.ts', import.meta.url).pathname
/** MiB; all that so many calls allocate fits in. */
const YOUNG_MIB = 1024
const COUNTED_CALLS = 4000
const WARM_CALLS = 6000
const WARM_SHARE = 0.5

interface Step {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly request: LoadRequest
  readonly server: Child
  /** Undefined for programs in another language. */
  readonly bytes: number | undefined
}

const CALL: LoadRequest = {
  ...CALL_RPC,
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_order', arguments: { id: 'P-1001' } },
  }),
}

export async function measureLadder(part: Part): Promise<void> {
  const running: { stop(): Promise<void> }[] = []
  try {
    const steps = await startSteps(part, running)
    const rounds = new Map<string, { cpuUs: number; perSecond: number }[]>(steps.map(({ id }) => [id, []]))
    part.progress('ladder: warming up')
    for (const step of steps) await round(step, part, Math.max(1, part.seconds * WARM_SHARE))
    for (let at = 1; at <= part.rounds; at++) {
      part.progress(`ladder: round ${at} of ${part.rounds}`)
      for (const step of steps) rounds.get(step.id)!.push(await round(step, part, part.seconds))
    }
    report(part, steps, rounds)
  } finally {
    for (const each of running.reverse()) await each.stop()
  }
}

async function startSteps(part: Part, running: { stop(): Promise<void> }[]): Promise<readonly Step[]> {
  const steps: Step[] = []
  const file = await bundled(SERVER)
  if (hasNginx()) {
    const nginx = await startNginx(part.backend)
    running.push(nginx)
    const request = { ...CALL, path: BACKEND_PATH }
    const url = `http://127.0.0.1:${nginx.port}`
    steps.push({ id: 'nginx', name: 'nginx proxy_pass', url, request, server: nginx, bytes: undefined })
  }
  for (const [rung, name] of RUNGS) {
    part.progress(`ladder: ${rung}`)
    const counting = await startRung(file, rung, part.backend, true)
    const bytes = await bytesPerCall(counting)
    await counting.server.stop()
    const step = await startRung(file, rung, part.backend, false)
    running.push(step.server)
    steps.push({ id: rung, name, ...step, bytes })
  }
  part.progress('ladder: gateway')
  const options = { upstream: part.backend, workers: 1, side: 'server' } as const
  const counted = await startToolgate({ ...options, nodeOptions: YOUNG_OPTIONS })
  const ofGateway = ({ url, token, ...server }: typeof counted) => ({
    url,
    server,
    request: over(CALL_RPC, { authorization: `Bearer ${token}` }),
  })
  const bytes = await bytesPerCall(ofGateway(counted))
  await counted.stop()
  const gateway = await startToolgate(options)
  running.push(gateway)
  steps.push({ id: 'gateway', name: '+ the program as it is deployed', ...ofGateway(gateway), bytes })
  return steps
}

const YOUNG_OPTIONS = [`--max-semi-space-size=${YOUNG_MIB}`, `--min-semi-space-size=${YOUNG_MIB}`]

async function startRung(
  file: string,
  rung: string,
  backend: string,
  counting: boolean,
): Promise<Pick<Step, 'server' | 'url' | 'request'>> {
  const options = counting ? [...YOUNG_OPTIONS, '--expose-gc', '--import', INSIDE] : []
  const args = [...options, file, rung, backend]
  const server = await startChild(process.execPath, args, { side: 'server', questions: counting })
  const { port, token } = JSON.parse(server.said) as { port: number; token: string }
  const request = over(CALL, { authorization: `Bearer ${token}` })
  return { server, url: `http://127.0.0.1:${port}`, request }
}

/** @throws Error when a collection made the figure wrong */
async function bytesPerCall({
  server,
  url,
  request,
}: Pick<Step, 'server' | 'url' | 'request'>): Promise<number> {
  const prepared = prepare(url, request)
  const send = (calls: number) => {
    let left = calls
    return saturate({ url, connections: 8, next: () => (left-- > 0 ? prepared : undefined) })
  }
  await send(WARM_CALLS)
  const before = (await server.ask('allocated')) as { bytes: number; collections: number }
  await send(COUNTED_CALLS)
  const after = (await server.ask('allocated')) as { bytes: number; collections: number }
  if (after.collections > before.collections) throw new Error('a collection ran while bytes were counted')
  return (after.bytes - before.bytes) / COUNTED_CALLS
}

async function round(
  { url, request, server }: Step,
  { connections }: Part,
  seconds: number,
): Promise<{ cpuUs: number; perSecond: number }> {
  const before = server.cpuUs()
  const { requests, perSecond } = await runClosedLoop({ url, request, connections, seconds, side: 'load' })
  return { cpuUs: (server.cpuUs() - before) / requests, perSecond }
}

function report(
  part: Part,
  steps: readonly Step[],
  rounds: ReadonlyMap<string, readonly { readonly cpuUs: number; readonly perSecond: number }[]>,
): void {
  const cpuOf = (id: string) => rounds.get(id)!.map(({ cpuUs }) => cpuUs)
  const floor = spread(cpuOf('floor')).median
  const setup = { connections: part.connections, seconds: part.seconds, pinned: part.pinned }
  let previous = 0
  let previousBytes = 0
  const rows = steps.map(({ id, name, bytes }) => {
    const name_ = { suite: 'http/ladder', case: id, setup }
    const reference = id === 'floor' ? undefined : { case: 'http/ladder/floor', samples: cpuOf('floor') }
    part.write({ ...name_, metric: 'cpu', unit: 'µs', better: 'lower', samples: cpuOf(id), reference })
    if (bytes !== undefined)
      part.write({ ...name_, metric: 'allocated', unit: 'B', better: 'lower', samples: [bytes] })
    const { median, min, max } = spread(cpuOf(id))
    const added = id === 'nginx' || id === 'floor' ? '' : (median - previous).toFixed(1)
    const addedBytes = bytes === undefined || id === 'floor' ? '' : String(Math.round(bytes - previousBytes))
    if (id !== 'nginx') {
      previous = median
      previousBytes = bytes ?? 0
    }
    return [
      id,
      name,
      median.toFixed(1),
      `${min.toFixed(1)}–${max.toFixed(1)}`,
      added,
      (median / floor).toFixed(2),
      bytes === undefined ? '' : String(Math.round(bytes)),
      addedBytes,
    ]
  })
  part.show(
    'Ladder from the floor to the gateway, tools/call; CPU of the server for one call, and bytes on the JavaScript heap',
    ['rung', 'what it adds', 'CPU µs', 'least–most', '+ µs', '× floor', 'bytes', '+ bytes'],
    rows,
    [2, 3, 4, 5, 6, 7],
  )
}

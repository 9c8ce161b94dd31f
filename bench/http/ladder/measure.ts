/**
 * Part `ladder`: what each part of the gateway adds to the floor in the middle of a real call, as CPU time and as bytes allocated, rung
 * by rung in turns, beside the budgets of bytes. It shows a broken budget and does not fail: the gate does (`judge.ts`).
 */
import { type RungVerdict, readBudgets, rungLimits, rungVerdicts } from '../../budgets.ts'
import { spread } from '../../statistics.ts'
import { runClosedLoop } from '../load/closed-loop.ts'
import { hasNginx, startNginx } from '../load/nginx.ts'
import { choose, type Named, type Part } from '../load/part.ts'
import { type Round, type Taken, takeTurns } from '../load/turns.ts'
import { bundledServer } from './bundle.ts'
import { rungFigureText } from './judge.ts'
import { CALLS, GATEWAY, LEAST, RUNGS, VARIANTS } from './rung-list.ts'
import {
  bytesPerCall,
  CALL,
  isGatewayCall,
  type ServedRung,
  startGatewayRung,
  startRung,
} from './rung-process.ts'
import { BACKEND_PATH } from './rungs.ts'
import { startVariantBackend } from './variant-backends.ts'

const SUITE = 'http/ladder'
/** Beside the line: they add to no rung. */
const WHOLE: readonly string[] = [LEAST, ...CALLS].map(([id]) => id)
type Name = readonly [id: string, name: string]
const NGINX: Name = ['nginx', 'nginx proxy_pass']

interface Step extends Named, Pick<ServedRung, 'url' | 'request'> {
  readonly server: Pick<ServedRung['server'], 'cpuUs' | 'stop'>
  /** Undefined for programs in another language. */
  readonly bytes: number | undefined
  /** Connections of the load. */
  readonly connections: number
}

interface StepRound extends Round {
  readonly perSecond: number
}

export function ladderCases(filter: string): readonly Named[] {
  const variants = VARIANTS.map(({ id, name }): Name => [id, name])
  const all = [
    ...(hasNginx() ? [NGINX] : []),
    ...RUNGS.flatMap((rung): readonly Name[] => (rung[0] === 'invoke' ? [rung, ...variants] : [rung])),
    LEAST,
    GATEWAY,
    ...CALLS,
  ].map(([id, name]) => ({ id, name, ...(id === 'floor' ? {} : { of: 'floor' }) }))
  return choose(all, filter)
}

export async function measureLadder(part: Part): Promise<void> {
  const running: { stop(): Promise<void> }[] = []
  try {
    const steps: Step[] = []
    const file = await bundledServer()
    for (const named of ladderCases(part.filter)) {
      part.progress(`ladder: starting ${named.id}`)
      steps.push(await startStep(part, file, named, running))
    }
    const takenOf = await takeTurns<Step, StepRound>(part, {
      name: 'ladder',
      cases: steps,
      measure: round,
      write: (step, takenOf) => writeCpu(part, step, takenOf),
    })
    show(part, steps, takenOf)
  } finally {
    for (const each of running.reverse()) await each.stop()
  }
}

/** Writes the bytes that a call allocates, which are counted in a process apart. */
async function startStep(
  part: Part,
  file: string,
  named: Named,
  running: { stop(): Promise<void> }[],
): Promise<Step> {
  const { id } = named
  if (id === NGINX[0]) {
    const server = await startNginx(part.backend)
    running.push(server)
    const url = `http://127.0.0.1:${server.port}`
    const request = { ...CALL, path: BACKEND_PATH }
    return { ...named, url, request, server, bytes: undefined, connections: part.connections }
  }
  const variant = VARIANTS.find(one => one.id === id)
  const other = variant && (await startVariantBackend(variant.id, part.backend))
  if (other !== undefined) running.push(other)
  const start = (counting: boolean): Promise<ServedRung> => {
    const options = { backend: other?.url ?? part.backend, side: 'server', counting } as const
    return isGatewayCall(id) ? startGatewayRung(id, options) : startRung(file, id, options)
  }
  const bytes = await bytesPerCall(await start(true))
  part.write({
    suite: SUITE,
    case: id,
    metric: 'allocated',
    unit: 'B',
    better: 'lower',
    samples: [bytes],
    setup: { pinned: part.pinned },
  })
  const served = await start(false)
  running.push(served.server)
  const connections = variant !== undefined && 'callers' in variant ? variant.callers : part.connections
  return { ...named, ...served, bytes, connections }
}

async function round({ url, request, server, connections }: Step, seconds: number): Promise<StepRound> {
  const before = server.cpuUs()
  const { requests, perSecond } = await runClosedLoop({ url, request, connections, seconds, side: 'load' })
  return { cpuUs: (server.cpuUs() - before) / requests, perSecond }
}

function writeCpu(
  part: Part,
  { id, of, connections }: Step,
  takenOf: (id: string) => Taken<StepRound>,
): void {
  const cpuOf = (one: string) => takenOf(one).rounds.map(({ cpuUs }) => cpuUs)
  const { warm, warmUpMs } = takenOf(id)
  part.write({
    suite: SUITE,
    case: id,
    metric: 'cpu',
    unit: 'µs',
    better: 'lower',
    samples: cpuOf(id),
    warm,
    setup: { connections, seconds: part.seconds, pinned: part.pinned, warmUpMs },
    reference: of === undefined ? undefined : { case: `${SUITE}/${of}`, samples: cpuOf(of) },
  })
}

function show(part: Part, steps: readonly Step[], takenOf: (id: string) => Taken<StepRound>): void {
  const cpuOf = (id: string) => spread(takenOf(id).rounds.map(({ cpuUs }) => cpuUs))
  const verdicts = rungVerdicts(
    rungLimits(readBudgets().rungs),
    steps.flatMap(({ id, bytes }) =>
      bytes === undefined ? [] : [{ rung: id, metric: 'allocated', figure: bytes }],
    ),
  )
  let previous = 0
  let previousBytes = 0
  const rows = steps.map(({ id, name, of = id, bytes }) => {
    const { median, min, max } = cpuOf(id)
    const added = ['nginx', 'floor', ...WHOLE].includes(id) ? '' : (median - previous).toFixed(1)
    const addedBytes =
      bytes === undefined || id === 'floor' || WHOLE.includes(id)
        ? ''
        : String(Math.round(bytes - previousBytes))
    if (id !== 'nginx' && !WHOLE.includes(id) && !VARIANTS.some(one => one.id === id)) {
      previous = median
      previousBytes = bytes ?? 0
    }
    return [
      id,
      name,
      median.toFixed(1),
      `${min.toFixed(1)}–${max.toFixed(1)}`,
      added,
      (median / cpuOf(of).median).toFixed(2),
      bytes === undefined ? '' : String(Math.round(bytes)),
      addedBytes,
      budgetText(verdicts.find(({ rung }) => rung === id)),
    ]
  })
  part.show(
    'Ladder from the floor to the gateway, tools/call; CPU of the server for one call, and bytes on the JavaScript heap',
    ['rung', 'what it adds', 'CPU µs', 'least–most', '+ µs', '× floor', 'bytes', '+ bytes', 'budget'],
    rows,
    [2, 3, 4, 5, 6, 7],
  )
}

function budgetText(verdict: RungVerdict | undefined): string {
  if (verdict === undefined) return ''
  return `≤ ${rungFigureText(verdict.metric, verdict.max)}${verdict.kept ? '' : ' BROKEN'}`
}

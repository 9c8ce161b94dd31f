/**
 * Part `ladder`: what each part of the gateway adds to the floor in the middle of a real call, as CPU time and as bytes allocated, rung
 * by rung in turns, beside the budgets of bytes. It shows a broken budget and does not fail: the gate does (`judge.ts`).
 */
import { type RungVerdict, readBudgets, rungLimits, rungVerdicts } from '../../budgets.ts'
import { spread } from '../../statistics.ts'
import { runClosedLoop } from '../load/closed-loop.ts'
import { hasNginx, startNginx } from '../load/nginx.ts'
import type { Part } from '../load/part.ts'
import { bundledServer } from './bundle.ts'
import { rungFigureText } from './judge.ts'
import { CALLS, GATEWAY, LEAST, RUNGS, VARIANTS } from './rung-list.ts'
import { bytesPerCall, CALL, type ServedRung, startGatewayRung, startRung } from './rung-process.ts'
import { BACKEND_PATH } from './rungs.ts'
import { startVariantBackend } from './variant-backends.ts'

const WARM_SHARE = 0.5
/** Beside the line: they add to no rung. */
const WHOLE: readonly string[] = [LEAST, ...CALLS].map(([id]) => id)

interface Step extends Pick<ServedRung, 'url' | 'request'> {
  readonly id: string
  readonly name: string
  readonly server: Pick<ServedRung['server'], 'cpuUs'>
  /** Undefined for programs in another language. */
  readonly bytes: number | undefined
  /** Connections of the load; those of the part when absent. */
  readonly callers?: number | undefined
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
  const { backend } = part
  const file = await bundledServer()
  if (hasNginx()) {
    const nginx = await startNginx(backend)
    running.push(nginx)
    const request = { ...CALL, path: BACKEND_PATH }
    const url = `http://127.0.0.1:${nginx.port}`
    steps.push({ id: 'nginx', name: 'nginx proxy_pass', url, request, server: nginx, bytes: undefined })
  }
  const add = async (
    [id, name]: readonly [string, string],
    start: (counting: boolean) => Promise<ServedRung>,
    callers?: number,
  ): Promise<void> => {
    part.progress(`ladder: ${id}`)
    const bytes = await bytesPerCall(await start(true))
    const step = await start(false)
    running.push(step.server)
    steps.push({ id, name, ...step, bytes, callers })
  }
  for (const rung of RUNGS) {
    await add(rung, counting => startRung(file, rung[0], { backend, side: 'server', counting }))
    if (rung[0] !== 'invoke') continue
    for (const { id, name, ...variant } of VARIANTS) {
      const other = await startVariantBackend(id, backend)
      running.push(other)
      const callers = 'callers' in variant ? variant.callers : undefined
      const options = { backend: other.url, side: 'server' } as const
      await add([id, name], counting => startRung(file, id, { ...options, counting }), callers)
    }
  }
  await add(LEAST, counting => startRung(file, LEAST[0], { backend, side: 'server', counting }))
  for (const call of [GATEWAY, ...CALLS])
    await add(call, counting => startGatewayRung(call[0], { backend, side: 'server', counting }))
  return steps
}

async function round(
  { url, request, server, callers }: Step,
  part: Part,
  seconds: number,
): Promise<{ cpuUs: number; perSecond: number }> {
  const before = server.cpuUs()
  const connections = callers ?? part.connections
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
  const verdicts = rungVerdicts(
    rungLimits(readBudgets().rungs),
    steps.flatMap(({ id, bytes }) =>
      bytes === undefined ? [] : [{ rung: id, metric: 'allocated', figure: bytes }],
    ),
  )
  let previous = 0
  let previousBytes = 0
  const rows = steps.map(({ id, name, bytes, callers = part.connections }) => {
    const setup = { connections: callers, seconds: part.seconds, pinned: part.pinned }
    const name_ = { suite: 'http/ladder', case: id, setup }
    const reference = id === 'floor' ? undefined : { case: 'http/ladder/floor', samples: cpuOf('floor') }
    part.write({ ...name_, metric: 'cpu', unit: 'µs', better: 'lower', samples: cpuOf(id), reference })
    if (bytes !== undefined)
      part.write({ ...name_, metric: 'allocated', unit: 'B', better: 'lower', samples: [bytes] })
    const { median, min, max } = spread(cpuOf(id))
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
      (median / floor).toFixed(2),
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

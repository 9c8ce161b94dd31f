/** Measures what the budgets of the rungs limit: bytes of every rung, and CPU time in parts of the floor's where a budget asks for it. */
import type { RungFigure } from '../../budgets.ts'
import { ratioSpread, spread } from '../../statistics.ts'
import { startBackend } from '../load/backend.ts'
import { bundledServer } from './bundle.ts'
import type { MeasureRungs } from './judge.ts'
import {
  bytesPerCall,
  isGatewayCall,
  type ServedRung,
  send,
  startGatewayRung,
  startRung,
  WARM_CALLS,
} from './rung-process.ts'

const FLOOR = 'floor'
/** Bytes are the same however busy the machine is, and a process that starts leaves one of two processors idle. */
const AT_ONCE = 2
const FIRST = { rounds: 5, calls: 1500 }
const AGAIN = { rounds: 9, calls: 4000 }
/** What the compiler inlines differs by 1 % from process to process: a limit that one of them breaks is judged by the median of these. */
const PROCESSES = 9

/** Its backend listens until the process ends. */
export async function rungMeasurement(): Promise<MeasureRungs> {
  const file = await bundledServer()
  const backend = startBackend()
  const start = (rung: string, counting: boolean): Promise<ServedRung> => {
    const options = { backend, side: 'any', counting } as const
    return isGatewayCall(rung) ? startGatewayRung(rung, options) : startRung(file, rung, options)
  }
  return async (limits, again) => {
    const counted = limits.filter(({ metric }) => metric === 'allocated')
    const figures = await inTurn(counted, AT_ONCE, async ({ rung, metric }) => {
      const samples: number[] = []
      while (samples.length < (again ? PROCESSES : 1))
        samples.push(await bytesPerCall(await start(rung, true)))
      return { rung, metric, figure: spread(samples).median }
    })
    const timed = limits.filter(({ metric }) => metric === 'cpu').map(({ rung }) => rung)
    const ratios = timed.length === 0 ? [] : await floorRatios(timed, start, again ? AGAIN : FIRST)
    return [...figures, ...ratios]
  }
}

/** In turns with the floor: what slows the machine for a while slows both. */
async function floorRatios(
  rungs: readonly string[],
  start: (rung: string, counting: boolean) => Promise<ServedRung>,
  { rounds, calls }: { readonly rounds: number; readonly calls: number },
): Promise<RungFigure[]> {
  const served = new Map<string, ServedRung>()
  try {
    for (const rung of [FLOOR, ...rungs]) served.set(rung, await start(rung, false))
    for (const each of served.values()) await send(each, WARM_CALLS)
    const samples = new Map([...served.keys()].map(rung => [rung, [] as number[]]))
    for (let round = 0; round < rounds; round++)
      for (const [rung, each] of served) samples.get(rung)!.push(await cpuUs(each, calls))
    return rungs.map(rung => {
      const figure = ratioSpread(samples.get(rung)!, samples.get(FLOOR)!).median
      return { rung, metric: 'cpu', figure }
    })
  } finally {
    for (const { server } of served.values()) await server.stop()
  }
}

async function cpuUs(served: ServedRung, calls: number): Promise<number> {
  const before = (await served.server.ask('cpu')) as number
  await send(served, calls)
  return ((await served.server.ask('cpu')) as number) - before
}

/** So many at a time. */
async function inTurn<T, R>(items: readonly T[], atOnce: number, run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const left = items.entries()
  const work = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await run(item)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return results
}

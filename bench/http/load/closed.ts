/** Part `load`: every chosen case in turns under a closed loop; the cost of a call to the server beside that of its reference. */
import { spread } from '../../statistics.ts'
import type { Case, Cases } from './cases.ts'
import { CLOSED_LOOP_TOOL, runClosedLoop } from './closed-loop.ts'
import { type LoadRound, writeLoadCase } from './lines.ts'
import { choose, type Part } from './part.ts'
import { type Taken, takeTurns } from './turns.ts'

/** A server that is less busy than this waits for the load generator: its rate is then not its capacity, but its CPU time for a call is valid. */
export const BUSY = 0.95

export interface LoadFigures {
  /** Calls a second in the closed loop, by case id; medians. */
  readonly perSecond: ReadonlyMap<string, number>
}

export async function measureLoad(part: Part, cases: Cases): Promise<LoadFigures> {
  const chosen = choose(cases.all, part.filter)
  const setup = {
    loop: 'closed',
    tool: CLOSED_LOOP_TOOL,
    workers: part.workers,
    connections: part.connections,
    seconds: part.seconds,
    pinned: part.pinned,
  }
  const takenOf = await takeTurns<Case, LoadRound>(part, {
    name: 'load',
    cases: chosen,
    measure: (one, seconds) => measure(one, cases, part, seconds),
    write({ id, of, server }, takenOf) {
      const mine = { id, ...takenOf(id) }
      const busy = Number(spread(mine.rounds.map(({ busy }) => busy)).median.toFixed(2))
      writeLoadCase(part.write, mine, of === undefined ? undefined : { id: of, ...takenOf(of) }, {
        rssMiB: server.rssMiB(),
        setup: { ...setup, busy },
      })
    },
  })
  part.show(
    `Closed loop, ${part.connections} connections (${CLOSED_LOOP_TOOL}); a ratio is calls for a second of CPU, ours by the reference's`,
    ['case', 'calls/s', 'CPU µs', 'least–most', 'busy', 'ratio', 'of', 'p50 ms', 'p99 ms', 'RSS MiB'],
    chosen.map(one => row(one, takenOf)),
    [1, 2, 3, 4, 5, 7, 8, 9],
  )
  return {
    perSecond: new Map(
      chosen.map(({ id }) => [id, spread(takenOf(id).rounds.map(({ perSecond }) => perSecond)).median]),
    ),
  }
}

async function measure(one: Case, cases: Cases, part: Part, seconds: number): Promise<LoadRound> {
  cases.only(one)
  const { url, request, calls = 1 } = one
  const before = one.server.cpuUs()
  const startedAt = performance.now()
  const loopResult = await runClosedLoop({
    url,
    request,
    connections: part.connections,
    seconds,
    side: 'load',
  })
  const cpuUs = one.server.cpuUs() - before
  return {
    ...loopResult,
    perSecond: loopResult.perSecond * calls,
    cpuUs: cpuUs / loopResult.requests / calls,
    busy: Math.min(1, cpuUs / 1000 / (performance.now() - startedAt)),
  }
}

function row(one: Case, takenOf: (id: string) => Taken<LoadRound>): readonly string[] {
  const mine = takenOf(one.id).rounds
  const median = (of: (round: LoadRound) => number): number => spread(mine.map(of)).median
  const cpu = spread(mine.map(({ cpuUs }) => cpuUs))
  const of = one.of === undefined ? undefined : takenOf(one.of).rounds
  const busy = median(round => round.busy)
  return [
    one.name,
    String(Math.round(median(({ perSecond }) => perSecond))),
    cpu.median.toFixed(1),
    `${cpu.min.toFixed(1)}–${cpu.max.toFixed(1)}`,
    `${Math.round(busy * 100)}%${busy < BUSY ? ' *' : '  '}`,
    of === undefined ? '' : (spread(of.map(({ cpuUs }) => cpuUs)).median / cpu.median).toFixed(2),
    of === undefined ? '' : one.of!,
    median(({ p50Ms }) => p50Ms).toFixed(3),
    median(({ p99Ms }) => p99Ms).toFixed(3),
    String(Math.round(one.server.rssMiB())),
  ]
}

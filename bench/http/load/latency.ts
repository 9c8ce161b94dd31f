/**
 * Part `latency`: how long a tools/call takes beside nginx, bare uWS and Envoy. First at equal utilization, each server at the same share of
 * its capacity, in turns; then all but Envoy at the same rates for the curve. The clock starts when a request is due (`open-loop.ts` says why).
 */
import { spread } from '../../statistics.ts'
import type { Case, Cases } from './cases.ts'
import { runClosedLoop } from './closed-loop.ts'
import { latencyAt } from './open-loop.ts'
import type { Part } from './part.ts'
import { type Round, type Taken, takeTurns } from './turns.ts'
import { WINDOW_SECONDS, WINDOWS, warmUp, warmUpText } from './warm-up.ts'
import { prepare } from './wire.ts'

type Curve = Readonly<Record<string, number>>

interface LatencyRound extends Round {
  readonly curve: Curve
}

const OURS = 'toolgate/tools-call'
const REFERENCES = ['nginx/post', 'bare/uws-undici']
const PEERS = [...REFERENCES, 'peer/envoy-tools-call']
/** For a server's own capacity. */
export const UTILIZATIONS = [0.5, 0.7]
/** For the lower of the two capacities, the gateway's and nginx's. */
export const CURVE_SHARES = [0.1, 0.25, 0.5, 0.7, 0.8, 0.9]

/** @param known capacities by case id, where they have been measured in this run */
export async function measureLatency(
  part: Part,
  cases: Cases,
  known: ReadonlyMap<string, number>,
): Promise<void> {
  const chosen = latencyCases(cases)
  const capacities = await capacitiesOf(chosen, cases, part, known)
  const cold = new Set<string>()
  for (const share of UTILIZATIONS)
    for (const id of await atUtilization(part, cases, chosen, capacities, share)) cold.add(id)
  const onCurve = curveCases(chosen)
  const slower = Math.min(
    ...onCurve.filter(({ id }) => id !== 'bare/uws-undici').map(({ id }) => capacities.get(id)!),
  )
  await curves(part, cases, onCurve, slower, cold)
}

export const latencyCases = (cases: Cases): readonly Case[] =>
  [...PEERS, OURS].flatMap(id => cases.all.filter(one => one.id === id))

export const curveCases = (chosen: readonly Case[]): readonly Case[] =>
  chosen.filter(({ id }) => id === OURS || REFERENCES.includes(id))

/** For a server that the part `load` has not measured: its rate in the last windows of a warm-up under a closed loop. */
async function capacitiesOf(
  chosen: readonly Case[],
  cases: Cases,
  part: Part,
  known: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const capacities = new Map<string, number>()
  for (const one of chosen) {
    const perSecond = known.get(one.id) ?? (await capacityOf(one, cases, part))
    capacities.set(one.id, perSecond)
  }
  return capacities
}

async function capacityOf(one: Case, cases: Cases, part: Part): Promise<number> {
  const { id, url, request, server } = one
  const { connections } = part
  cases.only(one)
  const costOf = ({ cpuUs }: Round): number => cpuUs
  const warmed = await warmUp(async () => {
    const before = server.cpuUs()
    const { requests, perSecond } = await runClosedLoop({
      url,
      request,
      connections,
      seconds: WINDOW_SECONDS,
      side: 'load',
    })
    return { cpuUs: (server.cpuUs() - before) / requests, perSecond }
  }, costOf)
  part.progress(`latency: capacity of ${id}, ${warmUpText(warmed, costOf)}`)
  return spread(warmed.windows.slice(-WINDOWS).map(({ perSecond }) => perSecond)).median
}

/** @returns the ids of those that were not warm */
async function atUtilization(
  part: Part,
  cases: Cases,
  chosen: readonly Case[],
  capacities: ReadonlyMap<string, number>,
  share: number,
): Promise<readonly string[]> {
  const percent = Math.round(share * 100)
  const rateOf = ({ id }: Case): number => Math.round(capacities.get(id)! * share)
  const reference = REFERENCES.find(id => chosen.some(one => one.id === id))!
  const takenOf = await takeTurns<Case, LatencyRound>(part, {
    name: `latency at ${percent} % of each capacity`,
    cases: chosen,
    seconds: utilizationSeconds(part),
    measure: (one, seconds) => measure(one, cases, part, rateOf(one), seconds),
    write: (one, takenOf) =>
      write(part, one.id, takenOf, one.id === reference ? undefined : reference, {
        share,
        perSecond: rateOf(one),
      }),
  })
  part.show(
    `Open loop, ${part.connections} connections, each server at ${percent} % of its capacity; ms since a request was due`,
    ['case', 'req/s', 'p50', 'p90', 'p99', 'p99.9', 'most'],
    chosen.map(one => {
      const at = (of: string): string => medianOf(curvesOf(takenOf(one.id)), of).toFixed(3)
      return [one.name, String(rateOf(one)), at('50'), at('90'), at('99'), at('99.9'), at('100')]
    }),
    [1, 2, 3, 4, 5, 6],
  )
  return chosen.filter(({ id }) => !takenOf(id).warm).map(({ id }) => id)
}

/** A p99.9 needs its thousands. */
export const utilizationSeconds = ({ seconds }: Pick<Part, 'seconds'>): number => Math.max(3, seconds)
export const curveSeconds = ({ seconds }: Pick<Part, 'seconds'>): number => Math.max(2, seconds / 2)

const curvesOf = ({ rounds }: Taken<LatencyRound>): readonly Curve[] => rounds.map(({ curve }) => curve)

const medianOf = (curves: readonly Curve[], percent: string): number =>
  spread(curves.map(curve => curve[percent]!)).median

const merged = (curves: readonly Curve[]): Curve =>
  Object.fromEntries(Object.keys(curves[0]!).map(percent => [percent, medianOf(curves, percent)]))

function write(
  part: Part,
  id: string,
  takenOf: (id: string) => Taken<LatencyRound>,
  of: string | undefined,
  { share, perSecond }: { readonly share: number; readonly perSecond: number },
): void {
  const { warm, warmUpMs } = takenOf(id)
  const mine = curvesOf(takenOf(id))
  const percent = Math.round(share * 100)
  const setup = {
    loop: 'open',
    connections: part.connections,
    perSecond,
    share,
    pinned: part.pinned,
    warmUpMs,
  }
  for (const [metric, percentile] of [
    ['latency', '50'],
    ['latency-p90', '90'],
    ['latency-p99', '99'],
    ['latency-p99.9', '99.9'],
  ] as const)
    part.write({
      suite: 'http/utilization',
      case: `${id}/${percent}`,
      metric,
      unit: 'ms',
      better: 'lower',
      samples: mine.map(curve => curve[percentile]!),
      ...(metric === 'latency' ? { percentiles: merged(mine) } : {}),
      warm,
      setup,
      reference:
        of === undefined
          ? undefined
          : {
              case: `http/utilization/${of}/${percent}`,
              samples: curvesOf(takenOf(of)).map(curve => curve[percentile]!),
            },
    })
}

/** @param cold ids of those that were not warm at the shares before */
async function curves(
  part: Part,
  cases: Cases,
  chosen: readonly Case[],
  slower: number,
  cold: ReadonlySet<string>,
): Promise<void> {
  const rows: string[][] = []
  for (const share of CURVE_SHARES) {
    const perSecond = Math.round(slower * share)
    for (const one of chosen) {
      const { curve } = await measure(one, cases, part, perSecond, curveSeconds(part))
      part.write({
        suite: 'http/latency',
        case: `${one.id}/${Math.round(share * 100)}`,
        metric: 'latency',
        unit: 'ms',
        better: 'lower',
        samples: [curve['50']!],
        percentiles: curve,
        warm: !cold.has(one.id),
        setup: { loop: 'open', connections: part.connections, perSecond, share, pinned: part.pinned },
      })
      part.progress(
        `latency: curve at ${Math.round(share * 100)} % of the slower capacity, ${one.id} p50 ${curve['50']!.toFixed(3)} ms`,
      )
      rows.push([
        `${Math.round(share * 100)} %`,
        String(perSecond),
        one.name,
        ...['50', '99', '99.9'].map(percent => curve[percent]!.toFixed(3)),
      ])
    }
  }
  part.show(
    'Curve: shares of the slower capacity; ms since a request was due',
    ['share', 'req/s', 'case', 'p50', 'p99', 'p99.9'],
    rows,
    [0, 1, 3, 4, 5],
  )
}

async function measure(
  one: Case,
  cases: Cases,
  part: Part,
  perSecond: number,
  seconds: number,
): Promise<LatencyRound> {
  const { url, server } = one
  cases.only(one)
  const request = prepare(url, one.request)
  const before = server.cpuUs()
  const curve = await latencyAt({ url, connections: part.connections, perSecond, seconds, request })
  return { curve, cpuUs: (server.cpuUs() - before) / (perSecond * seconds) }
}

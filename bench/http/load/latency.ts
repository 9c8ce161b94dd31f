/**
 * Part `latency`: how long a tools/call takes beside nginx, bare uWS and Envoy. First at equal utilization, each server at the same share of
 * its capacity, in turns; then all but Envoy at the same rates for the curve. The clock starts when a request is due (`open-loop.ts` says why).
 */
import { spread } from '../../statistics.ts'
import type { Case, Cases } from './cases.ts'
import { runClosedLoop } from './closed-loop.ts'
import { latencyAt } from './open-loop.ts'
import type { Part } from './part.ts'
import { prepare } from './wire.ts'

type Curve = Readonly<Record<string, number>>

const OURS = 'toolgate/tools-call'
const REFERENCES = ['nginx/post', 'bare/uws-undici']
const PEERS = [...REFERENCES, 'peer/envoy-tools-call']
/** Of a server's own capacity. */
const UTILIZATIONS = [0.5, 0.7]
/** Of the lower of the two capacities, the gateway's and nginx's. */
const CURVE_SHARES = [0.1, 0.25, 0.5, 0.7, 0.8, 0.9]

/** @param known capacities by case id, where they have been measured in this run */
export async function measureLatency(
  part: Part,
  cases: Cases,
  known: ReadonlyMap<string, number>,
): Promise<void> {
  const chosen = [...PEERS, OURS].flatMap(id => cases.all.filter(one => one.id === id))
  const capacities = await capacitiesOf(chosen, cases, part, known)
  for (const share of UTILIZATIONS) await atUtilization(part, cases, chosen, capacities, share)
  const onCurve = chosen.filter(({ id }) => id === OURS || REFERENCES.includes(id))
  const slower = Math.min(
    ...onCurve.filter(({ id }) => id !== 'bare/uws-undici').map(({ id }) => capacities.get(id)!),
  )
  await curves(part, cases, onCurve, slower)
}

async function capacitiesOf(
  chosen: readonly Case[],
  cases: Cases,
  part: Part,
  known: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const capacities = new Map<string, number>()
  for (const one of chosen) {
    const { id, url, request } = one
    cases.only(one)
    if (!known.has(id)) part.progress(`latency: capacity of ${id}`)
    const { perSecond } = known.has(id)
      ? { perSecond: known.get(id)! }
      : await runClosedLoop({
          url,
          request,
          connections: part.connections,
          seconds: part.seconds,
          side: 'load',
        })
    capacities.set(id, perSecond)
  }
  return capacities
}

async function atUtilization(
  part: Part,
  cases: Cases,
  chosen: readonly Case[],
  capacities: ReadonlyMap<string, number>,
  share: number,
): Promise<void> {
  const percent = Math.round(share * 100)
  const rateOf = ({ id }: Case): number => Math.round(capacities.get(id)! * share)
  // a p99.9 needs its thousands
  const seconds = Math.max(3, part.seconds)
  const rounds = new Map<string, Curve[]>(chosen.map(({ id }) => [id, []]))
  for (const one of chosen) await curveOf(one, cases, part, rateOf(one), 1)
  for (let round = 1; round <= part.rounds; round++) {
    part.progress(`latency: ${percent} % of each capacity, round ${round} of ${part.rounds}`)
    for (const one of chosen) rounds.get(one.id)!.push(await curveOf(one, cases, part, rateOf(one), seconds))
  }
  const reference = REFERENCES.find(id => rounds.has(id))!
  for (const one of chosen)
    write(part, one.id, rounds, one.id === reference ? undefined : reference, {
      share,
      perSecond: rateOf(one),
    })
  part.show(
    `Open loop, ${part.connections} connections, each server at ${percent} % of its capacity; ms since a request was due`,
    ['case', 'req/s', 'p50', 'p90', 'p99', 'p99.9', 'most'],
    chosen.map(one => {
      const at = (of: string): string => medianOf(rounds.get(one.id)!, of).toFixed(3)
      return [one.name, String(rateOf(one)), at('50'), at('90'), at('99'), at('99.9'), at('100')]
    }),
    [1, 2, 3, 4, 5, 6],
  )
}

const medianOf = (curves: readonly Curve[], percent: string): number =>
  spread(curves.map(curve => curve[percent]!)).median

const merged = (curves: readonly Curve[]): Curve =>
  Object.fromEntries(Object.keys(curves[0]!).map(percent => [percent, medianOf(curves, percent)]))

function write(
  part: Part,
  id: string,
  rounds: ReadonlyMap<string, readonly Curve[]>,
  of: string | undefined,
  { share, perSecond }: { readonly share: number; readonly perSecond: number },
): void {
  const mine = rounds.get(id)!
  const percent = Math.round(share * 100)
  const setup = { loop: 'open', connections: part.connections, perSecond, share, pinned: part.pinned }
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
      setup,
      reference:
        of === undefined
          ? undefined
          : {
              case: `http/utilization/${of}/${percent}`,
              samples: rounds.get(of)!.map(curve => curve[percentile]!),
            },
    })
}

async function curves(part: Part, cases: Cases, chosen: readonly Case[], slower: number): Promise<void> {
  const seconds = Math.max(2, part.seconds / 2)
  const rows: string[][] = []
  for (const share of CURVE_SHARES) {
    const perSecond = Math.round(slower * share)
    part.progress(`latency: curve at ${Math.round(share * 100)} % of the slower capacity`)
    for (const one of chosen) {
      const curve = await curveOf(one, cases, part, perSecond, seconds)
      part.write({
        suite: 'http/latency',
        case: `${one.id}/${Math.round(share * 100)}`,
        metric: 'latency',
        unit: 'ms',
        better: 'lower',
        samples: [curve['50']!],
        percentiles: curve,
        setup: { loop: 'open', connections: part.connections, perSecond, share, pinned: part.pinned },
      })
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

function curveOf(one: Case, cases: Cases, part: Part, perSecond: number, seconds: number): Promise<Curve> {
  cases.only(one)
  const request = prepare(one.url, one.request)
  return latencyAt({ url: one.url, connections: part.connections, perSecond, seconds, request })
}

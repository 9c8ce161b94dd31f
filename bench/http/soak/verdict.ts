/** The verdict on a soak: its memory and tails beside their bounds, printed and written to the results. */
import { grid } from '../../grid.ts'
import type { Measured, ResultWriter } from '../../record.ts'
import { spread } from '../../statistics.ts'
import type { Latencies, Tails } from './latencies.ts'
import type { Reference } from './reference.ts'
import { type Slope, slopeOf } from './slope.ts'

export interface Sample {
  /** Since the load began. */
  readonly minute: number
  /** Behind the warm-up: it counts. */
  readonly warm: boolean
  /** In use when it was least, in the ten seconds before. */
  readonly heapMiB: number
  readonly rssMiB: number
  /** Share of one processor. */
  readonly busy: number
  /** The rate of the load. */
  readonly perSecond: number
  readonly pauses: number
  readonly longestPauseMs: number
}

/** Heap behind forced collections. */
export interface Collected {
  readonly minute: number
  readonly heapMiB: number
}

export interface Found {
  readonly collected: readonly Collected[]
  readonly samples: readonly Sample[]
  readonly latencies: Latencies
  /** Sessions that came and went. */
  readonly visitors: number
  readonly reference: Reference
}

const MAX_SLOPE_MIB = 1
const MAX_TAIL = 5
/** Below it a heap that has only just been collected looks like a leak, or hides one. */
const MIN_JUDGED_MINUTES = 10

/** Prints, writes the results. @returns whether every bound was kept */
export function judge(
  { samples, collected, latencies, visitors, reference }: Found,
  results: ResultWriter,
  setup: NonNullable<Measured['setup']> & { readonly minutes: number },
): boolean {
  const warm = samples.filter(sample => sample.warm)
  const heap = slopeOf(warm.map(({ minute, heapMiB }) => [minute, heapMiB]))
  const rss = slopeOf(warm.map(({ minute, rssMiB }) => [minute, rssMiB]))
  const { all, outside, undisturbed, kinds } = latencies.tails()
  const tail = tailOf(outside)
  const [from, to] = [collected[0]!, collected.at(-1)!]
  const live = (to.heapMiB - from.heapMiB) / (to.minute - from.minute)
  const worst = Math.max(heap.perUnit, rss.perUnit, live)
  const judged = setup.minutes >= MIN_JUDGED_MINUTES
  const kept = tail <= MAX_TAIL && (!judged || worst < MAX_SLOPE_MIB)
  const busy = spread(warm.map(sample => sample.busy)).median
  const rate = spread(warm.map(({ perSecond }) => perSecond))
  write(results, {
    heap,
    rss,
    live,
    all,
    outside,
    undisturbed,
    tail,
    reference,
    setup: { ...setup, visitors, busy: Number(busy.toFixed(3)), perSecond: Math.round(rate.median) },
  })
  const row = (name: string, of: Tails): readonly string[] => [
    name,
    String(of.count),
    ...[of.p50Ms, of.p99Ms, of.p999Ms, of.maxMs].map(ms => ms.toFixed(3)),
  ]
  console.log(
    grid(
      ['latency since due, ms', 'requests', 'p50', 'p99', 'p99.9', 'most'],
      [
        row('all', all),
        row('outside garbage collection', outside),
        row('… and of time stolen from the machine', undisturbed),
        ...kinds.map(([name, of]) => row(`  ${name}`, of)),
        row('a bare uWS server at the first rate', reference.tails),
      ],
      [1, 2, 3, 4, 5],
    ),
  )
  const met = (100 * (all.count - outside.count)) / all.count
  console.log(`
${all.count} correct responses and ${visitors} sessions, none wrong; the gateway was busy ${Math.round(busy * 100)} % of the time, at ${Math.round(rate.median)} (${Math.round(rate.min)}–${Math.round(rate.max)}) requests a second
${met.toFixed(1)} % of the requests met a garbage collection (of the gateway or the load) or the backlog after one
p99.9 is ${tail.toFixed(1)} times p50 outside garbage collection, at most ${MAX_TAIL}: ${tail <= MAX_TAIL ? 'kept' : 'BROKEN'}; ${tailOf(undisturbed).toFixed(1)} times without stolen time, which is not ours to fix
a bare uWS server at the first rate, busy ${Math.round(reference.busy * 100)} % of the time: ${tailOf(reference.tails).toFixed(1)} times, from the machine and the load alone
heap behind forced collections ${from.heapMiB.toFixed(1)} MiB after ${from.minute.toFixed(1)} minutes, ${to.heapMiB.toFixed(1)} after ${to.minute.toFixed(1)}: ${live.toFixed(2)} a minute
heap ${shown(heap)}, resident ${shown(rss)} MiB a minute, below ${MAX_SLOPE_MIB}: ${judged ? (worst < MAX_SLOPE_MIB ? 'kept' : 'BROKEN') : `not judged under ${MIN_JUDGED_MINUTES} minutes`}
results: ${results.file}`)
  return kept
}

const tailOf = ({ p50Ms, p999Ms }: Tails): number => p999Ms / p50Ms

const shown = ({ perUnit, error }: Slope): string => `${perUnit.toFixed(2)} ± ${(2 * error).toFixed(2)}`

function write(
  results: ResultWriter,
  found: {
    readonly heap: Slope
    readonly rss: Slope
    readonly live: number
    readonly all: Tails
    readonly outside: Tails
    readonly undisturbed: Tails
    readonly tail: number
    readonly reference: Reference
    readonly setup: NonNullable<Measured['setup']>
  },
): void {
  const { setup } = found
  const line = { suite: 'http/soak', better: 'lower', setup } as const
  for (const [metric, { perUnit, error }] of [
    ['heap-slope', found.heap],
    ['resident-slope', found.rss],
  ] as const)
    results.write({
      ...line,
      case: 'mixed',
      metric,
      unit: 'MiB/min',
      samples: [perUnit],
      setup: { ...setup, error },
    })
  results.write({ ...line, case: 'mixed', metric: 'collected-slope', unit: 'MiB/min', samples: [found.live] })
  for (const [name, of] of [
    ['mixed', found.all],
    ['mixed-outside-gc', found.outside],
    ['mixed-undisturbed', found.undisturbed],
    ['bare-uws', found.reference.tails],
  ] as const)
    results.write({
      ...line,
      case: name,
      metric: 'latency',
      unit: 'ms',
      samples: [of.p50Ms],
      percentiles: { 50: of.p50Ms, 99: of.p99Ms, '99.9': of.p999Ms, 100: of.maxMs },
      setup: { ...setup, requests: of.count },
    })
  results.write({ ...line, case: 'mixed-outside-gc', metric: 'tail', unit: '×', samples: [found.tail] })
  const bare = tailOf(found.reference.tails)
  results.write({ ...line, case: 'bare-uws', metric: 'tail', unit: '×', samples: [bare] })
  results.write({ ...line, case: 'mixed', metric: 'wrong', unit: 'answers', samples: [0] })
}

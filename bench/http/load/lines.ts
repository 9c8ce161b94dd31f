/** Writes the rounds of a load case in the result format. */
import type { Measured } from '../../record.ts'
import { spread } from '../../statistics.ts'
import type { Part } from './part.ts'
import type { Round, Taken } from './turns.ts'

/** What one repeat of one case showed. */
export interface LoadRound extends Round {
  readonly perSecond: number
  /** Share of one processor that the server used, 0 to 1. */
  readonly busy: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

export interface LoadCase extends Taken<LoadRound> {
  /** Behind `http/load/`: `toolgate/tools-call`. */
  readonly id: string
}

type Figure = Pick<Measured, 'metric' | 'unit' | 'better'> & { readonly of: (round: LoadRound) => number }

const SUITE = 'http/load'
const FIGURES: readonly Figure[] = [
  { metric: 'throughput', unit: 'calls/s', better: 'higher', of: round => round.perSecond },
  { metric: 'per-core', unit: 'calls/CPU-s', better: 'higher', of: round => 1e6 / round.cpuUs },
  { metric: 'cpu', unit: 'µs', better: 'lower', of: round => round.cpuUs },
  { metric: 'closed-latency', unit: 'ms', better: 'lower', of: round => round.p50Ms },
  { metric: 'closed-latency-p99', unit: 'ms', better: 'lower', of: round => round.p99Ms },
  { metric: 'closed-latency-p99.9', unit: 'ms', better: 'lower', of: round => round.p999Ms },
]

/** One line for each metric; a reference is the other case of the same run whose rounds were taken in turns with these. */
export function writeLoadCase(
  write: Part['write'],
  mine: LoadCase,
  reference: LoadCase | undefined,
  more: { readonly rssMiB: number; readonly setup: NonNullable<Measured['setup']> },
): void {
  const { warm, warmUpMs } = mine
  const name = { suite: SUITE, case: mine.id, warm, setup: { ...more.setup, warmUpMs } }
  for (const { of, ...figure } of FIGURES)
    write({
      ...name,
      ...figure,
      samples: mine.rounds.map(of),
      ...(figure.metric === 'closed-latency' ? { percentiles: curve(mine.rounds) } : {}),
      reference:
        reference === undefined
          ? undefined
          : { case: `${SUITE}/${reference.id}`, samples: reference.rounds.map(of) },
    })
  write({ ...name, metric: 'memory', unit: 'MiB', better: 'lower', samples: [more.rssMiB] })
}

function curve(rounds: readonly LoadRound[]): Record<string, number> {
  const median = (of: (round: LoadRound) => number): number => spread(rounds.map(of)).median
  return {
    50: median(({ p50Ms }) => p50Ms),
    99: median(({ p99Ms }) => p99Ms),
    '99.9': median(({ p999Ms }) => p999Ms),
  }
}

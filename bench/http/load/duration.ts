/** How long a run of the HTTP bench takes, from the number of its cases. */
import { ladderCases } from '../ladder/measure.ts'
import type { Cases } from './cases.ts'
import {
  CURVE_SHARES,
  curveCases,
  curveSeconds,
  latencyCases,
  UTILIZATIONS,
  utilizationSeconds,
} from './latency.ts'
import { choose, type Part } from './part.ts'
import { MAX_WARM_UP_MS, WINDOW_SECONDS, WINDOWS } from './warm-up.ts'
import { workersCases } from './workers.ts'

/** Part time of one part. */
export interface PartTime {
  readonly name: string
  /** Cases that are warmed up; one for each server and rate. */
  readonly warmUps: number
  /** All rounds of all cases, and what is done once. */
  readonly seconds: number
}

/** Around a closed loop: the files of its requests, the start of wrk, the reading of its figures. */
const AROUND_SECONDS = 0.15
/** Measured on two processors: start of the gateways and count of the bytes, each case; a change of the list of tools and its way to 5,000 streams. */
const START_SECONDS = { workers: 5, ladder: 6, streams: 30 }
const ROUND_SECONDS = { start: 36, streams: 6 }

export function timesOf(
  part: Pick<Part, 'rounds' | 'seconds' | 'filter'>,
  names: readonly string[],
  cases: Cases | undefined,
): readonly PartTime[] {
  const { rounds, filter } = part
  // wrk takes whole seconds
  const turn = Math.ceil(part.seconds) + AROUND_SECONDS
  const closed = (name: 'workers' | 'ladder', count: number): PartTime => ({
    name,
    warmUps: count,
    seconds: count * (START_SECONDS[name] + rounds * turn),
  })
  const load = cases === undefined ? 0 : choose(cases.all, filter).length
  const beside = cases === undefined ? [] : latencyCases(cases)
  const known = names.includes('load') && filter === ''
  const times: readonly PartTime[] = [
    { name: 'load', warmUps: load, seconds: load * rounds * turn },
    {
      name: 'latency',
      warmUps: beside.length * (UTILIZATIONS.length + (known ? 0 : 1)),
      seconds:
        beside.length * UTILIZATIONS.length * rounds * utilizationSeconds(part) +
        curveCases(beside).length * CURVE_SHARES.length * curveSeconds(part),
    },
    { name: 'streams', warmUps: 3, seconds: START_SECONDS.streams + rounds * ROUND_SECONDS.streams },
    { name: 'start', warmUps: 0, seconds: rounds * ROUND_SECONDS.start },
    closed('workers', workersCases(filter).length),
    closed('ladder', ladderCases(filter).length),
  ]
  return times.filter(({ name }) => names.includes(name))
}

/** From all cases warm at once to none warm at its limit. */
export function durationText(times: readonly PartTime[]): string {
  const sum = (warmUpSeconds: number): number =>
    times.reduce((all, { warmUps, seconds }) => all + warmUps * warmUpSeconds + seconds, 0)
  const [least, most] = [WINDOWS * (WINDOW_SECONDS + AROUND_SECONDS), MAX_WARM_UP_MS / 1000].map(sum)
  const parts = times.map(
    ({ name, warmUps, seconds }) => `${name} ${Math.round(seconds)} s and ${warmUps} warm-ups`,
  )
  return `on a quiet machine this takes ${minutes(least!)} when each case is warm after ${WINDOWS} s, at most ${minutes(most!)}: ${parts.join(', ')}`
}

const minutes = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${(seconds / 60).toFixed(0)} minutes`

/** Compares the simulation with the kernel: one and two real threads that do nothing but take units or tokens. It prints nothing. */
import { once } from 'node:events'
import { startThread } from '../../src/shared/threads/start-thread.ts'
import { COSTS } from './caches.ts'
import { type TracedAccess, traceBucket, traceCalls } from './calls.ts'
import { measureLockTimes } from './lock-times.ts'
import { type HammerFigures, hammer } from './measure-threads.ts'
import type { PingPongData } from './ping-pong.ts'
import { Jitter, Random } from './random.ts'
import { type LockTimes, type Step, simulate } from './simulate.ts'
import { stepsOf } from './workloads.ts'

export interface Validation {
  readonly lockTimes: LockTimes
  /** From one processor to the other and visible there: a load of a changed line and an upgrade. Fastest round. */
  readonly oneWayNs: number
  /** The transfer cost with which the simulation is closest to two threads on one consumer. */
  readonly fittedNs: number
  readonly rows: readonly ValidationRow[]
}

export interface ValidationRow {
  readonly what: string
  readonly threads: number
  readonly measured: HammerFigures
  /** By the simulation, with the fitted cost and with the assumed one. */
  readonly fittedCallNs: number
  readonly assumedCallNs: number
}

const CALLS = 4_000
/** Some 1.3 µs between two calls. Without them a processor makes several calls before it has to give a line away, which the model does not know. */
const PAUSE_STEPS = 512
const FITS_NS = Array.from({ length: 30 }, (_, at) => 4 * (at + 1))

export async function validate(): Promise<Validation> {
  const lockTimes = measureLockTimes()
  const quota = traceCalls({ gapMs: 0.001, calls: 256, journal: false, toolLimit: false }).map(
    ({ take, release }) => [...take, ...release].filter(({ field }) => field.name !== 'policy.epoch'),
  )
  const cases = [
    { what: 'units, one consumer', kind: 'quota', targets: [0, 0], calls: quota },
    { what: 'units, a consumer for each', kind: 'quota', targets: [0, 1], calls: quota },
    { what: 'tokens, one bucket', kind: 'bucket', targets: [0, 0], calls: [traceBucket()] },
    { what: 'tokens, a bucket for each', kind: 'bucket', targets: [0, 1], calls: [traceBucket()] },
  ] as const
  const rows: ValidationRow[] = []
  let fittedNs: number | undefined
  for (const { what, kind, targets, calls } of cases) {
    const alone = await hammer(kind, [0], PAUSE_STEPS)
    const both = await hammer(kind, targets, PAUSE_STEPS)
    const predict = (threads: number, transferNs: number): number =>
      predictedNs(calls, targets.slice(0, threads), alone.callNs, transferNs, lockTimes)
    fittedNs ??= closest(both.callNs, transferNs => predict(2, transferNs))
    for (const [threads, measured] of [
      [1, alone],
      [2, both],
    ] as const)
      rows.push({
        what,
        threads,
        measured,
        fittedCallNs: predict(threads, fittedNs),
        assumedCallNs: predict(threads, COSTS.transferNs),
      })
  }
  return { lockTimes, oneWayNs: await pingPong(), fittedNs: fittedNs!, rows }
}

/** With one thread as measured: what its accesses do not take is private time. */
function predictedNs(
  calls: readonly (readonly TracedAccess[])[],
  targets: readonly number[],
  aloneNs: number,
  transferNs: number,
  lockTimes: LockTimes,
): number {
  const costs = { ...COSTS, transferNs, cleanNs: Math.min(COSTS.cleanNs, transferNs) }
  const run = (own: number, of: readonly number[]) => {
    let at = 0
    const jitter = new Jitter(new Random(1))
    const next = (thread: number): readonly Step[] => [
      { kind: 'pause', ns: own * jitter.next() },
      ...stepsOf(calls[at++ % calls.length]!, of[thread]!),
    ]
    const { callsPerSec } = simulate(next, { threads: of.length, callsPerThread: CALLS, costs, lockTimes })
    return (of.length * 1e9) / callsPerSec
  }
  return run(Math.max(0, aloneNs - run(0, [0])), targets)
}

function closest(measuredNs: number, predict: (transferNs: number) => number): number {
  const faults = FITS_NS.map(transferNs => Math.abs(predict(transferNs) - measuredNs))
  return FITS_NS[faults.indexOf(Math.min(...faults))]!
}

async function pingPong(): Promise<number> {
  const words = new SharedArrayBuffer(4096)
  const rounds = new SharedArrayBuffer(100 * 8)
  await Promise.all(
    ([0, 1] as const).map(thread => {
      const workerData: PingPongData = { thread, words, rounds }
      return once(startThread(new URL('./ping-pong.ts', import.meta.url), { workerData }), 'exit')
    }),
  )
  return Math.min(...new Float64Array(rounds))
}

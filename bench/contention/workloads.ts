/** The workloads of the simulation: which consumer each call is of, and where in its time a call accesses what. It simulates nothing. */
import { COSTS } from './caches.ts'
import { type TracedAccess, type TracedCall, traceCalls } from './calls.ts'
import { CONSUMER_BYTES } from './fields.ts'
import { Jitter, Random } from './random.ts'
import type { NextCall, Step } from './simulate.ts'

export interface Workload {
  readonly id: string
  readonly title: string
  readonly consumers: number
}

export const WORKLOADS: readonly Workload[] = [
  { id: 'one', title: 'all threads serve one consumer', consumers: 1 },
  { id: '1000', title: '1,000 consumers, uniform', consumers: 1_000 },
  { id: '100000', title: '100,000 consumers, uniform', consumers: 100_000 },
]

/** Parts of the private time before units are taken, and until the slot is released; the rest follows. Of the stacked bar of the report. */
const BEFORE_TAKE = 0.4
const UNTIL_RELEASE = 0.5
const TRACED_CALLS = 256

/** Traces for the time that passes between two calls of a consumer. Traced once for each. */
const traced = new Map<number, readonly TracedCall[]>()

function callsOf(gapMs: number): readonly TracedCall[] {
  let calls = traced.get(gapMs)
  if (calls === undefined) {
    calls = traceCalls({ gapMs, calls: TRACED_CALLS })
    traced.set(gapMs, calls)
  }
  return calls
}

/** The first traced call. */
export function traceOf(gap: number): TracedCall {
  return callsOf(gapMs(gap))[0]!
}

/** Of a call that takes `privateUs` of CPU time without an access to shared memory, that times 0.5 to 1.5. */
export function callsFor(workload: Workload, threads: number, privateUs: number, seed: number): NextCall {
  const calls = callsOf(gapMs((privateUs * workload.consumers) / threads / 1000))
  const random = new Random(seed)
  const jitters = Array.from({ length: threads }, () => new Jitter(random))
  return thread => {
    const consumer = random.below(workload.consumers)
    // a consumer's calls differ in how far its windows advance and whether they reserve units
    const { take, release } = calls[random.below(calls.length)]!
    const ns = privateUs * 1000 * jitters[thread]!.next()
    return [
      { kind: 'pause', ns: ns * BEFORE_TAKE },
      ...stepsOf(take, consumer),
      { kind: 'pause', ns: ns * UNTIL_RELEASE },
      ...stepsOf(release, consumer),
      { kind: 'pause', ns: ns * (1 - BEFORE_TAKE - UNTIL_RELEASE) },
    ]
  }
}

/** Few different traces suffice: powers of 4, from 1 µs. */
export function gapMs(exactMs: number): number {
  return 4 ** Math.max(-5, Math.min(5, Math.round(Math.log(exactMs) / Math.log(4))))
}

/** The accesses of a traced call by the call of another consumer: to the slots of that one. Those to memory of the thread are a pause. */
export function stepsOf(
  accesses: readonly TracedAccess[],
  consumer: number,
  hitNs = COSTS.hitNs,
): readonly Step[] {
  const steps: Step[] = []
  let ownNs = 0
  for (const { kind, address, field } of accesses) {
    if (field.isPrivate) {
      ownNs += hitNs
      continue
    }
    if (ownNs > 0) steps.push({ kind: 'pause', ns: ownNs })
    ownNs = 0
    steps.push({
      kind: kind === 'rmw' && field.name.endsWith('.lock') ? 'acquire' : kind,
      address: PER_CONSUMER.has(field.part) ? address - field.base + placeOf(field.part, consumer) : address,
      field: field.name,
    })
  }
  if (ownNs > 0) steps.push({ kind: 'pause', ns: ownNs })
  return steps
}

const PER_CONSUMER = new Set(['consumer', 'bucket', 'consumer-index', 'tool-index', 'names', 'route-bucket'])

/** Separate from every real address: parts far apart, slots at their distance; entries of an index are spread by the hash. */
function placeOf(part: string, consumer: number): number {
  const base = 2 ** 40 * (1 + [...PER_CONSUMER].indexOf(part))
  if (part.endsWith('-index')) return base + (Math.imul(consumer, 0x9e37_79b1) >>> 14) * 4
  return base + consumer * (part === 'consumer' ? CONSUMER_BYTES : part.endsWith('bucket') ? 64 : 128)
}

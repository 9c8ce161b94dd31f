/**
 * The latencies of a soak, kept until the garbage collections of the same interval are known, then recorded with and without the requests that
 * overlapped one.
 */
import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import type { Kind } from './mix.ts'
import { meets, type Windows } from './pauses.ts'

export interface Tails {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
}

const HOUR_US = 3_600_000_000
const histogram = (): RecordableHistogram => createHistogram({ lowest: 1, highest: HOUR_US, figures: 3 })

const tailsOf = (of: RecordableHistogram): Tails => ({
  count: of.count,
  p50Ms: of.percentile(50) / 1000,
  p99Ms: of.percentile(99) / 1000,
  p999Ms: of.percentile(99.9) / 1000,
  maxMs: of.max / 1000,
})

export class Latencies {
  readonly all = histogram()
  /** Without those that met a collection. */
  readonly outside = histogram()
  /** Without those that met a collection or stolen time. */
  readonly undisturbed = histogram()
  /** Those recorded by the last `settle`. */
  #recent = histogram()
  readonly #kinds: ReadonlyMap<Kind, RecordableHistogram>
  // three plain lists: an object for each request would have the load collect garbage all the time
  #waitingKinds: Kind[] = []
  #duesMs: number[] = []
  #latenciesMs: number[] = []

  constructor(kinds: readonly Kind[]) {
    this.#kinds = new Map(kinds.map(kind => [kind, histogram()]))
  }

  /** @param dueMs as `performance.now()` */
  add(kind: Kind, dueMs: number, latencyMs: number): void {
    this.#waitingKinds.push(kind)
    this.#duesMs.push(dueMs)
    this.#latenciesMs.push(latencyMs)
  }

  /**
   * @param stolen windows of stolen time
   * @returns the latencies since the previous call, those that met a collection included
   */
  settle(windows: Windows, stolen: Windows, counts: boolean): Tails {
    this.#recent = histogram()
    for (const [at, kind] of this.#waitingKinds.entries()) {
      const latencyMs = this.#latenciesMs[at]!
      const us = Math.max(1, Math.round(latencyMs * 1000))
      this.#recent.record(us)
      if (!counts) continue
      this.all.record(us)
      const from = performance.timeOrigin + this.#duesMs[at]!
      if (meets(windows, from, from + latencyMs)) continue
      this.outside.record(us)
      this.#kinds.get(kind)!.record(us)
      if (!meets(stolen, from, from + latencyMs)) this.undisturbed.record(us)
    }
    this.#waitingKinds = []
    this.#duesMs = []
    this.#latenciesMs = []
    return tailsOf(this.#recent)
  }

  tails(): {
    readonly all: Tails
    readonly outside: Tails
    readonly undisturbed: Tails
    readonly kinds: readonly [string, Tails][]
  } {
    return {
      all: tailsOf(this.all),
      outside: tailsOf(this.outside),
      undisturbed: tailsOf(this.undisturbed),
      kinds: [...this.#kinds].map(([{ name }, of]) => [name, tailsOf(of)]),
    }
  }
}

/** Collects the events seen in spool and topic, and reports them by writer with gaps, duplicates and counts. */

import { getOrSet } from '../../base/once-per.ts'
import type { MeteringEvent } from '../../link/metering-event.ts'
import { writerOf } from './event-id.ts'

const WRITER_NAME = /^[0-9a-f]{16}$/

export type Place = 'spool' | 'topic'

export interface WriterReport {
  readonly writer: string
  readonly gateway: string
  /** Sequence numbers, both included. */
  readonly first: number
  readonly last: number
  readonly spool: number
  readonly topic: number
  /** Messages of the topic that repeat an event; consumers of the topic drop them by `event_id`. */
  readonly duplicates: number
  /** Events that the control plane has counted; undefined when it was not asked, or has counted none. */
  readonly counted: number | undefined
  /**
   * Ranges of sequence numbers that are neither in the spool nor in the topic: between `first` and `last`, and after `last` where more
   * events were counted than `last`; there may be further ones at the end.
   */
  readonly gaps: readonly (readonly [first: number, last: number])[]
}

interface Seen {
  readonly writer: string
  gateway: string
  readonly spool: Set<number>
  readonly topic: Set<number>
  duplicates: number
}

export class Ledger {
  readonly #writers = new Map<string, Seen>()
  readonly #counted = new Map<string, number>()
  /** Events whose id names no writer, because it is not a UUIDv7. */
  foreign = 0

  see(place: Place, event: MeteringEvent): void {
    const writer = writerOf(event.event_id)
    if (writer === undefined) {
      this.foreign++
      return
    }
    const seen = this.#of(writer)
    seen.gateway = event.gateway
    if (place === 'topic' && seen.topic.has(event.sequence)) seen.duplicates++
    seen[place].add(event.sequence)
  }

  /** @param events how many of the writer's events the control plane has counted, from one of its sources */
  count(writer: string, events: number): void {
    // the id of an event that names no writer is counted as a writer by itself
    if (WRITER_NAME.test(writer)) this.#counted.set(writer, (this.#counted.get(writer) ?? 0) + events)
  }

  /** Number of writers whose events were counted, and of which none was seen. */
  get unseen(): number {
    return [...this.#counted.keys()].filter(writer => !this.#writers.has(writer)).length
  }

  report(): readonly WriterReport[] {
    return [...this.#writers.values()].map(seen => {
      const all = [...new Set([...seen.spool, ...seen.topic])].sort((a, b) => a - b)
      const gaps: [number, number][] = []
      for (const [index, sequence] of all.entries()) {
        const before = all[index - 1] ?? sequence - 1
        if (sequence > before + 1) gaps.push([before + 1, sequence - 1])
      }
      const last = all.at(-1) ?? 0
      const counted = this.#counted.get(seen.writer)
      // a writer numbers its events from 1, and each is counted once
      if (counted !== undefined && counted > last) gaps.push([last + 1, counted])
      return {
        writer: seen.writer,
        gateway: seen.gateway,
        first: all[0] ?? 0,
        last,
        spool: seen.spool.size,
        topic: seen.topic.size,
        duplicates: seen.duplicates,
        counted,
        gaps,
      }
    })
  }

  #of(writer: string): Seen {
    return getOrSet(this.#writers, writer, () => ({
      writer,
      gateway: '',
      spool: new Set(),
      topic: new Set(),
      duplicates: 0,
    }))
  }
}

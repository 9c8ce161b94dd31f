/** Collects the events seen in spool and topic, and reports them by writer with gaps, duplicates and counts. It reads no file and no topic. */

import type { MeteringEvent } from '../../link/metering-event.ts'
import { getOrSet } from '../../model/once-per.ts'
import { writerOf } from './event-id.ts'

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
  /** Ranges of sequence numbers that are neither in the spool nor in the topic. */
  readonly gaps: readonly (readonly [first: number, last: number])[]
}

interface Seen {
  readonly writer: string
  gateway: string
  readonly spool: Set<number>
  readonly topic: Set<number>
  duplicates: number
  counted: number | undefined
}

export class Ledger {
  readonly #writers = new Map<string, Seen>()
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
    const seen = this.#writers.get(writer)
    if (seen !== undefined) seen.counted = (seen.counted ?? 0) + events
  }

  report(): readonly WriterReport[] {
    return [...this.#writers.values()].map(seen => {
      const all = [...new Set([...seen.spool, ...seen.topic])].sort((a, b) => a - b)
      const gaps: [number, number][] = []
      for (const [index, sequence] of all.entries()) {
        const before = all[index - 1] ?? sequence - 1
        if (sequence > before + 1) gaps.push([before + 1, sequence - 1])
      }
      return {
        writer: seen.writer,
        gateway: seen.gateway,
        first: all[0] ?? 0,
        last: all.at(-1) ?? 0,
        spool: seen.spool.size,
        topic: seen.topic.size,
        duplicates: seen.duplicates,
        counted: seen.counted,
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
      counted: undefined,
    }))
  }
}

/** Keeps events of resumable streams in memory, and evicts old ones. */
import type { Replay, ReplayEvent } from '../session-store.ts'

const MAX_EVENTS = 256
const MAX_BYTES = 256 * 1024
const MAX_STREAMS = 10_000
/** For all streams together: beyond it the oldest streams are evicted. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024
/** How long a finished stream can be resumed. */
const GRACE_MS = 60_000
/** How long an unfinished stream is kept without a new event. */
const IDLE_MS = 10 * 60_000

interface Buffered {
  events: ReplayEvent[]
  bytes: number
  /** Position before which events have been dropped. */
  droppedBefore: number
  evictAtMs: number
  complete: boolean
}

export class ReplayBuffers {
  readonly #streams = new Map<string, Buffered>()
  readonly #now: () => number
  readonly #maxTotalBytes: number
  #totalBytes = 0

  constructor(now: () => number, maxTotalBytes = MAX_TOTAL_BYTES) {
    this.#now = now
    this.#maxTotalBytes = maxTotalBytes
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  append(streamId: string, event: ReplayEvent): void {
    let buffered = this.#streams.get(streamId)
    if (buffered === undefined) {
      if (this.#streams.size >= MAX_STREAMS) this.#evictOldest()
      // events before it, if any, were evicted
      buffered = { events: [], bytes: 0, droppedBefore: event.n, evictAtMs: 0, complete: false }
      this.#streams.set(streamId, buffered)
    }
    buffered.events.push(event)
    buffered.bytes += event.data.length
    this.#totalBytes += event.data.length
    buffered.evictAtMs = this.#now() + IDLE_MS
    while (
      buffered.events.length > 1 &&
      (buffered.events.length > MAX_EVENTS || buffered.bytes > MAX_BYTES)
    ) {
      const dropped = buffered.events.shift()!
      buffered.bytes -= dropped.data.length
      this.#totalBytes -= dropped.data.length
      buffered.droppedBefore = dropped.n + 1
    }
    while (this.#totalBytes > this.#maxTotalBytes && this.#streams.size > 1) this.#evictOldest()
  }

  /** undefined when the stream is unknown, or when events after `afterN` have been dropped: a gap is worse than a 404. */
  replay(streamId: string, afterN: number): Replay | undefined {
    const buffered = this.#streams.get(streamId)
    if (buffered === undefined || afterN + 1 < buffered.droppedBefore) return undefined
    return { events: buffered.events.filter(event => event.n > afterN), complete: buffered.complete }
  }

  finish(streamId: string): void {
    const buffered = this.#streams.get(streamId)
    if (buffered === undefined) return
    buffered.complete = true
    buffered.evictAtMs = this.#now() + GRACE_MS
  }

  sweep(): void {
    const nowMs = this.#now()
    for (const [id, buffered] of this.#streams) if (buffered.evictAtMs < nowMs) this.#evict(id, buffered)
  }

  #evictOldest(): void {
    for (const [id, buffered] of this.#streams) return this.#evict(id, buffered)
  }

  #evict(id: string, buffered: Buffered): void {
    this.#streams.delete(id)
    this.#totalBytes -= buffered.bytes
  }
}

/** Event streams of recorded calls: opening them, polling for calls, and ending them. `admin-calls.ts` has the caller checked before it opens one. */
import type { ResponseStream } from '../../net/server/listener.ts'
import type { CallQuery } from '../calls/call-query.ts'
import { cursorOf, type MergedPage, type ProcessCalls } from '../calls/process-calls.ts'
import type { Positions } from '../calls/recorded-calls.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { openedBy } from './access-check.ts'
import type { AccessWatch } from './access-watch.ts'
import type { Call } from './call.ts'

const MAX_STREAMS = 100
const POLL_MS = 250
/** While more calls come than one event holds: a reader cannot follow them, and each event costs the thread that serves calls. */
const BUSY_POLL_MS = 750
const MAX_ROWS = 50
const HEARTBEAT_MS = 15_000
/** After it a client connects again, and the policy decides again. */
const MAX_AGE_MS = 600_000
/** A reader with more unread bytes misses events. */
const MAX_UNREAD_BYTES = 64 * 1024

interface Reader {
  readonly stream: ResponseStream
  readonly endsAtMs: number
  readonly unwatch: () => void
  /** Calls that it missed because it did not read. */
  missed: number
}

/** The streams with one filter that are at one position. */
interface Channel {
  readonly query: CallQuery
  readonly readers: Set<Reader>
  positions: Positions
  writtenAtMs: number
  /** No poll before it. */
  dueAtMs: number
  isPolling: boolean
}

export interface CallStreamParts {
  readonly calls: ProcessCalls
  readonly access: Pick<AccessWatch, 'open'>
  /** Unix ms. */
  readonly nowMs: () => number
}

export class CallStreams {
  readonly #parts: CallStreamParts
  readonly #channels = new Map<string, Channel>()
  /** Channels that began at a position of a client. */
  #resumed = 0
  #count = 0
  #timer: NodeJS.Timeout | undefined

  constructor(parts: CallStreamParts) {
    this.#parts = parts
  }

  /** @param last position after which the stream resumes @returns false when too many are open */
  open(call: Call, exchange: Exchange, query: CallQuery, last: Positions): boolean {
    if (this.#count >= MAX_STREAMS) return false
    const nowMs = this.#parts.nowMs()
    const key = this.#keyOf(JSON.stringify(query), last)
    const channel: Channel = this.#channels.get(key) ?? {
      query,
      readers: new Set(),
      positions: last,
      writtenAtMs: 0,
      dueAtMs: 0,
      isPolling: false,
    }
    this.#channels.set(key, channel)
    const reader: Reader = {
      stream: call.eventStream(),
      endsAtMs: nowMs + MAX_AGE_MS,
      unwatch: this.#parts.access.open(openedBy(exchange), exchange.snapshot, () =>
        this.#end(key, channel, reader),
      ),
      missed: 0,
    }
    channel.readers.add(reader)
    this.#count++
    call.response.onAbort(() => this.#remove(key, channel, reader))
    reader.stream.write('retry: 1000\n\n')
    // the first event names the position, so that a client that is disconnected at once misses nothing
    channel.writtenAtMs = 0
    channel.dueAtMs = 0
    this.#timer ??= setInterval(() => this.#pollAll(), POLL_MS)
    void this.#poll(key, channel)
    return true
  }

  /** Ends every stream. */
  close(): void {
    for (const [key, channel] of this.#channels)
      for (const reader of [...channel.readers]) this.#end(key, channel, reader)
  }

  /** A channel that has gone on from `last` would skip what came since: a stream that resumes joins one that is there now, or begins its own. */
  #keyOf(query: string, last: Positions): string {
    if (last === undefined) return query
    const at = cursorOf(last)
    for (const [key, { positions }] of this.#channels)
      if (key.split('\n', 1)[0] === query && positions !== undefined && cursorOf(positions) === at) return key
    return `${query}\n${++this.#resumed}`
  }

  #pollAll(): void {
    for (const [key, channel] of this.#channels) void this.#poll(key, channel)
  }

  async #poll(key: string, channel: Channel): Promise<void> {
    if (channel.isPolling || this.#parts.nowMs() < channel.dueAtMs) return
    channel.isPolling = true
    try {
      this.#endOld(key, channel)
      const page = await this.#parts.calls.after(channel.query, channel.positions, MAX_ROWS)
      channel.positions = page.positions
      this.#write(channel, page)
    } catch {
      // a thread is being replaced: the next poll continues at the same position
    } finally {
      channel.isPolling = false
    }
  }

  #write(channel: Channel, page: MergedPage): void {
    const nowMs = this.#parts.nowMs()
    const isDue = nowMs - channel.writtenAtMs >= HEARTBEAT_MS
    if (page.rows.length === 0 && page.missed === 0 && !isDue) return
    channel.writtenAtMs = nowMs
    // timers are late rather than early: the poll at this time is meant
    if (page.missed > 0) channel.dueAtMs = nowMs + BUSY_POLL_MS - POLL_MS / 2
    const rows = JSON.stringify(page.rows)
    const event = eventOf(page, rows, page.missed)
    for (const reader of channel.readers) {
      if (reader.stream.bufferedBytes > MAX_UNREAD_BYTES) {
        reader.missed += page.rows.length + page.missed
        continue
      }
      reader.stream.write(reader.missed === 0 ? event : eventOf(page, rows, page.missed + reader.missed))
      reader.missed = 0
    }
  }

  #endOld(key: string, channel: Channel): void {
    const nowMs = this.#parts.nowMs()
    for (const reader of [...channel.readers]) if (nowMs >= reader.endsAtMs) this.#end(key, channel, reader)
  }

  #end(key: string, channel: Channel, reader: Reader): void {
    reader.stream.end()
    this.#remove(key, channel, reader)
  }

  #remove(key: string, channel: Channel, reader: Reader): void {
    if (!channel.readers.delete(reader)) return
    reader.unwatch()
    this.#count--
    if (channel.readers.size === 0) this.#channels.delete(key)
    if (this.#count > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function eventOf({ positions }: MergedPage, rows: string, missed: number): string {
  return `id: ${cursorOf(positions)}\nevent: calls\ndata: {"calls":${rows},"missed":${missed}}\n\n`
}

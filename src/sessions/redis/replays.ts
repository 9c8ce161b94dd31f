/** Replay buffers of resumable streams in Redis lists, bounded in events and time. */
import type { Replay, ReplayEvent } from '../session-store.ts'
import type { RedisConnection } from './connection.ts'

const MAX_EVENTS = 256
/** Events larger than this are not kept: the stream then cannot be resumed past them. */
const MAX_EVENT_BYTES = 256 * 1024
const IDLE_MS = 10 * 60_000
const GRACE_MS = 60_000
const END = 'end'

const keyOf = (streamId: string): string => `toolgate:{r:${streamId}}`

export class RedisReplays {
  readonly #redis: RedisConnection

  constructor(redis: RedisConnection) {
    this.#redis = redis
  }

  append(streamId: string, event: ReplayEvent): Promise<unknown> {
    const key = keyOf(streamId)
    const data = event.data.length > MAX_EVENT_BYTES ? '' : event.data
    return this.#redis
      .pipeline()
      .rpush(key, `${event.n}:${data}`)
      .ltrim(key, -MAX_EVENTS, -1)
      .pexpire(key, IDLE_MS)
      .exec()
  }

  finish(streamId: string): Promise<unknown> {
    const key = keyOf(streamId)
    return this.#redis.pipeline().rpush(key, END).pexpire(key, GRACE_MS).exec()
  }

  /** undefined when the stream is unknown or events after `afterN` have been dropped. */
  async read(streamId: string, afterN: number): Promise<Replay | undefined> {
    const rows = await this.#redis.lrange(keyOf(streamId), 0, -1)
    if (rows.length === 0) return undefined
    const complete = rows.at(-1) === END
    const events = rows
      .filter(row => row !== END)
      .map(row => {
        const colon = row.indexOf(':')
        return { n: Number(row.slice(0, colon)), data: row.slice(colon + 1) }
      })
    const first = events[0]
    if (first === undefined || first.n > afterN + 1) return undefined
    return { events: events.filter(event => event.n > afterN), complete }
  }
}

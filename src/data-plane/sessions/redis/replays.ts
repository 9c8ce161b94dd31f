/** Keeps events of resumable streams in Redis, and removes old ones. */
import type { Replay, ReplayEvent } from '../session-store.ts'
import type { RedisConnection } from './session-connection.ts'

const MAX_EVENTS = 256
const MAX_BYTES = 256 * 1024
const IDLE_MS = 10 * 60_000
const GRACE_MS = 60_000
const END = 'end'

const keyOf = (stream: string): string => `toolgate:{r:${stream}}`
const sizeOf = (stream: string): string => `toolgate:{r:${stream}}:bytes`

/** Adds a row and removes the oldest ones beyond the bounds, never the newest. The size is counted beside, so that nothing is read to know it. */
const APPEND = `
local count = redis.call('RPUSH', KEYS[1], ARGV[1])
local bytes = redis.call('INCRBY', KEYS[2], #ARGV[1])
while count > 1 and (count > tonumber(ARGV[3]) or bytes > tonumber(ARGV[4])) do
  bytes = redis.call('DECRBY', KEYS[2], #redis.call('LPOP', KEYS[1]))
  count = count - 1
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return count`

export class RedisReplays {
  readonly #redis: RedisConnection

  constructor(redis: RedisConnection) {
    this.#redis = redis
  }

  append(stream: string, event: ReplayEvent): Promise<unknown> {
    return this.#push(stream, `${event.n}:${event.data}`, IDLE_MS)
  }

  finish(stream: string): Promise<unknown> {
    // the end is not an event: it may exceed the bounds
    const key = keyOf(stream)
    return Promise.all([
      this.#redis.rpush(key, END),
      this.#redis.pexpire(key, GRACE_MS),
      this.#redis.pexpire(sizeOf(stream), GRACE_MS),
    ])
  }

  /** undefined when the stream is unknown or events after `afterN` have been dropped. */
  async read(stream: string, afterN: number): Promise<Replay | undefined> {
    const kept = await this.readKept(stream)
    const first = kept?.events[0]
    if (kept === undefined || first === undefined || first.n > afterN + 1) return undefined
    return { events: kept.events.filter(event => event.n > afterN), complete: kept.complete }
  }

  /** Everything that is still there; undefined when the stream is unknown. */
  async readKept(stream: string): Promise<Replay | undefined> {
    const rows = await this.#redis.lrange(keyOf(stream), 0, -1)
    if (rows.length === 0) return undefined
    const complete = rows.at(-1) === END
    const events = rows
      .filter(row => row !== END)
      .map(row => {
        const colon = row.indexOf(':')
        return { n: Number(row.slice(0, colon)), data: row.slice(colon + 1) }
      })
    return { events, complete }
  }

  #push(stream: string, row: string, keepMs: number): Promise<unknown> {
    return this.#redis.eval(APPEND, 2, keyOf(stream), sizeOf(stream), row, keepMs, MAX_EVENTS, MAX_BYTES)
  }
}

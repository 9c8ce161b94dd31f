/** The connection to Redis: it answers or fails in time, and comes back by itself. It knows the scripts by name, not what they mean. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  openConnection,
  type RedisConnection,
  SUBSCRIBER_COMMAND_TIMEOUT_MS,
} from '../../../shared/redis/connection.ts'
import { keepSubscribed } from '../../../shared/redis/subscription.ts'
import { BEAT } from './lua-beat.ts'
import { LEASE } from './lua-lease.ts'
import { CLEAR, RESET, STATISTICS, TOOL } from './lua-tool.ts'

/** No call may wait for Redis longer than 50 ms; timers fire late, so the wait ends well before. */
export const RESPONSE_MS = 40
const RETRY = { firstRetryMs: 25, maxRetryMs: 250 } as const
const INSISTED = 8

type Reply = readonly (string | number)[]
type Argument = string | number

/** Each takes its keys, then its arguments (lua-*.ts). */
export interface Scripts {
  quotaBeat(...keysAndArguments: readonly Argument[]): Promise<Reply>
  quotaLease(...keysAndArguments: readonly Argument[]): Promise<Reply>
  quotaTool(...keysAndArguments: readonly Argument[]): Promise<Reply>
  quotaStatistics(...keysAndArguments: readonly Argument[]): Promise<Reply>
  quotaReset(...keysAndArguments: readonly Argument[]): Promise<number>
  quotaClear(...keysAndArguments: readonly Argument[]): Promise<number>
}

export interface Connection extends Scripts {
  zrange(key: string, from: number, to: number): Promise<string[]>
  /** Messages of a channel, on a connection of its own; a subscription outlives the connection. */
  listen(channel: string, onMessage: (text: string) => void): void
  close(): void
}

/** For an administrator, who may wait longer than a call: asks again until there is an answer, some times. Asking twice does no harm. */
export async function insistently<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await ask()
    } catch (error) {
      if (attempt === INSISTED) throw error
      await sleep(RESPONSE_MS)
    }
}

/**
 * Connects in the background.
 * @param onFault told of what the library reports, repeated for every attempt
 */
export function connect(url: string, onFault: (error: Error) => void): Connection {
  const redis = openConnection(url, { ...RETRY, commandTimeoutMs: RESPONSE_MS, onError: onFault })
  for (const [name, lua, numberOfKeys] of [
    ['quotaBeat', BEAT, 1],
    ['quotaLease', LEASE, 3],
    ['quotaTool', TOOL, 2],
    ['quotaStatistics', STATISTICS, 2],
    ['quotaReset', RESET, 2],
    ['quotaClear', CLEAR, 1],
  ] as const)
    redis.defineCommand(name, { lua, numberOfKeys })
  let listener: RedisConnection | undefined
  let stopListening = (): void => {}
  const scripts = redis as unknown as Scripts
  return {
    quotaBeat: (...all) => scripts.quotaBeat(...all),
    quotaLease: (...all) => scripts.quotaLease(...all),
    quotaTool: (...all) => scripts.quotaTool(...all),
    quotaStatistics: (...all) => scripts.quotaStatistics(...all),
    quotaReset: (...all) => scripts.quotaReset(...all),
    quotaClear: (...all) => scripts.quotaClear(...all),
    zrange: (key, from, to) => redis.zrange(key, String(from), String(to)),
    listen(channel, onMessage) {
      listener = openConnection(url, {
        ...RETRY,
        commandTimeoutMs: SUBSCRIBER_COMMAND_TIMEOUT_MS,
        onError: () => {}, // the other connection reports that Redis is unavailable
      })
      // nothing has to be recovered after it: beats and leases repeat every reset
      stopListening = keepSubscribed(listener, channel, { onMessage, onFault })
    },
    close() {
      stopListening()
      redis.disconnect()
      listener?.disconnect()
    },
  }
}

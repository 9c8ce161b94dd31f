/** The connections of the quotas to Redis for commands and for messages, the type of a script, and repeated requests. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  openConnection,
  openSubscriber,
  type RedisConnection,
  SUBSCRIBER_COMMAND_TIMEOUT_MS,
} from '../../../net/redis/redis-connection.ts'
import type { RedisTarget } from '../../../net/redis/servers.ts'
import { keepSubscribed } from '../../../net/redis/subscription.ts'

/** No call may wait for Redis longer than 50 ms; timers fire late, so the wait ends well before. */
export const RESPONSE_MS = 40
const RETRY = { firstRetryMs: 25, maxRetryMs: 250 } as const
const INSISTED = 8

export type RedisReply = readonly (string | number)[]
type Argument = string | number

/** A Lua script; the file that runs it, or the one named after that file with `-lua`, contains it. */
export interface Script {
  readonly name: string
  /** Number of arguments that are keys; they come first. */
  readonly keys: number
  readonly lua: string
}

/** Runs a script; its keys come first. */
export type RunScript<R = RedisReply> = (...keysAndArguments: readonly Argument[]) => Promise<R>

export interface QuotaConnection {
  /** Registers a script and returns the function that runs it. */
  define<R = RedisReply>(script: Script): RunScript<R>
  zrange(key: string, from: number, to: number): Promise<string[]>
  /** Subscribes to a channel on a separate connection, and again whenever that connection was lost. */
  listen(channel: string, onMessage: (text: string) => void): void
  close(): void
}

/** For an administrator's call, which may wait longer than a client's. Only for scripts that may run twice. */
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
 * @param onFault receives the errors of the client library, one for every attempt
 */
export function connect(target: RedisTarget, onFault: (error: Error) => void): QuotaConnection {
  const redis = openConnection(target, { ...RETRY, commandTimeoutMs: RESPONSE_MS, onError: onFault })
  let listener: RedisConnection | undefined
  let stopListening = (): void => {}
  return {
    define<R>({ name, keys, lua }: Script) {
      redis.defineCommand(name, { lua, numberOfKeys: keys })
      const commands = redis as unknown as Record<string, RunScript<R>>
      return (...all) => commands[name]!(...all)
    },
    zrange: (key, from, to) => redis.zrange(key, String(from), String(to)),
    listen(channel, onMessage) {
      listener = openSubscriber(target, {
        ...RETRY,
        commandTimeoutMs: SUBSCRIBER_COMMAND_TIMEOUT_MS,
        onError: () => {}, // the other connection reports that Redis is unavailable
      })
      // a lost message needs no recovery: heartbeats and leases repeat every reset
      stopListening = keepSubscribed(listener, channel, { onMessage, onFault })
    },
    close() {
      stopListening()
      redis.disconnect()
      listener?.disconnect()
    },
  }
}

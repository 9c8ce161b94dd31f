/** Connections to Redis: they fail in time instead of waiting, and come back by themselves. The only importer of ioredis; it runs no command. */
import { Redis } from 'ioredis'

export type RedisConnection = Redis

export interface ConnectionOptions {
  /** A command without a response fails after so long. */
  readonly commandTimeoutMs: number
  /** Bounds of the wait before the next attempt to connect. */
  readonly firstRetryMs: number
  readonly maxRetryMs: number
  /** What the library reports, once for every attempt. */
  readonly onError: (error: Error) => void
}

const CONNECT_TIMEOUT_MS = 200
/** How long a close waits for the server's side; the next attempt to connect begins after it. */
const CLOSE_TIMEOUT_MS = 200
/** A connection that has been silent for so long while a response is pending is half-open (RFC 9293 §3.5.1), and is replaced. */
const SILENCE_TIMEOUT_MS = 1_000

/** No call waits for signals, so a subscription may take longer than a command of a call. */
export const SUBSCRIBER_COMMAND_TIMEOUT_MS = 1_000

/** Connects in the background. The library's own defaults hold a command for over 25 s while the server is stalled. */
export function openConnection(url: string, options: ConnectionOptions): RedisConnection {
  const { commandTimeoutMs, firstRetryMs, maxRetryMs, onError } = options
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // the library subscribes again with a promise that cannot be caught; `keepSubscribed` does it instead
    autoResubscribe: false,
    commandTimeout: commandTimeoutMs,
    socketTimeout: SILENCE_TIMEOUT_MS + commandTimeoutMs,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: CLOSE_TIMEOUT_MS,
    retryStrategy: attempt => Math.min(attempt * firstRetryMs, maxRetryMs),
    lazyConnect: true,
  })
  redis.on('error', onError)
  void redis.connect().catch(() => {}) // `onError` has it, and the library keeps trying
  return redis
}

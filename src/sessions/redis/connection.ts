/** Connections to Redis for sessions: they fail within 50 ms instead of waiting, and come back by themselves. The only importer of ioredis here. */
import { Redis } from 'ioredis'
import type { Log } from '../../telemetry/log.ts'

const COMMAND_TIMEOUT_MS = 50
const CONNECT_TIMEOUT_MS = 200
const MAX_BACKOFF_MS = 1000

export type RedisConnection = Redis

/** Defaults of the library would hold a command for over 25 s while the server is stalled. */
export function connectRedis(url: string, log: Log): RedisConnection {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: attempt => Math.min(attempt * 50, MAX_BACKOFF_MS),
    lazyConnect: true,
  })
  let told = false
  redis.on('error', (error: Error) => {
    if (!told)
      log.warn(
        { reason: error.message },
        'Redis cannot be reached; sessions of this instance go on by themselves',
      )
    told = true
  })
  redis.on('ready', () => {
    told = false
  })
  void redis.connect().catch(() => {}) // the error listener has told; the library goes on trying
  return redis
}

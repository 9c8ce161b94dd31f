/** Opens the connections of the session store to Redis, for commands and for signals, and logs failures. */
import {
  openConnection,
  openSubscriber,
  type RedisConnection,
  SUBSCRIBER_COMMAND_TIMEOUT_MS,
} from '../../../net/redis/redis-connection.ts'
import type { RedisTarget } from '../../../net/redis/servers.ts'
import type { Log } from '../../../telemetry/log.ts'

export type { RedisConnection }

const COMMAND_TIMEOUT_MS = 50

export function connectRedis(target: RedisTarget, log: Log): RedisConnection {
  return connect(openConnection, target, log, COMMAND_TIMEOUT_MS)
}

/** For `RedisSessionStore.subscriber`: no call waits for it. */
export function connectSubscriber(target: RedisTarget, log: Log): RedisConnection {
  return connect(openSubscriber, target, log, SUBSCRIBER_COMMAND_TIMEOUT_MS)
}

function connect(
  open: typeof openConnection,
  target: RedisTarget,
  log: Log,
  commandTimeoutMs: number,
): RedisConnection {
  let reported = false
  const redis = open(target, {
    commandTimeoutMs,
    firstRetryMs: 50,
    maxRetryMs: 500,
    onError(error) {
      if (!reported)
        log.warn(
          { reason: error.message },
          'Redis cannot be reached. Most MCP sessions continue, but MCP tasks are unavailable and clients cannot resume event streams until the connection is restored',
        )
      reported = true
    },
  })
  redis.on('ready', () => {
    reported = false
  })
  return redis
}

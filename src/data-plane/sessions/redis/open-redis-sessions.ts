/** Opens sessions in Redis: connections, shared keys, and the stores of sessions and of sessions with MCP servers. */
import { redisServerSessions } from '../../../mcp/client/server-sessions.ts'
import type { RedisTarget } from '../../../net/redis/servers.ts'
import type { Log } from '../../../telemetry/log.ts'
import type { KeyRing } from '../key-ring.ts'
import type { OpenedSessions } from '../opened-sessions.ts'
import { redisKeyRing } from './key-ring.ts'
import { connectRedis, connectSubscriber } from './session-connection.ts'
import { RedisSessionStore } from './store.ts'

export interface OpenRedisSessionOptions {
  readonly target: RedisTarget
  /** Keys of this instance alone; they sign until the shared keys have been read. */
  readonly own: KeyRing
  readonly ttlMs: number
  /** For a session with an MCP server that is not used. */
  readonly serverTtlMs: number
  readonly log: Log
  /** Unix ms. */
  readonly now: () => number
}

/** Resolves when the shared keys are known, after a second at the latest. */
export async function openRedisSessions(options: OpenRedisSessionOptions): Promise<OpenedSessions> {
  const { target, own, ttlMs, serverTtlMs, log, now } = options
  const redis = connectRedis(target, log)
  const subscriber = connectSubscriber(target, log)
  const keys = redisKeyRing(redis, own)
  await keys.ready
  return {
    keys,
    servers: redisServerSessions(redis, serverTtlMs),
    sessions: new RedisSessionStore({ redis, subscriber, keys, ttlMs, log, now }),
  }
}

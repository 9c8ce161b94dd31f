/** Chooses the session store of a deployment: in memory, or in Redis for many instances. */
import { join } from 'node:path'
import type { Log } from '../telemetry/log.ts'
import { fileKeyRing, type KeyRing } from './key-ring.ts'
import { MemorySessionStore } from './memory/store.ts'
import { connectRedis } from './redis/connection.ts'
import { redisKeyRing } from './redis/key-ring.ts'
import { RedisSessionStore } from './redis/store.ts'
import type { SessionStore } from './session-store.ts'

export interface SessionOptions {
  readonly dataDir: string
  readonly redisUrl: string | undefined
  readonly ttlMs: number
  readonly max: number
  readonly log: Log
  /** Unix ms; a deployment may have a clock of its own. */
  readonly now?: () => number
}

/** @returns the store, and the keys that also sign request states */
export async function openSessions(
  options: SessionOptions,
): Promise<{ readonly sessions: SessionStore; readonly keys: KeyRing }> {
  const { dataDir, redisUrl, ttlMs, max, log, now = Date.now } = options
  const own = fileKeyRing(join(dataDir, 'session-keys.json'))
  if (redisUrl === undefined) {
    return {
      keys: own,
      sessions: new MemorySessionStore({ keys: own, ttlMs, maxSessions: max, now }),
    }
  }
  const redis = connectRedis(redisUrl, log)
  const subscriber = connectRedis(redisUrl, log)
  const keys = redisKeyRing(redis, own)
  await keys.ready
  return { keys, sessions: new RedisSessionStore({ redis, subscriber, keys, ttlMs, now }) }
}

/** Chooses the session store of a deployment: in memory, or in Redis for many instances. */
import { join } from 'node:path'
import type { OnDamage } from '../../shared/fs/damage.ts'
import type { RedisTarget } from '../../shared/redis/servers.ts'
import type { Log } from '../../shared/telemetry/log.ts'
import { fileKeyRing, type KeyRing } from './key-ring.ts'
import { MemorySessionStore } from './memory/store.ts'
import type { SessionStore } from './session-store.ts'

export interface SessionOptions {
  readonly dataDir: string
  readonly redis: RedisTarget | undefined
  readonly ttlMs: number
  readonly max: number
  readonly log: Log
  readonly onDamage: OnDamage
  /** Unix ms. */
  readonly now?: () => number
}

/** @returns the store, and the keys that also sign request states */
export async function openSessions(
  options: SessionOptions,
): Promise<{ readonly sessions: SessionStore; readonly keys: KeyRing }> {
  const { dataDir, redis, ttlMs, max, log, now = Date.now } = options
  const own = fileKeyRing(join(dataDir, 'session-keys.json'), Date.now, options.onDamage)
  if (redis === undefined) {
    return {
      keys: own,
      sessions: new MemorySessionStore({ keys: own, ttlMs, maxSessions: max, now }),
    }
  }
  // loading the driver takes 15 MiB of memory in every thread
  const { openRedisSessions } = await import('./redis/open.ts')
  return openRedisSessions({ target: redis, own, ttlMs, log, now })
}

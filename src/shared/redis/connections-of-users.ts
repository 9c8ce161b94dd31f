/** A store in Redis for the connections of users with backends, and for their locks. It encrypts nothing. */
import { randomUUID } from 'node:crypto'
import type { ConnectionStore } from '../egress/oauth/connection-store.ts'
import type { RedisConnection } from './connection.ts'

const PREFIX = 'toolgate:backend-connection:'
/** A connection that no call has renewed for so long is dropped. */
const UNUSED_SECS = 180 * 24 * 3600

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`

export function redisConnections(redis: RedisConnection): ConnectionStore {
  const lockOf = (key: string): string => `${PREFIX}{${key}}:lock`
  return {
    read: async key => (await redis.get(`${PREFIX}{${key}}`)) ?? undefined,
    async write(key, sealed) {
      await redis.set(`${PREFIX}{${key}}`, sealed, 'EX', UNUSED_SECS)
    },
    async remove(key) {
      await redis.del(`${PREFIX}{${key}}`)
    },
    async lock(key, ms) {
      const own = randomUUID()
      if ((await redis.set(lockOf(key), own, 'PX', ms, 'NX')) !== 'OK') return undefined
      return async () => void (await redis.eval(RELEASE, 1, lockOf(key), own))
    },
  }
}

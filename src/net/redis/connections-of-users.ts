/** A store in Redis for the connections of users with backends, and for their locks. */
import { randomUUID } from 'node:crypto'
import type { ConnectionStore } from '../egress/oauth/connection-store.ts'
import type { RedisConnection } from './redis-connection.ts'

const PREFIX = 'toolgate:backend-connection:'
/** A connection that no call has renewed for so long is dropped. */
const UNUSED_SECS = 180 * 24 * 3600

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`

/** Stores the second text in place of the first; 1 when it is stored now. */
const REPLACE = `
local stored = redis.call('GET', KEYS[1])
if stored == ARGV[2] then return 1 end
if stored ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1`

/** Removes a text, or any where none is named, and returns it. */
const REMOVE = `
local stored = redis.call('GET', KEYS[1])
if not stored or (ARGV[1] and stored ~= ARGV[1]) then return false end
redis.call('DEL', KEYS[1])
return stored`

export function redisConnections(redis: RedisConnection): ConnectionStore {
  const placeOf = (key: string): string => `${PREFIX}{${key}}`
  const lockOf = (key: string): string => `${PREFIX}{${key}}:lock`
  return {
    read: async key => (await redis.get(placeOf(key))) ?? undefined,
    async write(key, sealed) {
      await redis.set(placeOf(key), sealed, 'EX', UNUSED_SECS)
    },
    async replace(key, before, sealed) {
      return (await redis.eval(REPLACE, 1, placeOf(key), before, sealed, UNUSED_SECS)) === 1
    },
    async remove(key, only) {
      const removed = await redis.eval(REMOVE, 1, placeOf(key), ...(only === undefined ? [] : [only]))
      return typeof removed === 'string' ? removed : undefined
    },
    async lock(key, ms) {
      const own = randomUUID()
      if ((await redis.set(lockOf(key), own, 'PX', ms, 'NX')) !== 'OK') return undefined
      return async () => void (await redis.eval(RELEASE, 1, lockOf(key), own))
    },
  }
}

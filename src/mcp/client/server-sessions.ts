/** A store in Redis for sessions with MCP servers. It connects to no MCP server. */

import type { RedisConnection } from '../../net/redis/redis-connection.ts'
import type { ServerSession, ServerSessionStore, SessionPlace } from './server-session-store.ts'

const CLAIMED_MS = 60_000

/** All keys of a caller are in one slot. */
const keyOf = ({ caller, server }: SessionPlace): string => `toolgate:{u:${caller}}:${server}`
const indexOf = (caller: string): string => `toolgate:{u:${caller}}:servers`

/** Stores a session unless there is one, renews the time of the stored one, and returns it. */
const SETTLE = `
local stored = redis.call('GET', KEYS[1])
if not stored then
  stored = ARGV[1]
  redis.call('SET', KEYS[1], stored)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return stored`

/** Removes a session with this id that was not renewed for a time; 1 when it was there. */
const REMOVE = `
local stored = redis.call('GET', KEYS[1])
if not stored or cjson.decode(stored).id ~= ARGV[1] then return 0 end
if tonumber(ARGV[3]) > 0 and tonumber(ARGV[2]) - redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[4])
return 1`

/** @param ttlMs of a session that is not settled again */
export function redisServerSessions(redis: RedisConnection, ttlMs: number): ServerSessionStore {
  const get = async (place: SessionPlace): Promise<ServerSession | 'unavailable' | undefined> => {
    const text = await attempt(() => redis.get(keyOf(place)))
    if (text === undefined) return 'unavailable'
    return text === null ? undefined : (JSON.parse(text) as ServerSession)
  }
  return {
    get,

    async settle(place, session) {
      const keys = [keyOf(place), indexOf(place.caller)] as const
      const stored = await attempt(() =>
        redis.eval(SETTLE, 2, ...keys, JSON.stringify(session), ttlMs, place.server),
      )
      return typeof stored === 'string' ? (JSON.parse(stored) as ServerSession) : undefined
    },

    async remove(place, id, unusedMs = 0) {
      const keys = [keyOf(place), indexOf(place.caller)] as const
      const removed = await attempt(() => redis.eval(REMOVE, 2, ...keys, id, ttlMs, unusedMs, place.server))
      return removed === undefined ? undefined : removed === 1
    },

    async list(caller) {
      const servers = await attempt(() => redis.smembers(indexOf(caller)))
      const places = servers?.map(server => ({ caller, server }))
      const sessions =
        places && (await Promise.all(places.map(async place => [place, await get(place)] as const)))
      if (sessions?.some(([, session]) => session === 'unavailable')) return undefined
      return sessions?.filter((entry): entry is [SessionPlace, ServerSession] => typeof entry[1] === 'object')
    },

    async claim(place, name) {
      const key = `${keyOf(place)}:${name}`
      return (await attempt(() => redis.set(key, '1', 'PX', CLAIMED_MS, 'NX'))) === 'OK'
    },
  }
}

/** undefined when Redis is unavailable; the connection has reported it. */
async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch {
    return undefined
  }
}

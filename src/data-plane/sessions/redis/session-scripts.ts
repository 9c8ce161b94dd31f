/** The Lua scripts of sessions in Redis, and the facts of a session as it stores them. KEYS[1] is the session; no script reads another key. */
import type { SettledFacts } from '../session-store.ts'

/**
 * Renews the TTL and returns the state; false when the session has ended or expired.
 * A session that Redis does not know (it restarted empty) is stored again, if its age is below the TTL; so is its owner.
 */
export const TOUCH = `
local s = redis.call('HMGET', KEYS[1], 'ended', 'owner', 'version', 'elicitation', 'legacy', 'seen', 'log')
if s[1] then return false end
if not s[6] and ARGV[3] ~= '1' then return false end
if not s[2] or s[2] == '' then
  redis.call('HSET', KEYS[1], 'owner', ARGV[4])
  s[2] = ARGV[4]
end
redis.call('HSET', KEYS[1], 'seen', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { s[2], s[3] or '', s[4] or '', s[5] or '0', s[7] or '' }`

/** Binds an unowned session; returns its owner, '' for one that has ended. */
export const CLAIM = `
if redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return '' end
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= '' then return owner end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return ARGV[1]`

/**
 * Stores until when its legacy stream counts as open, and renews the TTL; returns the owner, false when it has ended meanwhile.
 * Redis may have lost the owner: without one, any caller that has the id could claim the session. The known one never changes, so it
 * also replaces one that claimed the session meanwhile.
 */
export const BEAT = `
local s = redis.call('HMGET', KEYS[1], 'ended', 'owner')
if s[1] then return false end
local owner = ARGV[4]
if owner == '' then owner = s[2] or '' end
redis.call('HSET', KEYS[1], 'seen', ARGV[1], 'legacy', ARGV[3], 'owner', owner)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return owner`

/** Marks it ended for a TTL; 1 unless it was marked before. */
export const END = `
local alive = redis.call('HGET', KEYS[1], 'ended') == false
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'ended', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return alive and 1 or 0`

/** The field is named after the first of them. */
export function capabilityBits({ elicitation, sampling, roots }: SettledFacts): number {
  return (elicitation ? 1 : 0) | (sampling === true ? 2 : 0) | (roots === true ? 4 : 0)
}

export function settledFacts(protocolVersion: string, bits: number, logLevel: string): SettledFacts {
  return {
    protocolVersion,
    elicitation: (bits & 1) !== 0,
    ...((bits & 2) === 0 ? undefined : { sampling: true }),
    ...((bits & 4) === 0 ? undefined : { roots: true }),
    ...(logLevel === '' ? undefined : { logLevel }),
  }
}

/** The script that leases tokens of a tool's bucket to an instance. It is text only; `tool-leases.ts` runs it. */

import { EPOCH, PRELUDE } from './lua-prelude.ts'
import type { Script } from './quota-connection.ts'

/**
 * KEYS: 1 bucket, 2 epoch record. ARGV: 1 instance, 2 sequence number, 3 epoch, 4 tokens held, 5 tokens returned,
 * 6 tokens wanted, 7 lease ms, 8 requests per hour, 9 burst. Response: 'ok', tokens granted, lease ms, now, wait ms;
 * otherwise {'epoch'} or {'stale'}.
 *
 * Leased tokens take space in the bucket until the lease ends, so that a lease spent late and the tokens refilled since
 * do not exceed the burst together. Levels are in tokens × 3,600,000. After a loss of data the bucket begins empty.
 *
 * Stored state, whose short names are kept because several versions may share a Redis: `level` at the time `at`, and `i`
 * the instances by id, each with `q` sequence number and `l` tokens leased until `x`.
 */
export const TOOL: Script = {
  name: 'quotaTool',
  keys: 2,
  lua: `${PRELUDE}${EPOCH}
local instance, sequence = ARGV[1], tonumber(ARGV[2])
local held, returned, wanted = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local lease_ms, rate, burst = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local TOKEN = 3600000
local packed = redis.call('GET', KEYS[1])
local state = packed and cmsgpack.unpack(packed)
if not state then
  local level = burst * TOKEN
  if not record.fresh then level = math.min(level, (now - record.since) * rate) end
  state = { level = level, at = now, i = {} }
end
local own = state.i[instance] or { l = 0, x = 0, q = 0 }
if sequence <= own.q then return {'stale'} end
state.i[instance] = own
local leased_elsewhere, live_instances = 0, 0
for id, entry in pairs(state.i) do
  if entry.x <= now then
    if id ~= instance then state.i[id] = nil end
    entry.l = 0
  end
  if id ~= instance then leased_elsewhere = leased_elsewhere + entry.l end
  if entry.x > now or id == instance then live_instances = live_instances + 1 end
end
returned = math.min(returned, math.max(0, own.l - held))
local level = math.min(burst * TOKEN, state.level + (now - state.at) * rate + returned * TOKEN)
level = math.min(level, (burst - leased_elsewhere - held) * TOKEN)
local granted, wait = 0, 0
if wanted > 0 and may_grant_to(instance) then
  local left = math.floor(level / TOKEN)
  if left > 0 then
    if live_instances > 1 then left = math.max(1, math.floor(left / (2 * live_instances))) end
    granted = math.min(wanted, left)
  else
    wait = math.max(1, math.ceil((TOKEN - level) / rate))
    if leased_elsewhere > 0 then wait = math.min(wait, 20) end
  end
elseif wanted > 0 then
  wait = 50
end
state.level, state.at = level - granted * TOKEN, now
own.l, own.x, own.q = held + granted, now + lease_ms, sequence
redis.call('SET', KEYS[1], cmsgpack.pack(state), 'PX', math.ceil(burst * TOKEN / rate) + 2 * lease_ms + 60000)
return { 'ok', granted, lease_ms, now, wait }
`,
}

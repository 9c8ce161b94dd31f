/** The script of the heartbeat of a bucket's members, which determines when units may be granted. It is text only; `membership.ts` runs it. */

import { PRELUDE } from './lua-prelude.ts'
import type { Script } from './quota-connection.ts'

/**
 * KEYS: 1 epoch record. ARGV: 1 instance, 2 epoch it knows ('' for none), 3 epoch to which it has reported all counts,
 * 4 version of the member list it knows, 5 '1' when it has counts from before, 6 members it knows (JSON), 7 window ms,
 * 8 longest lease ms, 9 ms to wait for an absent member's calendar counts, 10 ms by which tests have moved the caller's
 * clock, 11 ms for which calls of the process before the caller may still run, 12 longest call ms, 13 '1' when a Redis
 * without data may have lost them although no instance knows of any.
 * Response: epoch, state, version of the member list, '1' when the caller may be granted units, now, members (JSON),
 * resets (JSON), ms by which tests have moved the clock.
 *
 * States: a new record is `unsure` until every live instance had the time to name an older epoch; with one it becomes
 * `recovering`, otherwise `open`. `recovering` ends when the known members have reported their counts, or when what can have been used
 * before has left the rolling windows. A member is `ok`, and may be granted units, once all other live members know it:
 * after a loss of data each of them must be able to name it as missing.
 */
export const BEAT: Script = {
  name: 'quotaBeat',
  keys: 1,
  lua: `${PRELUDE}
local instance, known_epoch, reported_epoch = ARGV[1], ARGV[2], ARGV[3]
local known_version, has_history = tonumber(ARGV[4]), ARGV[5] == '1'
local window, lease_ms, absent_ms = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local calls_ms, max_call_ms = tonumber(ARGV[11]), tonumber(ARGV[12])
local LIVE, UNSURE = 3000, 1500
local packed = redis.call('GET', KEYS[1])
local record = packed and cjson.decode(packed)
if not record or record.run ~= run then
  local previous = record
  record = { id = run .. '-' .. time[1] .. '-' .. time[2], run = run, since = now, ver = 0, members = {}, resets = {},
    held = 0, fresh = true, state = 'unsure', lost = ARGV[13] == '1' }
  -- Someone emptied this server; what it held then is not known.
  if string.match(redis.call('INFO', 'commandstats'), 'cmdstat_flush') then record.lost = true end
  if previous then
    record.state = 'recovering'
    record.resets = previous.resets
    for id in pairs(previous.members) do record.members[id] = { seen = 0, joined = 0, acked = 0, expected = true } end
  end
end
record.skew = math.max(record.skew or 0, tonumber(ARGV[10]))
if record.state == 'unsure' and (has_history or (known_epoch ~= '' and known_epoch ~= record.id)) then
  record.state = 'recovering'
end
if record.state ~= 'open' then
  for _, id in ipairs(cjson.decode(ARGV[6])) do
    if not record.members[id] then record.members[id] = { seen = 0, joined = 0, acked = 0, expected = true } end
  end
end
-- What the ended process held is not known any more: no slots until its calls have ended.
if record.state ~= 'open' and calls_ms > 0 then record.slots = math.max(record.slots or 0, now + calls_ms) end
local own = record.members[instance]
if not own or (own.seen == 0 and not own.expected) then
  record.ver = record.ver + 1
  own = { joined = record.ver }
  record.members[instance] = own
end
own.seen = now
own.acked = known_version
own.done = reported_epoch == record.id
if not own.ok then
  local known_to_all = true
  for id, other in pairs(record.members) do
    if id ~= instance and now - other.seen < LIVE and other.acked < own.joined then known_to_all = false end
  end
  own.ok = known_to_all or nil
end
local missing = false
for _, member in pairs(record.members) do if not member.done then missing = true end end
local past_ms = lease_ms + math.max(window, max_call_ms)
if record.state == 'unsure' and now - record.since >= (record.lost and past_ms or UNSURE) then record.state = 'open' end
if record.state == 'recovering' then
  record.fresh = false
  if not missing then
    record.state = 'open'
  elseif now - record.since >= past_ms then
    record.state = 'open'
    record.held = now + absent_ms
  end
end
if record.held > 0 and (not missing or now >= record.held) then record.held = 0 end
if record.state == 'open' and record.held == 0 then
  for id, member in pairs(record.members) do
    if id ~= instance and now - member.seen > window + lease_ms + 5000 then record.members[id] = nil end
  end
end
local resets = {}
for _, reset in ipairs(record.resets) do if now - reset.t < 60000 then resets[#resets + 1] = reset end end
record.resets = resets
redis.call('SET', KEYS[1], cjson.encode(record))
local names = {}
for id in pairs(record.members) do names[#names + 1] = id end
return { record.id, record.state, record.ver, own.ok and 1 or 0, now + record.skew, cjson.encode(names),
  cjson.encode(resets), record.skew }
`,
}

/**
 * The roll call of a bucket, as Lua. When Redis has lost data (empty, restarted, failed over) nobody is granted anything
 * until every instance that is known to have been a member has told again what it used, or until all that anybody can
 * have used in a rolling window has left it.
 */
import { PRELUDE } from './lua-common.ts'

/**
 * KEYS: 1 epoch record. ARGV: 1 instance, 2 epoch it knows ('' none), 3 epoch it has told everything to, 4 version of the
 * member list it knows, 5 '1' has counted before, 6 members it knows (JSON), 7 window ms, 8 lease ms,
 * 9 ms to wait for an absent member's calendar counts, 10 ms by which tests have moved the caller's clock.
 * Answer: epoch, state, version, '1' when the caller may be granted units, now, members (JSON), resets (JSON), ms moved.
 *
 * A member is admitted once all others that live know of it: whoever asks later whether anybody is missing must be able
 * to name it. `unsure` is the state of a new record until everybody alive had the time to say that there was an older one.
 */
export const BEAT = `${PRELUDE}
local me, known, told = ARGV[1], ARGV[2], ARGV[3]
local acked, history = tonumber(ARGV[4]), ARGV[5] == '1'
local window, lease, absent = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local LIVE, UNSURE = 3000, 1500
local raw = redis.call('GET', KEYS[1])
local record = raw and cjson.decode(raw)
if not record or record.run ~= run then
  local old = record
  record = { id = run .. '-' .. time[1] .. '-' .. time[2], run = run, since = now, ver = 0, members = {}, resets = {},
    held = 0, fresh = true, state = 'unsure' }
  if old then
    record.state = 'recovering'
    record.resets = old.resets
    for id in pairs(old.members) do record.members[id] = { seen = 0, joined = 0, acked = 0, expected = true } end
  end
end
record.skew = math.max(record.skew or 0, tonumber(ARGV[10]))
if record.state == 'unsure' and (history or (known ~= '' and known ~= record.id)) then record.state = 'recovering' end
if record.state ~= 'open' then
  for _, id in ipairs(cjson.decode(ARGV[6])) do
    if not record.members[id] then record.members[id] = { seen = 0, joined = 0, acked = 0, expected = true } end
  end
end
local member = record.members[me]
if not member or (member.seen == 0 and not member.expected) then
  record.ver = record.ver + 1
  member = { joined = record.ver }
  record.members[me] = member
end
member.seen = now
member.acked = acked
member.done = told == record.id
if not member.ok then
  local ok = true
  for id, other in pairs(record.members) do
    if id ~= me and now - other.seen < LIVE and other.acked < member.joined then ok = false end
  end
  member.ok = ok or nil
end
local missing = false
for _, member in pairs(record.members) do if not member.done then missing = true end end
if record.state == 'unsure' and now - record.since >= UNSURE then record.state = 'open' end
if record.state == 'recovering' then
  record.fresh = false
  if not missing then
    record.state = 'open'
  elseif now - record.since >= window + lease then
    record.state = 'open'
    record.held = now + absent
  end
end
if record.held > 0 and (not missing or now >= record.held) then record.held = 0 end
if record.state == 'open' and record.held == 0 then
  for id, member in pairs(record.members) do
    if id ~= me and now - member.seen > window + lease + 5000 then record.members[id] = nil end
  end
end
local resets = {}
for _, reset in ipairs(record.resets) do if now - reset.t < 60000 then resets[#resets + 1] = reset end end
record.resets = resets
redis.call('SET', KEYS[1], cjson.encode(record))
local names = {}
for id in pairs(record.members) do names[#names + 1] = id end
return { record.id, record.state, record.ver, member.ok and 1 or 0, now + record.skew, cjson.encode(names),
  cjson.encode(resets), record.skew }
`

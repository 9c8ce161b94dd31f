/**
 * One lease for a consumer over all its windows, as Lua: take the report, expire what others did not report, grant.
 * The invariant: in every window, what is used and what is leased together never exceed the limit.
 */
import { EPOCH, PRELUDE } from './lua-common.ts'

/**
 * KEYS: 1 the consumer, 2 epoch record, 3 names of the bucket. ARGV: 1 instance, 2 sequence, 3 epoch, 4 report (JSON),
 * 5 units wanted, 6 lease ms, 7 limits (JSON: second, minute, day, month, burst), 8 calls in flight wanted, 9 name,
 * 10 longest call ms, 11 names kept.
 *
 * The report is absolute, so that one that is lost or repeated does no harm: k units still held, s and m pairs (age ms,
 * units) of the rolling windows, d/dn and o/on day and month with their counts, g generation, f calls in flight, b how many
 * may be, p 1 when this server has answered for the consumer shortly before. A report older than the last is 'stale'.
 *
 * State: i instance → { q sequence, s, m flat pairs (time it is free again, units), d, dn, o, on, g, l leased until x,
 * b calls in flight until y, v seen }; z the same for units of leases that nobody reported; g generation; ld, lm the limits as last told.
 * Answer: 'ok', granted, lease ms, ms to midnight, now, generation, calls in flight granted, kind, used, limit, wait ms,
 * used by the others in second, minute, day, month. Kind is '' when none were wanted or more are left.
 */
export const LEASE = `${PRELUDE}${EPOCH}
local me, seq = ARGV[1], tonumber(ARGV[2])
local report = cjson.decode(ARGV[4])
local want, lease, share = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[8])
local limits = cjson.decode(ARGV[7])
local day, month = day_of(now), month_of(now)
local raw = redis.call('GET', KEYS[1])
if not raw and report.p == 1 then
  -- The consumer was here a moment ago: somebody has emptied the server, and nobody can say of whom else.
  redis.call('DEL', KEYS[2])
  return {'epoch'}
end
local state = raw and cmsgpack.unpack(raw) or { g = report.g, i = {}, z = { s = {}, m = {}, d = 0, dn = 0, o = 0, on = 0 } }
if not raw then
  redis.call('ZADD', KEYS[3], now, ARGV[9])
  redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1 - tonumber(ARGV[11]))
end
local lost = state.z
local own = state.i[me]
if own and seq <= own.q then return {'stale'} end
if not own then
  own = { l = 0, x = 0, b = 0, y = 0 }
  state.i[me] = own
end
if report.g > state.g then state.g = report.g end
own.q, own.v, own.l = seq, now, report.k
own.x = now + lease
-- Both clocks are cut to milliseconds: one more for each.
local function freed(pairs_in, length)
  local out = {}
  for at = 1, #pairs_in, 2 do
    out[at] = now + 2 - pairs_in[at] + length
    out[at + 1] = pairs_in[at + 1]
  end
  return out
end
own.s, own.m = freed(report.s, 1000), freed(report.m, 60000)
if own.d ~= day then own.d, own.dn = day, 0 end
if own.o ~= month then own.o, own.on = month, 0 end
if report.g == state.g then
  if own.g ~= report.g then own.dn, own.on = 0, 0 end
  own.g = report.g
  -- An instance ahead of this clock counts for today; the counts of yesterday are over.
  if report.d >= day and report.dn > own.dn then own.dn = report.dn end
  if report.o >= month and report.on > own.on then own.on = report.on end
end
if lost.d ~= day then lost.d, lost.dn = day, 0 end
if lost.o ~= month then lost.o, lost.on = month, 0 end

local used, leased, mine = { 0, 0, 0, 0 }, 0, { 0, 0, 0, 0 }
local free = { math.huge, math.huge }
local others, live = 0, 0
local function count(list, window)
  local sum, kept = 0, {}
  for at = 1, #list, 2 do
    if list[at] > now then
      sum = sum + list[at + 1]
      kept[#kept + 1] = list[at]
      kept[#kept + 1] = list[at + 1]
      if list[at] < free[window] then free[window] = list[at] end
    end
  end
  return sum, kept
end
for id, entry in pairs(state.i) do
  if entry.l > 0 and entry.x <= now then
    -- Nobody has told what became of these: they count as used when the lease ended.
    lost.s[#lost.s + 1] = entry.x + 1000
    lost.s[#lost.s + 1] = entry.l
    lost.m[#lost.m + 1] = entry.x + 60000
    lost.m[#lost.m + 1] = entry.l
    if day_of(entry.x) == day then lost.dn = lost.dn + entry.l end
    if month_of(entry.x) == month then lost.on = lost.on + entry.l end
    entry.l = 0
  end
  if entry.y <= now then entry.b = 0 end
  local second, minute
  second, entry.s = count(entry.s, 1)
  minute, entry.m = count(entry.m, 2)
  local today = (entry.d == day and entry.g == state.g) and entry.dn or 0
  local thismonth = (entry.o == month and entry.g == state.g) and entry.on or 0
  used[1], used[2], used[3], used[4] = used[1] + second, used[2] + minute, used[3] + today, used[4] + thismonth
  leased = leased + entry.l
  if id == me then
    mine = { second, minute, today, thismonth }
  else
    others = others + entry.b
    if now - entry.v > 120000 and thismonth == 0 then state.i[id] = nil end
  end
  if now - entry.v < 2 * lease then live = live + 1 end
end
local second, minute
second, lost.s = count(lost.s, 1)
minute, lost.m = count(lost.m, 2)
used[1], used[2], used[3], used[4] = used[1] + second, used[2] + minute, used[3] + lost.dn, used[4] + lost.on

local elsewhere = {}
for window = 1, 4 do elsewhere[window] = used[window] - mine[window] end
if limits[3] > 0 or limits[4] > 0 then state.ld, state.lm = limits[3], limits[4] end
local granted, kind, wait, which = 0, '', 0, 0
local calendar = limits[3] > 0 or limits[4] > 0
if not open_to(me) or (record.held > real and calendar) then
  if want > 0 or share > report.f then kind, wait = 'closed', 50 end
elseif want > 0 then
  local least, tightest = math.huge, 0
  for window = 4, 1, -1 do
    if limits[window] > 0 then
      local left = limits[window] - used[window] - leased
      if left <= 0 and which == 0 then which = window end
      if left < least then least, tightest = left, window end
    end
  end
  if which == 0 then
    -- Small when little is left: the last units must not lie idle with somebody.
    local most = live > 1 and math.max(1, math.floor(least / (2 * live))) or least
    granted = math.min(want, most)
    own.l = own.l + granted
    -- With the last units goes what is to be said when they are spent.
    if granted == least then which = tightest end
  end
  if which > 0 then
    kind = ({ 'second', 'minute', 'day', 'month' })[which]
    wait = which < 3 and free[which] - now or DAY - now % DAY
    -- Held by somebody and not used: it may come back any moment.
    if used[which] < limits[which] and wait > 20 then wait = 20 end
    -- What comes back one by one is fetched some at a time: less than one per cent of the window later.
    if which == 1 then wait = math.max(wait, 6) elseif which == 2 then wait = math.max(wait, 100) end
    used[which] = granted > 0 and limits[which] or used[which]
  end
end
local flight = 0
own.b, own.y = report.b, now + lease + tonumber(ARGV[10])
if limits[5] > 0 then
  local room = open_to(me) and math.max(0, limits[5] - others) or 0
  flight = math.max(report.f, math.min(share, room))
  own.b = flight
end
redis.call('SET', KEYS[1], cmsgpack.pack(state), 'PX', used[4] > 0 and 2764800000 or 300000)
local burst_kind = kind == '' and want == 0 and limits[5] > 0 and share > report.f and flight <= report.f
return { 'ok', granted, lease, DAY - now % DAY, now, state.g, flight, burst_kind and 'burst' or kind,
  which > 0 and used[which] or (burst_kind and others + flight or 0), which > 0 and limits[which] or limits[5], wait,
  elsewhere[1], elsewhere[2], elsewhere[3], elsewhere[4] }
`

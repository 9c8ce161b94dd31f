/** The script that leases units and slots of a consumer to an instance. It is text only; `leases.ts` runs it. */

import { EPOCH, PRELUDE } from './lua-prelude.ts'
import type { Script } from './quota-connection.ts'

/** A lease is this many times longer while half of every limit is left. */
export const LONG_LEASE = 5

/**
 * KEYS: 1 consumer, 2 epoch record, 3 names of the bucket. ARGV: 1 instance, 2 sequence number, 3 epoch, 4 report (JSON,
 * `report.ts`), 5 units wanted, 6 lease ms, 7 limits (JSON: second, minute, day, month, burst), 8 slots needed by calls in
 * flight and waiting, 9 name, 10 longest call ms, 11 names kept, 12 slots wanted, 13 channel of the instances, 14 calls
 * that lacked a unit.
 *
 * Response: 'ok', units granted, lease ms, ms to midnight, now, generation, slots granted, then the denial: kind ('' for
 * none), used, limit, wait ms; then units used by the other instances in second, minute, day, month; then the slots that
 * the instance should reduce its own to, because others wait (-1: none waits).
 * Otherwise {'epoch'}, or {'stale'} for a report older than the last one.
 *
 * Units are granted while used and leased units together stay within the limit of each window.
 *
 * A slot is the right to have one call in flight. The slots of an instance shrink only by its report, which it sends after
 * it has stopped to use them; a report that is late or lost leaves them too high, never too low.
 *
 * Stored state, whose short names are kept because several versions may share a Redis: `g` generation, `ld` and `lm`
 * the last limits of day and month, `i` the instances by id, `z` the units of expired leases that were never reported,
 * `e` flat pairs (time at which they end, slots) of processes that ended without a report, `p` time of the last recall.
 * Entry of an instance: `q` sequence number, `g` generation, `v` last report; `s` and `m` flat pairs (time at which
 * units leave the rolling second or minute, units); `d` day and `dn` its count, `o` month and `on` its count; `l`
 * units leased until `x`; `b` slots until `y`, the last of them since `h`; `w` slots it lacks until `wt`.
 */
export const LEASE: Script = {
  name: 'quotaLease',
  keys: 3,
  lua: `${PRELUDE}${EPOCH}
local instance, sequence = ARGV[1], tonumber(ARGV[2])
local report = cjson.decode(ARGV[4])
local wanted, lease_ms, slots_needed = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[8])
local limits = cjson.decode(ARGV[7])
local max_call_ms, slots_wanted, calls_lacking = tonumber(ARGV[10]), tonumber(ARGV[12]), tonumber(ARGV[14])
local INCARNATION, WAITING_MS, HOLD_MS, RECALL_MS = 4294967296, 100, 1000, 10
local day, month = day_of(now), month_of(now)
local packed = redis.call('GET', KEYS[1])
if not packed and report.known == 1 then
  -- This consumer was stored here shortly before, so data was lost, perhaps of other consumers too.
  redis.call('DEL', KEYS[2])
  return {'epoch'}
end
local state = packed and cmsgpack.unpack(packed)
  or { g = report.generation, i = {}, z = { s = {}, m = {}, d = 0, dn = 0, o = 0, on = 0 } }
if not packed then
  redis.call('ZADD', KEYS[3], now, ARGV[9])
  redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1 - tonumber(ARGV[11]))
end

-- Take the report.
local unreported = state.z
local ended = state.e or {}
local own = state.i[instance]
if own and sequence <= own.q then return {'stale'} end
if not own then
  own = { l = 0, x = 0, b = 0, y = 0 }
  state.i[instance] = own
elseif own.b > 0 and own.y > now and math.floor(own.q / INCARNATION) < math.floor(sequence / INCARNATION) then
  -- The process before this one ended; its calls may still be running in the backend.
  ended[#ended + 1] = own.y
  ended[#ended + 1] = own.b
end
if report.generation > state.g then state.g = report.generation end
own.q, own.v, own.l = sequence, now, report.held
-- Two clocks are truncated to milliseconds: one more for each.
local function leaving_times(ages, length)
  local times = {}
  for at = 1, #ages, 2 do
    times[at] = now + 2 - ages[at] + length
    times[at + 1] = ages[at + 1]
  end
  return times
end
own.s, own.m = leaving_times(report.second, 1000), leaving_times(report.minute, 60000)
if own.d ~= day then own.d, own.dn = day, 0 end
if own.o ~= month then own.o, own.on = month, 0 end
if report.generation == state.g then
  if own.g ~= report.generation then own.dn, own.on = 0, 0 end
  own.g = report.generation
  -- An instance whose clock is ahead counts for today; counts of an earlier period are over.
  if report.day >= day and report.dayCount > own.dn then own.dn = report.dayCount end
  if report.month >= month and report.monthCount > own.on then own.on = report.monthCount end
end
if unreported.d ~= day then unreported.d, unreported.dn = day, 0 end
if unreported.o ~= month then unreported.o, unreported.on = month, 0 end
own.b, own.w, own.wt = report.slots, 0, 0

-- Sum what all instances used and lease; expire leases. Windows are 1 second, 2 minute, 3 day, 4 month.
local used, leased, own_used = { 0, 0, 0, 0 }, 0, { 0, 0, 0, 0 }
local next_free = { math.huge, math.huge }
local slots_elsewhere, sharing, live_instances = 0, 1, 0
local function count(pairs_list, window)
  local sum, kept = 0, {}
  for at = 1, #pairs_list, 2 do
    if pairs_list[at] > now then
      sum = sum + pairs_list[at + 1]
      kept[#kept + 1] = pairs_list[at]
      kept[#kept + 1] = pairs_list[at + 1]
      if window and pairs_list[at] < next_free[window] then next_free[window] = pairs_list[at] end
    end
  end
  return sum, kept
end
local slots_ended
slots_ended, ended = count(ended)
state.e = ended
for id, entry in pairs(state.i) do
  if id ~= instance then
    if entry.l > 0 and entry.x <= now then
      -- Expired without a report: its units count as used at the end of the lease.
      unreported.s[#unreported.s + 1] = entry.x + 1000
      unreported.s[#unreported.s + 1] = entry.l
      unreported.m[#unreported.m + 1] = entry.x + 60000
      unreported.m[#unreported.m + 1] = entry.l
      if day_of(entry.x) == day then unreported.dn = unreported.dn + entry.l end
      if month_of(entry.x) == month then unreported.on = unreported.on + entry.l end
      entry.l = 0
    end
    if entry.y <= now then entry.b = 0 end
    if (entry.wt or 0) <= now then entry.w = 0 end
    if entry.b > 0 or entry.w > 0 then sharing = sharing + 1 end
    slots_elsewhere = slots_elsewhere + entry.b
  end
  local in_second, in_minute
  in_second, entry.s = count(entry.s, 1)
  in_minute, entry.m = count(entry.m, 2)
  local in_day = (entry.d == day and entry.g == state.g) and entry.dn or 0
  local in_month = (entry.o == month and entry.g == state.g) and entry.on or 0
  used[1], used[2], used[3], used[4] = used[1] + in_second, used[2] + in_minute, used[3] + in_day, used[4] + in_month
  leased = leased + entry.l
  if id == instance then
    own_used = { in_second, in_minute, in_day, in_month }
  elseif now - entry.v > 120000 and in_month == 0 and entry.b == 0 then
    state.i[id] = nil
  end
  if entry.l > 0 or now - entry.v < 2 * lease_ms then live_instances = live_instances + 1 end
end
local in_second, in_minute
in_second, unreported.s = count(unreported.s, 1)
in_minute, unreported.m = count(unreported.m, 2)
used[1], used[2] = used[1] + in_second, used[2] + in_minute
used[3], used[4] = used[3] + unreported.dn, used[4] + unreported.on

local elsewhere = {}
for window = 1, 4 do elsewhere[window] = used[window] - own_used[window] end

-- Grant units, or deny with the reason.
if limits[3] > 0 or limits[4] > 0 then state.ld, state.lm = limits[3], limits[4] end
local granted, kind, wait, exhausted, idle_elsewhere, units_idle = 0, '', 0, 0, false, false
local half_left = true
local has_calendar_limit = limits[3] > 0 or limits[4] > 0
local admitted = may_grant_to(instance)
if not admitted or (record.held > real and has_calendar_limit) then
  if wanted > 0 or slots_needed > report.slots then kind, wait = 'closed', 50 end
else
  local left_in_all, tightest = math.huge, 0
  for window = 4, 1, -1 do
    if limits[window] > 0 then
      local left = limits[window] - used[window] - leased
      if left <= 0 and exhausted == 0 then exhausted = window end
      if left < left_in_all then left_in_all, tightest = left, window end
      if (left - wanted) * 2 < limits[window] then half_left = false end
    end
  end
  if wanted == 0 then exhausted = 0 end
  if wanted > 0 and exhausted == 0 then
    -- Leases shrink with the units left, so that the last units are not held idle by one instance.
    local max_units = live_instances > 1 and math.max(1, math.floor(left_in_all / (2 * live_instances))) or left_in_all
    granted = math.min(wanted, max_units)
    own.l = own.l + granted
    -- The lease of the last units carries the denial for the calls after them.
    if granted == left_in_all then exhausted = tightest end
  end
  if exhausted > 0 then
    kind = ({ 'second', 'minute', 'day', 'month' })[exhausted]
    wait = exhausted < 3 and next_free[exhausted] - now or DAY - now % DAY
    -- The rest is leased and not used. It is recalled for calls, not for a request ahead of demand: another instance keeps
    -- it for its own next call.
    local recalled_ms = calls_lacking > 0 and 20 or 250
    if used[exhausted] < limits[exhausted] and wait > recalled_ms then wait = recalled_ms end
    units_idle = granted == 0 and leased > own.l and calls_lacking > 0
    -- Units become free one by one; waiting for several costs less than one per cent of the window.
    if exhausted == 1 then wait = math.max(wait, 6) elseif exhausted == 2 then wait = math.max(wait, 100) end
    used[exhausted] = granted > 0 and limits[exhausted] or used[exhausted]
  end
end
-- Far from the limits a lease is longer. Its end never moves back: the response may be lost.
if half_left then lease_ms = lease_ms * ${LONG_LEASE} end
own.x = math.max(own.l > 0 and own.x or 0, now + lease_ms)

-- Grant slots. With none to spare each instance gets an equal part; what others lack is taken from those with more.
local slots, keep, burst_denied = report.slots, -1, false
own.y = math.max(own.b > 0 and own.y or 0, now + lease_ms + max_call_ms)
if limits[5] > 0 then
  local equal = math.max(1, math.floor(limits[5] / sharing))
  local lacked, owed = 0, 0
  for id, entry in pairs(state.i) do
    if id ~= instance and (entry.w or 0) > 0 then
      lacked = lacked + entry.w
      owed = owed + math.min(entry.w, math.max(0, equal - entry.b))
    end
  end
  local closed = not admitted or (record.slots or 0) > real
  local free = closed and 0 or math.max(0, limits[5] - slots_elsewhere - slots_ended - slots)
  local target = math.max(slots_needed, sharing == 1 and slots_wanted or math.min(slots_wanted, equal))
  if lacked > 0 then target = slots_needed end
  local reachable = slots + free
  if target > equal then reachable = math.max(math.min(reachable, equal), reachable - owed) end
  slots = math.max(slots, math.min(target, reachable))
  if slots > report.slots or not own.h then own.h = now end
  if slots < slots_needed then
    own.w, own.wt = slots_needed - slots, now + WAITING_MS
    burst_denied = slots == report.slots
    if burst_denied and kind == '' then wait = slots >= equal and 50 or 20 end
    if slots_elsewhere > 0 then idle_elsewhere = true end
  end
  if lacked > 0 then
    -- With fewer slots than instances one of them has to give up its last slot, but not at every call.
    local floor = limits[5] < sharing and now - own.h < HOLD_MS and slots or math.floor(limits[5] / sharing)
    keep = math.max(math.min(slots, floor), slots - owed)
  end
  own.b = slots
end
if (idle_elsewhere or units_idle) and now - (state.p or 0) >= RECALL_MS then
  state.p = now
  redis.call('PUBLISH', ARGV[13], cjson.encode({ n = ARGV[9], g = 0, by = instance, w = exhausted }))
end
redis.call('SET', KEYS[1], cmsgpack.pack(state), 'PX', used[4] > 0 and 2764800000 or 300000 + max_call_ms)
if burst_denied and kind == '' then kind = 'burst' end
return { 'ok', granted, lease_ms, DAY - now % DAY, now, state.g, slots, kind,
  exhausted > 0 and used[exhausted] or (burst_denied and slots_elsewhere + slots_ended + slots or 0),
  exhausted > 0 and limits[exhausted] or limits[5], wait,
  elsewhere[1], elsewhere[2], elsewhere[3], elsewhere[4], keep }
`,
}

/** Parts of Lua that scripts of this folder share, and the time after which no unit counts in a rolling minute any more. */

/** A rolling minute and one of its sub-windows, in milliseconds: after it no unit counts in the minute any more. */
export const MINUTE_MS = 60_750

/**
 * `now` is the server's clock in ms: clocks of two instances are never compared. `run` changes with the process behind
 * the address, so the first script after a restart or failover detects it.
 */
export const PRELUDE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local DAY = 86400000
local function day_of(ms) return math.floor(ms / DAY) end
-- Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days
local function month_of(ms)
  local z = day_of(ms) + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  return (yoe + era * 400) * 12 + math.floor((5 * doy + 2) / 153) + 2 - 23640
end
`

/**
 * `record` is the epoch record of the bucket (`membership-lua.ts`). The script ends with {'epoch'} when the caller does
 * not know this epoch, or when the server is not the one on which it began. Deadlines of the record are compared with the
 * server's clock, `real`; everything else with `now`, which tests may have moved.
 */
export const EPOCH = `
local packed_record = redis.call('GET', KEYS[2])
if not packed_record then return {'epoch'} end
local record = cjson.decode(packed_record)
if record.id ~= ARGV[3] or record.run ~= run then return {'epoch'} end
local real = now
now = now + (record.skew or 0)
local function may_grant_to(id)
  return record.state == 'open' and record.members[id] and record.members[id].ok
end
`

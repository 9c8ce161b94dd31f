/** Lua that every script of this room begins with: the clock of Redis, its run id, calendar periods. Text only; Redis runs it. */

/** A rolling minute with a sub-window on top, in milliseconds: after it nothing of the minute is left. */
export const MINUTE_MS = 60_750

/**
 * `now` is the server's clock in ms: no instance's clock is ever compared with another's. `run` changes when the process
 * behind the address does, so a restart and a failover are seen by the first script after it.
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
 * `record` is the epoch of the bucket: what is known of its members since the data was last lost. The script ends with
 * {'epoch'} when the caller does not know of it yet, or when this is another server than the one it began on.
 * Members and their absence are judged by the server's own time, `real`; all else by `now`, which tests may have moved.
 */
export const EPOCH = `
local raw_record = redis.call('GET', KEYS[2])
if not raw_record then return {'epoch'} end
local record = cjson.decode(raw_record)
if record.id ~= ARGV[3] or record.run ~= run then return {'epoch'} end
local real = now
now = now + (record.skew or 0)
local function open_to(id)
  return record.state == 'open' and record.members[id] and record.members[id].ok
end
`

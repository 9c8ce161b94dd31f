/** Leases of a tool's token bucket, and what an administrator asks, as Lua. */
import { EPOCH, PRELUDE } from './lua-common.ts'

/**
 * KEYS: 1 the bucket, 2 epoch record. ARGV: 1 instance, 2 sequence, 3 epoch, 4 units still held, 5 units given back,
 * 6 units wanted, 7 lease ms, 8 requests per hour, 9 burst.
 * What is leased counts as being in the bucket while it may be refilled, so that a lease spent late and the refill since
 * do not add up to more than the burst. Levels are in tokens × 3,600,000. After a loss of data the bucket begins empty.
 * Answer: 'ok', granted, lease ms, now, wait ms.
 */
export const TOOL = `${PRELUDE}${EPOCH}
local me, seq = ARGV[1], tonumber(ARGV[2])
local keep, back, want = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local lease, rate, burst = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local TOKEN = 3600000
local raw = redis.call('GET', KEYS[1])
local state = raw and cmsgpack.unpack(raw)
if not state then
  local level = burst * TOKEN
  if not record.fresh then level = math.min(level, (now - record.since) * rate) end
  state = { level = level, at = now, i = {} }
end
local own = state.i[me] or { l = 0, x = 0, q = 0 }
if seq <= own.q then return {'stale'} end
state.i[me] = own
local leased, live = 0, 0
for id, entry in pairs(state.i) do
  if entry.x <= now then
    if id ~= me then state.i[id] = nil end
    entry.l = 0
  end
  if id ~= me then leased = leased + entry.l end
  if entry.x > now or id == me then live = live + 1 end
end
back = math.min(back, math.max(0, own.l - keep))
local level = math.min(burst * TOKEN, state.level + (now - state.at) * rate + back * TOKEN)
level = math.min(level, (burst - leased - keep) * TOKEN)
local granted, wait = 0, 0
if want > 0 and open_to(me) then
  local left = math.floor(level / TOKEN)
  if left > 0 then
    if live > 1 then left = math.max(1, math.floor(left / (2 * live))) end
    granted = math.min(want, left)
  else
    wait = math.max(1, math.ceil((TOKEN - level) / rate))
    if leased > 0 then wait = math.min(wait, 20) end
  end
elseif want > 0 then
  wait = 50
end
state.level, state.at = level - granted * TOKEN, now
own.l, own.x, own.q = keep + granted, now + lease, seq
redis.call('SET', KEYS[1], cmsgpack.pack(state), 'PX', math.ceil(burst * TOKEN / rate) + 2 * lease + 60000)
return { 'ok', granted, lease, now, wait }
`

/** KEYS: 1 the consumer, 2 epoch record. ARGV: 1 instance. Answer: day and month counts of all other instances and of lost leases, and the limits. */
export const STATISTICS = `${PRELUDE}
local raw_record = redis.call('GET', KEYS[2])
if raw_record then now = now + (cjson.decode(raw_record).skew or 0) end
local raw = redis.call('GET', KEYS[1])
if not raw then return { 0, 0, 0, 0 } end
local state = cmsgpack.unpack(raw)
local day, month = day_of(now), month_of(now)
local today = state.z.d == day and state.z.dn or 0
local thismonth = state.z.o == month and state.z.on or 0
for id, entry in pairs(state.i) do
  if entry.g == state.g and id ~= ARGV[1] then
    if entry.d == day then today = today + entry.dn end
    if entry.o == month then thismonth = thismonth + entry.on end
  end
end
return { today, thismonth, state.ld or 0, state.lm or 0 }
`

/**
 * What `record` of the bucket tells its members with every beat for a minute, and those who listen at once.
 * KEYS: the epoch record is `key`. A lost message is heard with the next beat; a lost record by those who listen.
 */
const TELL = `
local function tell(key, channel, news)
  local raw_record = redis.call('GET', key)
  if raw_record then
    local record = cjson.decode(raw_record)
    record.resets[#record.resets + 1] = { n = news.n, g = news.g, t = now }
    if #record.resets > 200 then table.remove(record.resets, 1) end
    redis.call('SET', key, cjson.encode(record))
  end
  redis.call('PUBLISH', channel, cjson.encode(news))
end
`

/**
 * KEYS: 1 the consumer, 2 epoch record. ARGV: 1 name, 2 channel. A reset is a new generation: counts of an older one do
 * not count, whenever they arrive. Answer: the generation, 0 when nobody knows the consumer.
 */
export const RESET = `${PRELUDE}${TELL}
local raw = redis.call('GET', KEYS[1])
if not raw then return 0 end
local state = cmsgpack.unpack(raw)
state.g = state.g + 1
state.z.dn, state.z.on = 0, 0
redis.call('SET', KEYS[1], cmsgpack.pack(state), 'KEEPTTL')
tell(KEYS[2], ARGV[2], { n = ARGV[1], g = state.g })
return state.g
`

/** KEYS: 1 epoch record. ARGV: 1 channel. An order to clear caches, told like the reset of nobody. Answer: its number. */
export const CLEAR = `${PRELUDE}${TELL}
tell(KEYS[1], ARGV[1], { n = '', g = now })
return now
`

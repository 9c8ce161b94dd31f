/** Counts of consumers in this instance and, as far as they can be read, in others. */
import type { TableQuota } from '../memory/table-quota.ts'
import type { QuotaStatistics, QuotaUse } from '../quota.ts'
import type { ConsumerLease } from './consumer-lease.ts'
import { BUCKETS, type Keys } from './keys.ts'
import { PRELUDE } from './lua-prelude.ts'
import { insistently, type QuotaConnection, type Script } from './quota-connection.ts'

const AT_ONCE = 32

/** Reads the state of a consumer (KEYS: 1 consumer, 2 epoch record); a script ends with {} where there is none. */
const STATE = `${PRELUDE}
local packed_record = redis.call('GET', KEYS[2])
if packed_record then now = now + (cjson.decode(packed_record).skew or 0) end
local packed = redis.call('GET', KEYS[1])
if not packed then return {} end
local state = cmsgpack.unpack(packed)
`

/**
 * KEYS: 1 consumer, 2 epoch record. ARGV: 1 instance. Response: units of all other instances and of unreported leases in the rolling
 * second and minute, and the slots that the other instances hold. State as in `leases-lua.ts`.
 */
const USE: Script = {
  name: 'quotaUse',
  keys: 2,
  lua: `${STATE}local function holding(pairs_of_units)
  local sum = 0
  for at = 1, #(pairs_of_units or {}), 2 do
    if pairs_of_units[at] > now then sum = sum + pairs_of_units[at + 1] end
  end
  return sum
end
local second, minute = holding(state.z.s), holding(state.z.m)
local slots = holding(state.e)
for id, entry in pairs(state.i) do
  if id ~= ARGV[1] then
    second = second + holding(entry.s)
    minute = minute + holding(entry.m)
    if entry.y > now then slots = slots + entry.b end
  end
end
return { second, minute, slots }
`,
}

/**
 * KEYS: 1 consumer, 2 epoch record. ARGV: 1 instance. Response: day and month counts of all other instances and of
 * unreported leases, and the limits of both. State as in `leases-lua.ts`.
 */
const STATISTICS: Script = {
  name: 'quotaStatistics',
  keys: 2,
  lua: `${STATE}local day, month = day_of(now), month_of(now)
local in_day = state.z.d == day and state.z.dn or 0
local in_month = state.z.o == month and state.z.on or 0
for id, entry in pairs(state.i) do
  if entry.g == state.g and id ~= ARGV[1] then
    if entry.d == day then in_day = in_day + entry.dn end
    if entry.o == month then in_month = in_month + entry.on end
  end
end
return { in_day, in_month, state.ld or 0, state.lm or 0 }
`,
}

interface Statistics {
  /** The consumers that any instance has seen. */
  readonly all: () => Promise<readonly QuotaStatistics[]>
  /** undefined: no instance has seen it. @param name a short one */
  readonly of: (name: string) => Promise<QuotaStatistics | undefined>
}

/**
 * Reads the counts that other instances reported and adds those of this one. While Redis is unavailable, it reads the counts of this
 * instance alone.
 */
export function statisticsOver(
  quota: TableQuota,
  connection: QuotaConnection,
  keys: Keys,
  instance: string,
): Statistics {
  const read = connection.define(STATISTICS)
  return {
    async all() {
      const local = new Map(quota.statistics().map(row => [row.key, row]))
      try {
        const names = new Set(local.keys())
        for (let bucket = 0; bucket < BUCKETS; bucket++)
          for (const name of await insistently(() => connection.zrange(keys.names(bucket), 0, -1)))
            names.add(name)
        return await forEachName([...names], async name => rowOf(name, local.get(name), await counts(name)))
      } catch {
        return [...local.values()]
      }
    },
    async of(name) {
      const own = quota.statisticsOf(name)
      try {
        const others = await counts(name)
        return own === undefined && others.length === 0 ? undefined : rowOf(name, own, others)
      } catch {
        return own
      }
    },
  }

  /** Empty for a consumer that no instance has reported. */
  async function counts(name: string): Promise<readonly number[]> {
    const epoch = keys.epoch(keys.bucketOf(name))
    const reply = await insistently(() => read(keys.consumer(name), epoch, instance))
    return reply.map(Number)
  }

  function rowOf(
    name: string,
    own: QuotaStatistics | undefined,
    [day = 0, month = 0, dayLimit = 0, monthLimit = 0]: readonly number[],
  ): QuotaStatistics {
    return {
      key: name,
      dailyCount: day + (own?.dailyCount ?? 0),
      dailyLimit: own === undefined || own.dailyLimit === 0 ? dayLimit : own.dailyLimit,
      monthlyCount: month + (own?.monthlyCount ?? 0),
      monthlyLimit: own === undefined || own.monthlyLimit === 0 ? monthLimit : own.monthlyLimit,
    }
  }
}

/** The use of consumers by all instances. While Redis is unavailable, that of this instance. */
export function useOver(
  quota: TableQuota,
  connection: QuotaConnection,
  keys: Keys,
  instance: string,
): (names: readonly string[]) => Promise<readonly QuotaUse[]> {
  const read = connection.define(USE)
  return names => forEachName(names, useOf)

  async function useOf(name: string): Promise<QuotaUse> {
    const own = quota.useOf(name)
    try {
      const epoch = keys.epoch(keys.bucketOf(name))
      const reply = await insistently(() => read(keys.consumer(name), epoch, instance))
      const [second = 0, minute = 0, slots = 0] = reply.map(Number)
      return { second: own.second + second, minute: own.minute + minute, inFlight: own.inFlight + slots }
    } catch {
      return own
    }
  }
}

/** A few requests to Redis at once, whatever the number of names. */
async function forEachName<T>(names: readonly string[], work: (name: string) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let at = 0; at < names.length; at += AT_ONCE)
    results.push(...(await Promise.all(names.slice(at, at + AT_ONCE).map(work))))
  return results
}

/** The counts known without a request: those of this process, and those of the others as of the last response for each. */
export function usageOf(
  quota: TableQuota,
  consumers: ReadonlyMap<string, ConsumerLease>,
): readonly QuotaStatistics[] {
  return quota.statistics().map(row => {
    const [, , day = 0, month = 0] = consumers.get(row.key)?.others ?? []
    return { ...row, dailyCount: row.dailyCount + day, monthlyCount: row.monthlyCount + month }
  })
}

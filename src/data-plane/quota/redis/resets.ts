/** Resets of consumers and orders to clear caches, published to instances through Redis, and the form of their messages. */

import type { Keys } from './keys.ts'
import { PRELUDE } from './lua-prelude.ts'
import { insistently, type QuotaConnection, type Script } from './quota-connection.ts'

/**
 * A reset of the consumer `n`, its generation `g`; without a name, the order to clear caches, with its number. With `by`, a
 * recall instead (`g` is 0, which versions without recalls ignore): that instance lacks units or slots that others hold
 * idle; `w` is the exhausted window, 1 second to 4 month.
 */
export interface Reset {
  readonly n: string
  readonly g: number
  readonly by?: string
  readonly w?: number
}

/**
 * Publishes a reset to all instances at once, and in the epoch record with every heartbeat of the next minute: an
 * instance that missed the message learns of it there.
 */
const PUBLISH = `
local function publish(record_key, channel, reset)
  local packed_record = redis.call('GET', record_key)
  if packed_record then
    local record = cjson.decode(packed_record)
    record.resets[#record.resets + 1] = { n = reset.n, g = reset.g, t = now }
    if #record.resets > 200 then table.remove(record.resets, 1) end
    redis.call('SET', record_key, cjson.encode(record))
  end
  redis.call('PUBLISH', channel, cjson.encode(reset))
end
`

/**
 * KEYS: 1 consumer, 2 epoch record. ARGV: 1 name, 2 channel. A reset starts a new generation: counts of an earlier one
 * are ignored, whenever they arrive. Response: the generation, 0 for an unknown consumer. State as in `leases-lua.ts`.
 */
const RESET: Script = {
  name: 'quotaReset',
  keys: 2,
  lua: `${PRELUDE}${PUBLISH}
local packed = redis.call('GET', KEYS[1])
if not packed then return 0 end
local state = cmsgpack.unpack(packed)
state.g = state.g + 1
state.z.dn, state.z.on = 0, 0
redis.call('SET', KEYS[1], cmsgpack.pack(state), 'KEEPTTL')
publish(KEYS[2], ARGV[2], { n = ARGV[1], g = state.g })
return state.g
`,
}

/** KEYS: 1 epoch record. ARGV: 1 channel. Response: the number of the order. */
const CLEAR: Script = {
  name: 'quotaClear',
  keys: 1,
  lua: `${PRELUDE}${PUBLISH}
publish(KEYS[1], ARGV[1], { n = '', g = now })
return now
`,
}

export interface Resets {
  /** @returns the new generation, 0 for a consumer that Redis does not know */
  reset(name: string): Promise<number>
  /** @returns the number of the order */
  clear(): Promise<number>
}

export function createResets(connection: QuotaConnection, keys: Keys): Resets {
  const reset = connection.define<number>(RESET)
  const clear = connection.define<number>(CLEAR)
  return {
    reset(name) {
      const epoch = keys.epoch(keys.bucketOf(name))
      return insistently(() => reset(keys.consumer(name), epoch, name, keys.channel))
    },
    clear: () => insistently(() => clear(keys.epoch(0), keys.channel)),
  }
}

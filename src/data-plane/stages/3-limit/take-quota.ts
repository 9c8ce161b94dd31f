/** Takes quota for operations that consume it, or refuses them, and names the quota counters of callers. `quota/` counts the units. */

import { passOn } from '../../../base/and-then.ts'
import { oncePer } from '../../../base/once-per.ts'
import type { Principal } from '../../../model/principal.ts'
import type { Refusal } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Peer } from '../../pipeline/exchange-parts.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { counterKey } from '../../quota/counter-key.ts'
import type { Quota, QuotaGrant, QuotaKey, QuotaRefusal, QuotaRequest } from '../../quota/quota.ts'
import type { CompiledApi, CompiledTool, Entitlement } from '../../snapshot/snapshot.ts'
import { apiOf, countedName, entitlementOf } from '../shared/entitlement.ts'
import { quotaRefusal } from '../shared/quota-refusal.ts'

/** Lists, discovery, initialize and ping consume nothing (docs/reference/http.md, Quotas per consumer). */
export function consumes(exchange: Exchange): boolean {
  return isCall(exchange.operation) || exchange.operation.action === 'proxy'
}

/** The counter of a caller. */
export function quotaKeyOf(principal: Principal, entitlement: Entitlement): string {
  const name = countedName(principal, entitlement)
  return counterKey(principal.tenant ?? '', name, entitlement.counter)
}

/** @param clientNetwork of the client that sent a request, through the trusted proxies or directly */
export function takeQuota(quota: Quota, clientNetwork: (peer: Peer) => string): Stage {
  // prepared once per cached principal and per tool of a snapshot: hashing a name costs more than the decision
  const keysOf = oncePer((_: Principal) => new Map<string, QuotaKey>())
  const toolKey = oncePer(({ tool }: CompiledTool) => quota.key(tool.name))
  /** A bucket with an hour's requests, shared by the proxied address and the tools of an API. */
  const apiBucket = oncePer(({ id, requestsPerHour = 0 }: CompiledApi) => ({
    key: quota.key(id),
    rateLimit: { requestsPerMinute: requestsPerHour / 60, burst: requestsPerHour },
  }))

  function consumerKey(principal: Principal, entitlement: Entitlement): QuotaKey {
    const keys = keysOf(principal)
    const name = entitlement.per ?? entitlement.counter ?? ''
    const known = keys.get(name)
    if (known !== undefined) return known
    const key = quota.key(quotaKeyOf(principal, entitlement))
    keys.set(name, key)
    return key
  }

  /** The tool's own rate, else that of the API it belongs to. */
  function bucketOf(exchange: Exchange): QuotaRequest['tool'] {
    const rateLimit = exchange.tool?.tool.rateLimit
    if (rateLimit !== undefined) return { key: toolKey(exchange.tool!), rateLimit }
    const api = apiOf(exchange)
    return api?.requestsPerHour === undefined ? undefined : apiBucket(api)
  }

  function accept(exchange: Exchange, taken: QuotaGrant | QuotaRefusal): Outcome {
    if (!taken.granted) return refusalOf(exchange, taken)
    exchange.quota = taken
    return undefined
  }
  return {
    id: 'take-quota',
    phase: 'limit',
    run(exchange) {
      if (!consumes(exchange)) return undefined
      const principal = exchange.principal!
      const tool = bucketOf(exchange)
      const nowMs = exchange.receivedAtMs
      let request: QuotaRequest
      if (principal.kind === 'anonymous') {
        // a public API has no consumer to count for; its limit applies to the network of each client
        if (tool === undefined) return undefined
        request = {
          key: counterKey('', `anonymous@${clientNetwork(exchange.peer)}`),
          limits: {},
          nowMs,
          tool,
        }
      } else {
        const entitlement = entitlementOf(exchange, principal)
        const { limits } = entitlement
        const key = consumerKey(principal, entitlement)
        request = tool === undefined ? { key, limits, nowMs } : { key, limits, nowMs, tool }
      }
      return passOn(accept, exchange, quota.take(request))
    },
  }
}

/** An API's hourly limit is counted like the rate of a tool; the message names it as the API's. */
function refusalOf(exchange: Exchange, taken: QuotaRefusal): Refusal {
  const perHour = apiOf(exchange)?.requestsPerHour
  const ofApi = taken.kind === 'tool' && exchange.tool?.tool.rateLimit === undefined && perHour !== undefined
  if (!ofApi || taken.cause !== undefined) return quotaRefusal(taken)
  return quotaRefusal(taken, `Hourly limit of ${perHour} requests to this API exceeded.`)
}

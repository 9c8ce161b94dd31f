/** Takes one unit of the caller's quota for a tool call or proxied call, or refuses. It does not know what the call does. */
import type { Principal } from '../../../model/principal.ts'
import { type Refusal, refuse } from '../../../shared/call/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { LimitKind, Quota, QuotaGrant, QuotaKey, QuotaRefusal, QuotaRequest } from '../../quota/quota.ts'
import type { CompiledApi, CompiledTool, Entitlement } from '../../snapshot/snapshot.ts'

/** Lists, discovery, initialize and ping consume nothing (contract §4). */
function consumes(exchange: Exchange): boolean {
  return exchange.operation.action === 'tools.call' || exchange.operation.action === 'proxy'
}

/** One counter per tenant and consumer, and per subscription where one applies (contract §4). */
export function quotaKey(
  tenant: string | undefined,
  consumer: string,
  subscriptionId: string | undefined,
): string {
  return subscriptionId === undefined
    ? `${tenant ?? ''}/${consumer}`
    : `${tenant ?? ''}/${consumer}/${subscriptionId}`
}

export function takeQuota(quota: Quota): Stage {
  // prepared once per remembered credential and per tool of a snapshot: hashing a name is dearer than deciding
  const consumerKeys = new WeakMap<Principal, Map<string, QuotaKey>>()
  const toolKeys = new WeakMap<CompiledTool, QuotaKey>()
  const apiBuckets = new WeakMap<CompiledApi, NonNullable<QuotaRequest['tool']>>()

  function consumerKey(principal: Principal, subscriptionId: string | undefined): QuotaKey {
    let keys = consumerKeys.get(principal)
    if (keys === undefined) {
      keys = new Map()
      consumerKeys.set(principal, keys)
    }
    const known = keys.get(subscriptionId ?? '')
    if (known !== undefined) return known
    const key = quota.key(quotaKey(principal.tenant, principal.consumer, subscriptionId))
    keys.set(subscriptionId ?? '', key)
    return key
  }

  function toolKey(entry: CompiledTool): QuotaKey {
    let key = toolKeys.get(entry)
    if (key === undefined) {
      key = quota.key(entry.tool.name)
      toolKeys.set(entry, key)
    }
    return key
  }

  /** A bucket that holds an hour's requests; the proxied address and the tools of an API draw from the same. */
  function apiBucket(api: CompiledApi, requestsPerHour: number): NonNullable<QuotaRequest['tool']> {
    const known = apiBuckets.get(api)
    if (known !== undefined) return known
    const rateLimit = { requestsPerMinute: requestsPerHour / 60, burst: requestsPerHour }
    const bucket = { key: quota.key(api.id), rateLimit }
    apiBuckets.set(api, bucket)
    return bucket
  }

  /** The tool's own rate, else that of the API it belongs to. */
  function bucketOf(exchange: Exchange): QuotaRequest['tool'] {
    const rateLimit = exchange.tool?.tool.rateLimit
    if (rateLimit !== undefined) return { key: toolKey(exchange.tool!), rateLimit }
    const api = apiOf(exchange)
    return api?.requestsPerHour === undefined ? undefined : apiBucket(api, api.requestsPerHour)
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
        // an API open to anybody has no consumer to count for; its own limit holds for each address
        if (tool === undefined) return undefined
        request = {
          key: quotaKey(undefined, `anonymous@${exchange.peer.peerAddress}`, undefined),
          limits: {},
          nowMs,
          tool,
        }
      } else {
        const { limits, subscriptionId } = entitlementOf(exchange, principal)
        const key = consumerKey(principal, subscriptionId)
        request = tool === undefined ? { key, limits, nowMs } : { key, limits, nowMs, tool }
      }
      const taken = quota.take(request)
      return taken instanceof Promise ? taken.then(value => accept(exchange, value)) : accept(exchange, taken)
    },
  }
}

/**
 * The subscription to the API that a tool or path belongs to decides, else the consumer's own plan (contract §4). Several stages ask;
 * the answer stays, so none may ask before the tool is known.
 */
export function entitlementOf(exchange: Exchange, principal: Principal): Entitlement {
  if (exchange.entitlement === undefined) exchange.entitlement = foundEntitlement(exchange, principal)
  return exchange.entitlement
}

function foundEntitlement(exchange: Exchange, principal: Principal): Entitlement {
  const { operation } = exchange
  const apiId = operation.action === 'proxy' ? operation.api.id : exchange.tool?.tool.apiId
  return exchange.snapshot.entitlementOf(principal, apiId, exchange.receivedAtMs)
}

/** The API that a proxied path or a tool belongs to. */
function apiOf({ operation, tool, snapshot }: Exchange): CompiledApi | undefined {
  if (operation.action === 'proxy') return operation.api
  return tool?.tool.apiId === undefined ? undefined : snapshot.apiOf(tool.tool.apiId)
}

/** The hourly limit of an API is kept as the rate of a tool is; to its callers it is told as what it is. */
function refusalOf(exchange: Exchange, taken: QuotaRefusal): Refusal {
  const perHour = apiOf(exchange)?.requestsPerHour
  const ofApi = taken.kind === 'tool' && exchange.tool?.tool.rateLimit === undefined && perHour !== undefined
  if (!ofApi || taken.cause !== undefined) return quotaRefusal(taken)
  return quotaRefusal(taken, `Hourly limit of ${perHour} requests to this API exceeded.`)
}

/** The specification's messages: they name the limit that was exceeded, daily and monthly ones with used/limit. */
const MESSAGES: Readonly<Record<LimitKind, (used: number, limit: number) => string>> = {
  second: (_, limit) => `Per-second limit of ${limit} requests exceeded.`,
  minute: (_, limit) => `Per-minute limit of ${limit} requests exceeded.`,
  day: (used, limit) => `Daily quota exceeded: ${used}/${limit} requests used. It resets at 00:00 UTC.`,
  month: (used, limit) =>
    `Monthly quota exceeded: ${used}/${limit} requests used. It resets on the 1st of the month at 00:00 UTC.`,
  burst: (_, limit) => `Burst limit of ${limit} concurrent requests exceeded.`,
  tool: (_, limit) => `Rate limit of this tool exceeded: ${limit} requests per minute.`,
}

/** Nothing was over a limit, but nothing could be counted either: fail closed, and say so. */
const CAUSES: Readonly<Record<NonNullable<QuotaRefusal['cause']>, string>> = {
  table_full: 'The limits of this consumer cannot be counted: too many consumers are active at once.',
  busy: 'The limits of this consumer cannot be counted at the moment.',
  store_unavailable: 'The limits of this consumer cannot be counted: the quota store is away.',
}

export function quotaRefusal(taken: QuotaRefusal, message?: string): Refusal {
  const calendar = taken.kind === 'day' || taken.kind === 'month'
  const { limit, remaining, resetAtSecs } = taken.standing
  return refuse('quota_exceeded', {
    message:
      message ??
      (taken.cause === undefined ? MESSAGES[taken.kind](taken.used, taken.limit) : CAUSES[taken.cause]),
    retryAfterSecs: taken.retryAfterSecs,
    retryAfterSecsInBody: calendar ? null : taken.retryAfterSecs,
    headers: {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(resetAtSecs),
    },
  })
}

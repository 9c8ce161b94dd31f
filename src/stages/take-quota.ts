/** Takes one unit of the caller's quota for a tool call or proxied call, or refuses. It does not know what the call does. */
import type { Exchange } from '../pipeline/exchange.ts'
import { type Refusal, refuse } from '../pipeline/refusal.ts'
import type { Outcome, Stage } from '../pipeline/stage.ts'
import type { LimitKind, Quota, QuotaGrant, QuotaRefusal } from '../quota/quota.ts'

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
  function accept(exchange: Exchange, taken: QuotaGrant | QuotaRefusal): Outcome {
    if (!taken.granted) return quotaRefusal(taken)
    exchange.quota = taken
    return undefined
  }
  return {
    id: 'take-quota',
    phase: 'limit',
    run(exchange) {
      if (!consumes(exchange)) return undefined
      const principal = exchange.principal!
      const tool = exchange.tool?.tool
      const { limits } = exchange.snapshot.limitsOf(principal, tool?.apiId)
      const key = quotaKey(principal.tenant, principal.consumer, principal.subscriptionId)
      const taken = quota.take({
        key,
        limits,
        nowMs: exchange.receivedAtMs,
        ...(tool?.rateLimit === undefined
          ? undefined
          : { tool: { key: `${key}/${tool.name}`, rateLimit: tool.rateLimit } }),
      })
      return taken instanceof Promise ? taken.then(value => accept(exchange, value)) : accept(exchange, taken)
    },
  }
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

export function quotaRefusal(taken: QuotaRefusal): Refusal {
  const calendar = taken.kind === 'day' || taken.kind === 'month'
  const { limit, remaining, resetAtSecs } = taken.standing
  return refuse('quota_exceeded', {
    message: MESSAGES[taken.kind](taken.used, taken.limit),
    retryAfterSecs: taken.retryAfterSecs,
    retryAfterSecsInBody: calendar ? null : taken.retryAfterSecs,
    headers: {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(resetAtSecs),
    },
  })
}

/** The refusal of a call that is over a limit, or that could not be counted. */
import { rateLimitFields } from '../../../model/rate-limit-headers.ts'
import { type Refusal, refuse } from '../../../model/refusal.ts'
import type { LimitKind, QuotaRefusal } from '../../quota/quota.ts'

/** The messages of docs/reference/http.md, Quotas per consumer: they name the limit that was exceeded, daily and monthly ones with used/limit. */
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
  table_full:
    'The calls of this consumer cannot be counted because too many consumers are active at once, so the call was refused. Retry later.',
  busy: 'The calls of this consumer cannot be counted because the quota counters are busy, so the call was refused. Retry later.',
  store_unavailable:
    'The calls of this consumer cannot be counted because the quota store is unavailable, so the call was refused. Retry later.',
}

export function quotaRefusal(taken: QuotaRefusal, message?: string): Refusal {
  const calendar = taken.kind === 'day' || taken.kind === 'month'
  return refuse('quota_exceeded', {
    message:
      message ??
      (taken.cause === undefined ? MESSAGES[taken.kind](taken.used, taken.limit) : CAUSES[taken.cause]),
    retryAfterSecs: taken.retryAfterSecs,
    retryAfterSecsInBody: calendar ? null : taken.retryAfterSecs,
    headers: rateLimitFields(taken.standing),
  })
}

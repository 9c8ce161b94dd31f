/** The headers that say to callers what is left of their limit. */

/** In the form that CORS exposes to browsers. */
export const RATE_LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

const LIMIT = 'x-ratelimit-limit'
const REMAINING = 'x-ratelimit-remaining'
const RESET = 'x-ratelimit-reset'

interface RateLimitStanding {
  readonly limit: number
  readonly remaining: number
  /** Unix time in seconds. */
  readonly resetAtSecs: number
}

/** Names and values, one after the other, in a list of the right size: one that grows costs 100 B of each call. @param name of one further header */
export function rateLimitHeaders(
  { limit, remaining, resetAtSecs }: RateLimitStanding,
  name?: string,
  value = '',
): string[] {
  return name === undefined
    ? [LIMIT, String(limit), REMAINING, String(remaining), RESET, String(resetAtSecs)]
    : [LIMIT, String(limit), REMAINING, String(remaining), RESET, String(resetAtSecs), name, value]
}

/** @returns name → value */
export function rateLimitFields({ limit, remaining, resetAtSecs }: RateLimitStanding) {
  return { [LIMIT]: String(limit), [REMAINING]: String(remaining), [RESET]: String(resetAtSecs) }
}

/** The headers that say to callers what is left of their limit. */

/** As browsers are told to expose them. */
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

/** @returns names and values, one after the other */
export function rateLimitHeaders({ limit, remaining, resetAtSecs }: RateLimitStanding): string[] {
  return [LIMIT, String(limit), REMAINING, String(remaining), RESET, String(resetAtSecs)]
}

/** @returns name → value */
export function rateLimitFields({ limit, remaining, resetAtSecs }: RateLimitStanding) {
  return { [LIMIT]: String(limit), [REMAINING]: String(remaining), [RESET]: String(resetAtSecs) }
}

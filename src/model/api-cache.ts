/** The rule of an API for caching responses of its upstream, and limits of the rule. */

export const CACHE_SCOPES = ['caller', 'public'] as const

export interface CacheRule {
  /** `caller`: a response is used again for the caller that received it only; `public`: for every caller. */
  readonly scope: (typeof CACHE_SCOPES)[number]
  /** Of responses that name no time; null: the upstream is asked each time. */
  readonly defaultSecs: number | null
  /** No response is used for longer without asking the upstream. */
  readonly maxSecs: number
  /** Longer responses are not kept. */
  readonly maxResponseBytes: number
}

export const MAX_CACHE_SECS = 86_400
export const MAX_CACHED_RESPONSE_BYTES = 1024 * 1024

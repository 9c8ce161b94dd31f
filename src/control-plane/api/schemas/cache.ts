/** Schema of the cache rule of an API, and its conversion. */
import {
  CACHE_SCOPES,
  type CacheRule,
  MAX_CACHE_SECS,
  MAX_CACHED_RESPONSE_BYTES,
} from '../../../model/api-cache.ts'
import { count, isWithin, word } from './fields.ts'
import { z } from './zod.ts'

export const cache = z
  .strictObject({
    scope: word(CACHE_SCOPES).default('caller').openapi({
      description:
        '`caller`: the gateway reuses a response only for the caller that received it. `public`: the gateway reuses a response for every caller, if the upstream allows shared caching.',
    }),
    default_age_secs: count(1, MAX_CACHE_SECS).nullable().default(null).openapi({
      description:
        'Freshness lifetime of a response whose headers set no lifetime; null: such a response is never fresh.',
    }),
    max_age_secs: count(1, MAX_CACHE_SECS)
      .default(3600)
      .openapi({ description: 'Maximum freshness lifetime of a cached response.' }),
    max_response_bytes: count(0, MAX_CACHED_RESPONSE_BYTES).default(262_144).openapi({
      description: 'Maximum size of the body of a cached response; larger responses are not cached.',
    }),
  })
  .refine(rule => rule.default_age_secs === null || isWithin(rule.default_age_secs, rule.max_age_secs, 1), {
    path: ['default_age_secs'],
    message: 'must be at most max_age_secs.',
  })
  .openapi('Cache', { description: 'The gateway caches responses to GET requests (RFC 9111).' })

export function cacheFields(body: z.output<typeof cache>): CacheRule {
  return {
    scope: body.scope,
    defaultSecs: body.default_age_secs,
    maxSecs: body.max_age_secs,
    maxResponseBytes: body.max_response_bytes,
  }
}

export function shownCache(rule: CacheRule) {
  return {
    scope: rule.scope,
    default_age_secs: rule.defaultSecs,
    max_age_secs: rule.maxSecs,
    max_response_bytes: rule.maxResponseBytes,
  }
}

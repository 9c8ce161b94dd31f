/** The rule of an API for caching responses of its upstream. */
import { count, isWithin, word } from './fields.ts'
import type { ServedOf } from './served.ts'
import { z } from './zod.ts'

const MAX_CACHE_SECS = 86_400

export const cache = z
  .strictObject({
    scope: word(['caller', 'public']).default('caller').openapi({
      'x-label': 'Scope',
      description:
        '`caller`: the gateway reuses a response only for the caller that received it. `public`: the gateway reuses a response for every caller whose request would be the same at the upstream, if the upstream allows shared caching; the upstream gets neither the address of the client nor its User-Agent, Referer and Sec-* headers.',
    }),
    default_age_secs: count(1, MAX_CACHE_SECS).nullable().default(null).openapi({
      'x-label': 'Default freshness lifetime in seconds',
      description:
        'Freshness lifetime of a response whose headers set no lifetime; null: such a response is never fresh.',
    }),
    max_age_secs: count(1, MAX_CACHE_SECS).default(3600).openapi({
      'x-label': 'Maximum freshness lifetime in seconds',
      description: 'Maximum freshness lifetime of a cached response.',
    }),
    max_response_bytes: count(0, 1024 * 1024)
      .default(262_144)
      .openapi({
        'x-label': 'Maximum response size in bytes',
        description: 'Maximum size of the body of a cached response; larger responses are not cached.',
      }),
  })
  .refine(rule => rule.default_age_secs === null || isWithin(rule.default_age_secs, rule.max_age_secs, 1), {
    path: ['default_age_secs'],
    message: 'must be at most max_age_secs.',
  })
  .openapi('Cache', {
    'x-label': 'Cache',
    description:
      'The gateway caches responses to GET requests (RFC 9111). null: the gateway caches no response.',
  })

export type CacheRule = ServedOf<typeof cache>

/** CORS of the control plane: the configured lists, extended by the methods and headers that its API needs. */

import type { MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { RATE_LIMIT_HEADERS } from '../../../model/rate-limit-headers.ts'
import type { ApiCorsOptions } from '../options.ts'

/** A page may use these only when a response names them (Fetch, "CORS protocol"), and the API cannot be used fully without them. */
const METHODS = ['PATCH']
const REQUEST_HEADERS = ['Authorization', 'Content-Type', 'X-Tenant-ID', 'Idempotency-Key', 'If-Match']
const RESPONSE_HEADERS = [
  'ETag',
  'Location',
  ...RATE_LIMIT_HEADERS,
  'Retry-After',
  'X-Request-ID',
  'Idempotency-Replayed',
]

export function corsOf(options: ApiCorsOptions): MiddlewareHandler {
  return cors({
    origin: options.origins.includes('*')
      ? '*'
      : origin => (options.origins.includes(origin) ? origin : null),
    allowMethods: union(options.methods, METHODS),
    allowHeaders: union(options.allowHeaders, REQUEST_HEADERS),
    exposeHeaders: union(options.exposeHeaders, RESPONSE_HEADERS),
    maxAge: options.maxAgeSecs,
  })
}

function union(configured: readonly string[], always: readonly string[]): string[] {
  const known = new Set(configured.map(name => name.toLowerCase()))
  return [...configured, ...always.filter(name => !known.has(name.toLowerCase()))]
}

/** The rules of an API for its calls. */
import {
  ALLOWABLE_RESPONSE_HEADERS,
  isNeverReturned,
  isWithheldFromUpstream,
  NEVER_FORWARDED,
} from '../passthrough.ts'
import { cache } from './cache.ts'
import { cors } from './cors.ts'
import { count, headerName, methods, shaped } from './fields.ts'
import type { ServedOf } from './served.ts'
import { mirror, upstreams } from './upstream-addresses.ts'
import { circuitBreaker, connections, retry } from './upstream-rules.ts'
import { z } from './zod.ts'

const MAX_RULES = 32

/** Headers that describe the body, which the gateway handles. */
const OF_THE_BODY: ReadonlySet<string> = new Set(['content-length', 'content-encoding'])

/** True for a header of requests that an API may set. @param name in lower case */
function maySetRequestHeader(name: string): boolean {
  return !NEVER_FORWARDED.has(name) && !isWithheldFromUpstream(name) && !OF_THE_BODY.has(name)
}

/** True for a header of responses that an API may set. @param name in lower case */
function maySetResponseHeader(name: string): boolean {
  const isWithheld = (ALLOWABLE_RESPONSE_HEADERS as readonly string[]).includes(name)
  return !isNeverReturned(name) && !isWithheld && !OF_THE_BODY.has(name)
}

/** @param mayChange says which names an API may set and remove */
function headerRules(label: string, mayChange: (name: string) => boolean) {
  const name = headerName().refine(
    mayChange,
    'must be a header that the gateway does not set, change or remove.',
  )
  const value = shaped(/^[\x20-\x7e]*$/, 1000, 'must be printable ASCII.')
  return z
    .strictObject({
      set: z
        .record(name, value)
        .refine(values => Object.keys(values).length <= MAX_RULES, `must have at most ${MAX_RULES} headers.`)
        .default({})
        .openapi({
          'x-label': 'Set',
          type: 'object',
          additionalProperties: { type: 'string' },
          description:
            'Header names in lower case, with their values. Every caller who may read the API sees the values.',
        }),
      remove: z
        .array(name)
        .max(MAX_RULES, `must have at most ${MAX_RULES} headers.`)
        .default([])
        .openapi({ 'x-label': 'Remove', description: 'Names of headers that the gateway removes.' }),
    })
    .default({ set: {}, remove: [] })
    .openapi({ 'x-label': label })
}

export const traffic = z
  .strictObject({
    methods: methods().nullable().default(null).openapi({
      'x-label': 'Methods',
      description:
        'Allowed methods; requests with other methods get 405. GET includes HEAD. null: every method.',
    }),
    max_request_bytes: count(0).nullable().default(null).openapi({
      'x-label': 'Maximum body size in bytes',
      description: 'Maximum size of a request body; requests with larger bodies get 413. null: any size.',
    }),
    timeout_ms: count(100, 300_000).nullable().default(null).openapi({
      'x-label': 'Timeout in ms',
      description:
        'Maximum time from the start of the call to the last byte of the response, including all attempts. Also applies to tool calls. null: the timeout of the gateway applies.',
    }),
    request_headers: headerRules('Request headers', maySetRequestHeader),
    response_headers: headerRules('Response headers', maySetResponseHeader),
    retry: retry.nullable().default(null),
    circuit_breaker: circuitBreaker.nullable().default(null),
    cors: cors.nullable().default(null),
    cache: cache.nullable().default(null),
    upstreams: upstreams.nullable().default(null),
    mirror: mirror.nullable().default(null),
    connections: connections.nullable().default(null),
  })
  .openapi('Traffic', { 'x-label': 'Requests', description: 'Rules for calls to the API. null: no rules.' })

export type Traffic = ServedOf<typeof traffic>
export type HeaderRules = Traffic['requestHeaders']

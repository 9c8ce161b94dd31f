/** Schema of the rules of an API for its calls, and their conversion. */
import {
  type HeaderRules,
  MAX_TIMEOUT_MS,
  MIN_TIMEOUT_MS,
  maySetRequestHeader,
  maySetResponseHeader,
  TRAFFIC_METHODS,
  type Traffic,
} from '../../../model/traffic.ts'
import { cache, cacheFields, shownCache } from './cache.ts'
import { cors, corsFields, shownCors } from './cors.ts'
import { count, shaped, word } from './fields.ts'
import {
  addressesFields,
  mirror,
  mirrorFields,
  shownAddresses,
  shownMirror,
  upstreams,
} from './upstream-addresses.ts'
import {
  circuitBreaker,
  circuitFields,
  connections,
  retry,
  retryFields,
  shownCircuit,
  shownConnections,
  shownRetry,
} from './upstream-rules.ts'
import { z } from './zod.ts'

const MAX_RULES = 32

/** @param mayChange says which names an API may set and remove */
function headerRules(mayChange: (name: string) => boolean) {
  const name = shaped(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 100, 'must be a header name in lower case.').refine(
    mayChange,
    'must be a header that the gateway does not set, change or remove.',
  )
  const value = shaped(/^[\x20-\x7e]*$/, 1000, 'must be printable ASCII.')
  return z.strictObject({
    set: z
      .record(name, value)
      .refine(values => Object.keys(values).length <= MAX_RULES, `must have at most ${MAX_RULES} headers.`)
      .default({})
      .openapi({
        type: 'object',
        additionalProperties: { type: 'string' },
        description:
          'Header names in lower case, with their values. Every caller who may read the API sees the values.',
      }),
    remove: z.array(name).max(MAX_RULES, `must have at most ${MAX_RULES} headers.`).default([]),
  })
}

export const traffic = z
  .strictObject({
    methods: z
      .array(word(TRAFFIC_METHODS))
      .min(1, 'must have at least one method.')
      .nullable()
      .default(null)
      .openapi({
        description:
          'Allowed methods; requests with other methods get 405. GET includes HEAD. null: every method.',
      }),
    max_request_bytes: count(0).nullable().default(null).openapi({
      description: 'Maximum size of a request body; requests with larger bodies get 413.',
    }),
    timeout_ms: count(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS).nullable().default(null).openapi({
      description:
        'Maximum time from the start of the call to the last byte of the response, including all attempts. Also applies to tool calls.',
    }),
    request_headers: headerRules(maySetRequestHeader).default({ set: {}, remove: [] }),
    response_headers: headerRules(maySetResponseHeader).default({ set: {}, remove: [] }),
    retry: retry.nullable().default(null),
    circuit_breaker: circuitBreaker.nullable().default(null),
    cors: cors.nullable().default(null),
    cache: cache.nullable().default(null),
    upstreams: upstreams.nullable().default(null),
    mirror: mirror.nullable().default(null),
    connections: connections.nullable().default(null),
  })
  .openapi('Traffic', { description: 'Rules for calls to the API.' })

export function trafficFields(body: z.output<typeof traffic>): Traffic {
  return {
    methods: body.methods,
    maxRequestBytes: body.max_request_bytes,
    timeoutMs: body.timeout_ms,
    requestHeaders: body.request_headers,
    responseHeaders: body.response_headers,
    retry: body.retry && retryFields(body.retry),
    circuitBreaker: body.circuit_breaker && circuitFields(body.circuit_breaker),
    cors: body.cors && corsFields(body.cors),
    cache: body.cache && cacheFields(body.cache),
    upstreams: body.upstreams && addressesFields(body.upstreams),
    mirror: body.mirror && mirrorFields(body.mirror),
    connections: body.connections,
  }
}

export function shownTraffic(rules: Traffic) {
  const shown = ({ set, remove }: HeaderRules) => ({ set: { ...set }, remove: [...remove] })
  return {
    methods: rules.methods === null ? null : [...rules.methods],
    max_request_bytes: rules.maxRequestBytes,
    timeout_ms: rules.timeoutMs,
    request_headers: shown(rules.requestHeaders),
    response_headers: shown(rules.responseHeaders),
    // absent from rules that were stored by an older version
    retry: rules.retry ? shownRetry(rules.retry) : null,
    circuit_breaker: rules.circuitBreaker ? shownCircuit(rules.circuitBreaker) : null,
    cors: rules.cors ? shownCors(rules.cors) : null,
    cache: rules.cache ? shownCache(rules.cache) : null,
    upstreams: rules.upstreams ? shownAddresses(rules.upstreams) : null,
    mirror: rules.mirror ? shownMirror(rules.mirror) : null,
    connections: rules.connections ? shownConnections(rules.connections) : null,
  }
}

/** The rules of an API for calls of its upstream: retries, circuit breaker and connections. */
import { count, isWithin, methods } from './fields.ts'
import type { ServedOf } from './served.ts'
import { z } from './zod.ts'

const RETRY_STATUSES: readonly number[] = [408, 425, 429, 500, 502, 503, 504]
const MAX_STATUSES = 16
const MAX_RETRY_DELAY_MS = 30_000
const MIN_OPEN_MS = 100
const MAX_OPEN_MS = 600_000

function statuses(status: z.ZodType<number>) {
  return z
    .array(status)
    .max(MAX_STATUSES, `must have at most ${MAX_STATUSES} statuses.`)
    .default([])
    .openapi({ 'x-label': 'Statuses' })
}

export const retry = z
  .strictObject({
    max_attempts: count(2, 5).default(2).openapi({
      'x-label': 'Maximum attempts',
      description: 'Maximum number of attempts, including the first.',
    }),
    statuses: statuses(
      count(100, 599).refine(
        status => RETRY_STATUSES.includes(status),
        `must be one of ${RETRY_STATUSES.join(', ')}.`,
      ),
    ).openapi({
      description:
        'Response statuses after which the gateway retries. The gateway also retries after failed connections.',
      example: [502, 503],
    }),
    methods: methods().nullable().default(null).openapi({
      'x-label': 'Methods',
      description: 'Methods that the gateway retries; null: GET, OPTIONS, PUT and DELETE. GET includes HEAD.',
    }),
    first_delay_ms: count(1, MAX_RETRY_DELAY_MS).default(50).openapi({
      'x-label': 'First delay in ms',
      description:
        'Delay before the first retry. Each further retry doubles the delay, up to max_delay_ms. The gateway then subtracts a random part of up to half of the delay.',
    }),
    max_delay_ms: count(1, MAX_RETRY_DELAY_MS)
      .default(1000)
      .openapi({ 'x-label': 'Maximum delay in ms', description: 'Maximum delay before a retry.' }),
    budget_percent: count(1, 100).default(20).openapi({
      'x-label': 'Budget in percent',
      description:
        'Maximum number of retries per hundred calls to the API, in addition to a reserve of ten retries. Each worker thread counts separately.',
    }),
  })
  .refine(rule => isWithin(rule.first_delay_ms, rule.max_delay_ms, 1), {
    path: ['first_delay_ms'],
    message: 'must be at most max_delay_ms.',
  })
  .openapi('Retry', {
    'x-label': 'Retries',
    description:
      'Retries of calls to the upstream; timeout_ms covers all attempts. null: the gateway retries no call.',
  })

export type RetryRule = ServedOf<typeof retry>

export const circuitBreaker = z
  .strictObject({
    opens_after: count(1, 1000).default(5).openapi({
      'x-label': 'Failures that open the circuit',
      description: 'Number of failures in a row after which the circuit opens.',
    }),
    open_ms: count(MIN_OPEN_MS, MAX_OPEN_MS).default(1000).openapi({
      'x-label': 'Initial open time in ms',
      description: 'Time for which the circuit stays open before the first probe.',
    }),
    max_open_ms: count(MIN_OPEN_MS, MAX_OPEN_MS).default(2000).openapi({
      'x-label': 'Maximum open time in ms',
      description: 'Each failed probe doubles the time for which the circuit is open, up to this value.',
    }),
    statuses: statuses(count(400, 599)).openapi({
      description:
        'Response statuses that count as failures. Failed connections and timeouts also count as failures.',
      example: [500, 503],
    }),
  })
  .refine(rule => isWithin(rule.open_ms, rule.max_open_ms, MIN_OPEN_MS), {
    path: ['open_ms'],
    message: 'must be at most max_open_ms.',
  })
  .openapi('CircuitBreaker', {
    'x-label': 'Circuit breaker',
    description:
      'After opens_after failures in a row, the gateway refuses calls for open_ms. null: the circuit breaker of the gateway applies.',
  })

export type CircuitRule = ServedOf<typeof circuitBreaker>

export const connections = z
  .strictObject({
    http2: z.boolean('must be true or false.').default(false).openapi({
      'x-label': 'HTTP/2',
      description: 'true: use HTTP/2, by ALPN for https and with prior knowledge for http.',
    }),
  })
  .openapi('UpstreamConnections', {
    'x-label': 'Connections',
    description:
      'How calls share connections to the upstream. null: one HTTP/1.1 request in flight on each connection.',
  })

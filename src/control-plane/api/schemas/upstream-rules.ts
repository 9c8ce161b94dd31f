/** Schemas of the rules of an API for its upstream: retries, circuit breaker, connections; and their conversion. */
import { TRAFFIC_METHODS } from '../../../model/traffic.ts'
import {
  type CircuitRule,
  MAX_ATTEMPTS,
  MAX_OPEN_MS,
  MAX_OPENS_AFTER,
  MAX_RETRY_DELAY_MS,
  MIN_OPEN_MS,
  RETRY_STATUSES,
  type RetryRule,
} from '../../../model/upstream-rules.ts'
import type { UpstreamTransport } from '../../../model/upstream-transport.ts'
import { count, isWithin, word } from './fields.ts'
import { z } from './zod.ts'

const MAX_STATUSES = 16

export const retry = z
  .strictObject({
    max_attempts: count(2, MAX_ATTEMPTS).default(2).openapi({
      description: 'Maximum number of attempts, including the first.',
    }),
    statuses: z
      .array(
        count(100, 599).refine(
          status => (RETRY_STATUSES as readonly number[]).includes(status),
          `must be one of ${RETRY_STATUSES.join(', ')}.`,
        ),
      )
      .max(MAX_STATUSES, `must have at most ${MAX_STATUSES} statuses.`)
      .default([])
      .openapi({
        description:
          'Response statuses after which the gateway retries. The gateway also retries after failed connections.',
        example: [502, 503],
      }),
    methods: z
      .array(word(TRAFFIC_METHODS))
      .min(1, 'must have at least one method.')
      .nullable()
      .default(null)
      .openapi({
        description:
          'Methods that the gateway retries; null: GET, OPTIONS, PUT and DELETE. GET includes HEAD.',
      }),
    first_delay_ms: count(1, MAX_RETRY_DELAY_MS).default(50).openapi({
      description:
        'Delay before the first retry. Each further retry doubles the delay, up to max_delay_ms. The gateway then subtracts a random part of up to half of the delay.',
    }),
    max_delay_ms: count(1, MAX_RETRY_DELAY_MS).default(1000),
    budget_percent: count(1, 100).default(20).openapi({
      description:
        'Maximum number of retries per hundred calls to the API, in addition to a reserve of ten retries. Each worker thread counts separately.',
    }),
  })
  .refine(rule => isWithin(rule.first_delay_ms, rule.max_delay_ms, 1), {
    path: ['first_delay_ms'],
    message: 'must be at most max_delay_ms.',
  })
  .openapi('Retry', { description: 'Retries of calls to the upstream; timeout_ms covers all attempts.' })

export function retryFields(body: z.output<typeof retry>): RetryRule {
  return {
    maxAttempts: body.max_attempts,
    statuses: body.statuses,
    methods: body.methods,
    firstDelayMs: body.first_delay_ms,
    maxDelayMs: body.max_delay_ms,
    budgetPercent: body.budget_percent,
  }
}

export function shownRetry(rule: RetryRule) {
  return {
    max_attempts: rule.maxAttempts,
    statuses: [...rule.statuses],
    methods: rule.methods === null ? null : [...rule.methods],
    first_delay_ms: rule.firstDelayMs,
    max_delay_ms: rule.maxDelayMs,
    budget_percent: rule.budgetPercent,
  }
}

export const circuitBreaker = z
  .strictObject({
    opens_after: count(1, MAX_OPENS_AFTER).default(5).openapi({
      description: 'Number of failures in a row after which the circuit opens.',
    }),
    open_ms: count(MIN_OPEN_MS, MAX_OPEN_MS).default(1000),
    max_open_ms: count(MIN_OPEN_MS, MAX_OPEN_MS).default(2000).openapi({
      description: 'Each failed probe doubles the time for which the circuit is open, up to this value.',
    }),
    statuses: z
      .array(count(400, 599))
      .max(MAX_STATUSES, `must have at most ${MAX_STATUSES} statuses.`)
      .default([])
      .openapi({
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
    description:
      'Circuit breaker: after opens_after failures in a row, the gateway refuses calls for open_ms.',
  })

export function circuitFields(body: z.output<typeof circuitBreaker>): CircuitRule {
  return {
    opensAfter: body.opens_after,
    openMs: body.open_ms,
    maxOpenMs: body.max_open_ms,
    statuses: body.statuses,
  }
}

export function shownCircuit(rule: CircuitRule) {
  return {
    opens_after: rule.opensAfter,
    open_ms: rule.openMs,
    max_open_ms: rule.maxOpenMs,
    statuses: [...rule.statuses],
  }
}

export const connections = z
  .strictObject({
    http2: z
      .boolean()
      .default(false)
      .openapi({ description: 'true: use HTTP/2, by ALPN for https and with prior knowledge for http.' }),
  })
  .openapi('UpstreamConnections', {
    description:
      'How calls share connections to the upstream. null: one HTTP/1.1 request in flight on each connection.',
  })

export function shownConnections({ http2 = false }: UpstreamTransport) {
  return { http2 }
}

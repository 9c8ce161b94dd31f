/** Rules of one API for the calls of its upstream: retries, circuit breaker, addresses with health checks, and mirrored calls. It enforces none. */

export interface RetryRule {
  /** The first one included. */
  readonly maxAttempts: number
  /** Responses that are asked for again; a connection that failed always is. */
  readonly statuses: readonly number[]
  /** null: the idempotent ones. HEAD is part of GET. */
  readonly methods: readonly string[] | null
  /** Doubled by each retry, and shortened by a random part. */
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** Retries per hundred calls, so that an upstream that fails does not receive a multiple of the load. */
  readonly budgetPercent: number
}

export interface CircuitRule {
  /** Failures in a row. */
  readonly opensAfter: number
  readonly openMs: number
  /** Each failed probe doubles the time up to here. */
  readonly maxOpenMs: number
  /** Responses that count as failures, beside connections that fail. */
  readonly statuses: readonly number[]
}

export const RETRY_STATUSES = [408, 425, 429, 500, 502, 503, 504] as const
export const MAX_ATTEMPTS = 5
export const MAX_RETRY_DELAY_MS = 30_000
export const MAX_OPENS_AFTER = 1000
export const MIN_OPEN_MS = 100
export const MAX_OPEN_MS = 600_000

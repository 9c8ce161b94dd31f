/** Rules of an API for the calls of its upstream (retries, circuit breaker, addresses, health checks, copies), and their limits. */

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

export interface UpstreamAddress {
  readonly url: string
  /** Its part of the calls, among those that are healthy. */
  readonly weight: number
}

export interface HealthCheckRule {
  /** Appended to each address; any status from 200 to 399 is healthy. */
  readonly path: string
  readonly intervalMs: number
  readonly timeoutMs: number
  /** In a row. */
  readonly unhealthyAfter: number
  readonly healthyAfter: number
}

export interface AddressesRule {
  /** Called in place of `upstreamUrl`. */
  readonly addresses: readonly UpstreamAddress[]
  /** null: an address is left out only when calls fail. */
  readonly healthCheck: HealthCheckRule | null
}

export interface MirrorRule {
  /** In place of `upstreamUrl`. */
  readonly url: string
  /** Of the calls. */
  readonly percent: number
  /** HEAD is part of GET. */
  readonly methods: readonly string[]
  /** Requests with longer bodies are not copied. */
  readonly maxBodyBytes: number
  readonly timeoutMs: number
}

export const MAX_ADDRESSES = 16
export const MAX_WEIGHT = 1000
export const MIN_CHECK_INTERVAL_MS = 500
export const MAX_CHECK_INTERVAL_MS = 300_000
export const MAX_MIRRORED_BYTES = 1024 * 1024

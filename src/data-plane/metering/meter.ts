/** The interface of the meter: what one metering event holds, and how a call is handed over. It keeps and sends nothing. */

/** Position + 1 is the value of the enum `Outcome` in event.proto. */
export const OUTCOMES = [
  'success',
  'backend_error',
  'backend_unreachable',
  'timeout',
  'denied',
  'rate_limited',
  'not_found',
  'invalid',
] as const
export type MeteredOutcome = (typeof OUTCOMES)[number]

/** Position + 1 is the value of the enum `Access` in event.proto. */
export const ACCESSES = ['rest', 'jsonrpc', 'proxy'] as const
export type MeteredAccess = (typeof ACCESSES)[number]

/**
 * What many calls have in common; one object for all of them, so that it is encoded once. Texts that are unknown are ''.
 * Texts over 1,024 characters are cut by the meter.
 */
export interface CallOrigin {
  readonly tenantId: string
  readonly consumerId: string
  readonly subscriptionId: string
  readonly apiId: string
  readonly tool: string
  readonly toolset: string
  readonly access: MeteredAccess
  readonly policyRevision: string
  /** Its encoded form; filled and read by the meter alone. */
  encoded: Uint8Array | undefined
}

/** What differs from call to call. */
export interface MeteredCall {
  /** Unix ms. */
  readonly occurredAtMs: number
  readonly requestId: string
  readonly outcome: MeteredOutcome
  readonly statusCode: number
  readonly latencyUs: number
  /** -1: the backend was not called. */
  readonly backendLatencyUs: number
  readonly requestBytes: number
  readonly responseBytes: number
  readonly tokensSavedBytes: number
  readonly cacheHit: boolean
  /** It took a unit of the consumer's quota. */
  readonly counted: boolean
  /** '' when the call was allowed. */
  readonly decisionId: string
}

export interface Meter {
  /**
   * Takes the event of a call. Never throws and never waits for the broker.
   * @returns a Promise where the answer must wait until the event is on the disk (`METERING_DURABILITY=sync`); it never rejects
   */
  record(origin: CallOrigin, call: MeteredCall): undefined | Promise<undefined>
  /** False: events can neither be written nor held, and what is taken in now would be lost. */
  readonly ready: boolean
}

/** One event as others see it: the fields of event.proto, and the document of `METERING_FORMAT=json`. */
export interface MeteringEvent {
  readonly event_id: string
  /** RFC 3339, UTC, milliseconds. */
  readonly occurred_at: string
  readonly sequence: number
  readonly request_id: string
  readonly tenant_id: string
  readonly consumer_id: string
  readonly subscription_id: string
  readonly api_id: string
  readonly tool: string
  readonly toolset: string
  readonly access: MeteredAccess | 'unspecified'
  readonly outcome: MeteredOutcome | 'unspecified'
  readonly status_code: number
  readonly latency_us: number
  /** Absent when the backend was not called. */
  readonly backend_latency_us?: number
  readonly request_bytes: number
  readonly response_bytes: number
  readonly tokens_saved_bytes: number
  readonly cache_hit: boolean
  readonly counted: boolean
  readonly policy_revision: string
  readonly decision_id: string
  readonly gateway: string
}

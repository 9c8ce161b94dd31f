/** The fields of a metering event, and the values of its access and outcome. */

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

/** The interface of the meter, and the data of a call that it receives. Types only. */

import type { MaybePending } from '../../base/and-then.ts'
import type { MeteredAccess, MeteredOutcome } from '../../link/metering-event.ts'

/**
 * The part common to many calls; one object for all of them, so that it is encoded once. Texts that are unknown are ''.
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
  /** Encoded form; filled and read by the meter alone. */
  encoded: Uint8Array | undefined
}

/** The part that differs between calls. */
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
  /** The call took a unit of the consumer's quota. */
  readonly counted: boolean
  /** Decision id of the policy decision that refused the call; '' otherwise. */
  readonly decisionId: string
}

export interface Meter {
  /**
   * Takes the event of a call. Never throws and never waits for the broker.
   * @returns pending while the response must wait until the event is in its file; it never rejects
   */
  record(origin: CallOrigin, call: MeteredCall): MaybePending<undefined>
  /** False, so that calls are refused: further events would be lost or, with `sync`, the disk does not accept them. */
  readonly ready: boolean
}

/** A gateway instance as the control plane stores it, and its status at a moment. */

/** What an instance says of itself. */
export const REPORTED_STATUSES = ['online', 'degraded', 'draining'] as const
export type ReportedStatus = (typeof REPORTED_STATUSES)[number]
export const GATEWAY_STATUSES = [...REPORTED_STATUSES, 'offline'] as const
export type GatewayStatus = (typeof GATEWAY_STATUSES)[number]

export interface AuthConfig {
  readonly issuer?: string
  readonly audiences?: readonly string[]
}

export interface GatewayInstance {
  readonly id: string
  /** Unique; the same name is the same instance after a restart. */
  readonly name: string
  readonly reportedStatus: ReportedStatus
  /** Version of the gateway's software. */
  readonly version: string
  readonly url: string
  /** The snapshot it serves; null until its first acknowledgement. */
  readonly snapshotVersion: string | null
  readonly workers: number
  readonly authConfig: AuthConfig
  /** Why the last snapshot it was given could not be taken; null when it was. */
  readonly lastError: string | null
  readonly lastAckAt: Date | null
  /** Set by a manual re-synchronization, cleared by the acknowledgement that follows. */
  readonly resyncRequestedAt: Date | null
  /** Number of the last report whose usage was added; a repeated report adds nothing. It goes on over restarts of the instance. */
  readonly reportSequence: number
  readonly lastSeenAt: Date
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Three missed reports (one every 5 s) make an instance offline. */
export const OFFLINE_AFTER_MS = 15_000

export function gatewayStatus(
  gateway: Pick<GatewayInstance, 'reportedStatus' | 'lastSeenAt'>,
  at: Date,
): GatewayStatus {
  return at.getTime() - gateway.lastSeenAt.getTime() > OFFLINE_AFTER_MS ? 'offline' : gateway.reportedStatus
}

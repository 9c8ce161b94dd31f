/** What a gateway instance and the control plane say to each other, and how a report looks on the wire. It sends nothing. */

import type { AuthConfig, ReportedStatus } from '../model/gateway-instance.ts'
import type { UsageCount } from './usage-count.ts'

/** What an instance says when it connects. */
export interface Hello {
  /** The same name is the same instance after a restart: two that run at once need two names. */
  readonly name: string
  readonly url: string
  /** Of its software. */
  readonly version: string
  readonly workers: number
  readonly authConfig: AuthConfig
}

/** What was counted since the last time. */
export interface CountRows {
  readonly usage: readonly UsageCount[]
  readonly keysUsed: readonly { readonly id: string; readonly at: Date }[]
  readonly consumersSeen: readonly {
    readonly tenantId: string
    readonly subject: string
    readonly at: Date
  }[]
}

/** How the instance is, and what it has counted. */
export interface GatewayState extends CountRows {
  readonly status: ReportedStatus
}

/** What it says every few seconds, and at once when it has taken or refused a snapshot. */
export interface Report extends GatewayState {
  /** The snapshot it serves; null = none yet. */
  readonly snapshotVersion: string | null
  /** Why it could not take the newest one; null = it could. */
  readonly error: string | null
  readonly workers: number
  /** The mark of the re-synchronization it has just carried out, as the stream gave it. */
  readonly resync: string | null
  /** Counts the reports on from the last one taken; a number that was taken before adds no usage. */
  readonly sequence: number
}

/** Body of `POST /v1/gateways/{gateway_id}/reports`. */
export function wireReport(report: Report): object {
  return {
    status: report.status,
    snapshot_version: report.snapshotVersion,
    error: report.error,
    workers: report.workers,
    resync: report.resync,
    sequence: report.sequence,
    usage: report.usage.map(row => ({
      subscription_id: row.subscriptionId,
      day: row.day,
      requests: row.requests,
      errors: row.errors,
      last_request_at: row.lastRequestAt,
    })),
    keys_used: report.keysUsed.map(row => ({ key_id: row.id, at: row.at })),
    consumers_seen: report.consumersSeen.map(row => ({
      tenant_id: row.tenantId,
      subject: row.subject,
      at: row.at,
    })),
  }
}

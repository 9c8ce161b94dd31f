/** The introduction and reports of a gateway instance to the control plane, the wire form, and which consumers a report may name. */

import type { AuditActor } from '../model/audit.ts'
import type { AuthConfig, ReportedStatus } from '../model/gateway-instance.ts'
import { type PendingDefinitions, wirePending } from '../model/pending-definitions.ts'
import type { UsageCount } from './usage-count.ts'

/** How an instance introduces itself when it connects. */
export interface Hello {
  /** Identifies the instance across restarts: two that run at once need two names. */
  readonly name: string
  readonly url: string
  /** Version of its software. */
  readonly version: string
  readonly workers: number
  readonly authConfig: AuthConfig
}

/** Counts since the last report. */
export interface CountRows {
  readonly usage: readonly UsageCount[]
  readonly keysUsed: readonly { readonly id: string; readonly at: Date }[]
  readonly consumersSeen: readonly {
    readonly tenantId: string
    readonly subject: string
    readonly at: Date
  }[]
}

/** Tenant, a slash and the name of an application, at most; a claim of a token may be anything. */
const MAX_CONSUMER_CHARS = 320

/** Whether the control plane can store a consumer with this name: PostgreSQL stores no NUL. */
export function mayBeConsumer(subject: string): boolean {
  return subject.length <= MAX_CONSUMER_CHARS && !subject.includes('\0')
}

/** An action of an administrator at a gateway, for the audit of the control plane. */
export interface AdminAction {
  /** Unique: a repeated report adds no second record. */
  readonly id: string
  readonly at: Date
  readonly actor: AuditActor
  /** `admin.<resource>.<verb>`. */
  readonly action: string
  /** Name of the tenant that the resource belongs to; null: none. */
  readonly tenant: string | null
  readonly resource: { readonly type: string; readonly id: string }
  readonly requestId: string
  /** State before the action; null: it has none. */
  readonly before: object | null
}

/** What a gateway serves of the MCP server of an API. */
export interface ReportedDefinitions {
  readonly apiId: string
  /** Hash of the list that it serves. */
  readonly specHash: string
  /** null: it serves what the server sends. */
  readonly pending: PendingDefinitions | null
}

/** Status of the instance, and its counts. */
export interface GatewayState extends CountRows {
  readonly status: ReportedStatus
  /** The MCP servers of APIs; in a report, those that are different from the last one that was taken. */
  readonly definitions?: readonly ReportedDefinitions[]
}

/** Sent every few seconds, and at once when a snapshot is served (ack) or refused (nack). */
export interface Report extends GatewayState {
  /** The snapshot it serves; null: none yet. */
  readonly snapshotVersion: string | null
  /** Why it does not serve the newest snapshot; null: it does. */
  readonly error: string | null
  readonly workers: number
  /** Mark of the re-synchronization that it has just carried out, as received with the update. */
  readonly resync: string | null
  /** Continues from the last report taken; a number that was taken before adds no usage. */
  readonly sequence: number
  /** Not confirmed yet; repeated until a report was taken. */
  readonly adminActions: readonly AdminAction[]
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
    // an older control plane refuses fields that it does not know
    ...(report.adminActions.length === 0
      ? undefined
      : {
          admin_actions: report.adminActions.map(({ requestId, ...action }) => ({
            ...action,
            request_id: requestId,
          })),
        }),
    ...(report.definitions === undefined || report.definitions.length === 0
      ? undefined
      : {
          definitions: report.definitions.map(({ apiId, specHash, pending }) => ({
            api_id: apiId,
            spec_hash: specHash,
            pending: pending && wirePending(pending),
          })),
        }),
  }
}

/** A deployment of an API on a gateway instance, and its synchronization status. */
import { type GatewayInstance, gatewayStatus } from './gateway-instance.ts'

export const SYNC_STATUSES = ['pending', 'syncing', 'synced', 'error', 'drift'] as const
export type SyncStatus = (typeof SYNC_STATUSES)[number]

export interface Deployment {
  readonly id: string
  readonly tenantId: string
  readonly apiId: string
  readonly gatewayId: string
  readonly createdAt: Date
}

/** A push is acknowledged within a second; an instance that takes longer than this has drifted. */
export const SYNCING_FOR_MS = 5_000

/**
 * `pending`: never acknowledged anything. `error`: refused the snapshot. `synced`: serves what is published.
 * `syncing`: online, and a push or a re-synchronization is not acknowledged yet. `drift`: serves something else than what is published.
 */
export function syncStatus(
  gateway: GatewayInstance,
  published: { readonly version: string; readonly at: Date },
  at: Date,
): SyncStatus {
  if (gateway.lastError !== null) return 'error'
  const online = gatewayStatus(gateway, at) !== 'offline'
  if (gateway.resyncRequestedAt !== null && online) return 'syncing'
  if (gateway.snapshotVersion === null) return 'pending'
  if (gateway.snapshotVersion === published.version) return 'synced'
  return online && at.getTime() - published.at.getTime() < SYNCING_FOR_MS ? 'syncing' : 'drift'
}

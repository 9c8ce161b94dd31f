/** What goes over LISTEN/NOTIFY, and back. It opens no channel. */
import type { Signal } from '../store.ts'

const RESYNC = 'resync:'

/** '' is a change: the payload is kept empty so that the database folds repeated ones of a transaction into one. */
export function readSignal(payload: string): Signal {
  return payload.startsWith(RESYNC)
    ? { kind: 'resync', gatewayId: payload.slice(RESYNC.length) }
    : { kind: 'changed' }
}

export function resyncPayload(gatewayId: string): string {
  return RESYNC + gatewayId
}

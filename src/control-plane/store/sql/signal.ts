/** Encodes and decodes the payload of LISTEN/NOTIFY. It opens no channel. */
import type { Signal } from '../store.ts'

const RESYNC = 'resync:'

/** '' is a change: equal payloads of one transaction are delivered once. */
export function readSignal(payload: string): Signal {
  return payload.startsWith(RESYNC)
    ? { kind: 'resync', gatewayId: payload.slice(RESYNC.length) }
    : { kind: 'changed' }
}

export function resyncPayload(gatewayId: string): string {
  return RESYNC + gatewayId
}

/** Reads payloads of LISTEN/NOTIFY as signals, and writes those of messages and resyncs. */
import type { Signal } from '../store.ts'

const RESYNC = 'resync:'
const MESSAGE = 'message:'

/** '' is a change: equal payloads of one transaction are delivered once. */
export function readSignal(payload: string): Signal {
  if (payload.startsWith(MESSAGE)) return { kind: 'message', text: payload.slice(MESSAGE.length) }
  return payload.startsWith(RESYNC)
    ? { kind: 'resync', gatewayId: payload.slice(RESYNC.length) }
    : { kind: 'changed' }
}

export function messagePayload(text: string): string {
  return MESSAGE + text
}

export function resyncPayload(gatewayId: string): string {
  return RESYNC + gatewayId
}

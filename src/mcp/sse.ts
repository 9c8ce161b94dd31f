/** The text of server-sent events (HTML, "Server-sent events"). It writes to no stream. */
import type { Pieces } from '../net/server/pieces.ts'

/** Different for each client, so that the clients of an instance that stops do not reconnect at once. */
const MIN_RETRY_MS = 500
const MAX_RETRY_MS = 2_000

/** Serialized JSON holds no line break, so one `data:` line is enough. */
export function messageEvent(json: string, id?: string): string {
  return id === undefined
    ? `event: message\ndata: ${json}\n\n`
    : `id: ${id}\nevent: message\ndata: ${json}\n\n`
}

export function messageEventPieces(json: Pieces, id?: string): Pieces {
  return [messageEvent('', id).slice(0, -2), ...json, '\n\n']
}

/** MCP 2025-11-25, transports: an event with an id and empty data, so that a client can resume before the first message. */
export function primingEvent(id: string, retryMs: number): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`
}

/** MCP 2024-11-05, "HTTP with SSE": the first event names the address to POST to. */
export function endpointEvent(uri: string): string {
  return `event: endpoint\ndata: ${uri}\n\n`
}

/** Sets the time after which the client reconnects, and dispatches no event. @param random 0 ≤ x < 1 */
export function retryHint(random = Math.random()): string {
  return `retry: ${Math.round(MIN_RETRY_MS + random * (MAX_RETRY_MS - MIN_RETRY_MS))}\n\n`
}

/** A comment: keeps proxies from closing an idle stream, and no client sees it. */
export const KEEP_ALIVE = ':\n\n'

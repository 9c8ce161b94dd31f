/** Error responses of the MCP endpoint, and readers of the Accept header and of the session id in the query. */
import { type Refusal, refuse as refusalOf } from '../../../model/refusal.ts'
import { INVALID_REQUEST } from '../../../model/rpc-errors.ts'
import type { Call } from '../call.ts'
import { challengeContext, type GatewayParts } from '../gateway.ts'
import { refusalHeaders, restBody, rpcError } from '../refusal-body.ts'
import { errorMessage, type RequestId } from './message.ts'

export function acceptsStream(call: Call): boolean {
  return call.request.header('accept').includes('text/event-stream')
}

export function sessionIdOfQuery(query: string): string {
  return query === '' ? '' : (new URLSearchParams(query).get('sessionId') ?? '')
}

export function badRequest(call: Call, id: RequestId | null, reason: string): void {
  call.respond(400, errorMessage(id, { code: INVALID_REQUEST, message: reason }))
}

export function replyNotFound(call: Call): void {
  call.respond(404, errorMessage(null, rpcError(refusalOf('session_not_found'), call.requestId)))
}

/** For a session that only the store could find, which does not respond. */
export const SESSIONS_UNAVAILABLE = refusalOf('sessions_unavailable', { retryAfterSecs: 1 })

export function methodNotAllowed(call: Call): void {
  call.respond(
    405,
    {
      error: 'method_not_allowed',
      message: 'This request cannot open an event stream. Send messages with POST.',
      request_id: call.requestId,
    },
    ['allow', 'POST, DELETE'],
  )
}

/** Refuses a POST before its message is dispatched: a JSON-RPC error without id, with the status of the refusal. */
export function refuseMessage(parts: GatewayParts, call: Call, refusal: Refusal): void {
  const headers = refusalHeaders(refusal, challengeContext(parts, call.request.path))
  call.respond(refusal.row.status, errorMessage(null, rpcError(refusal, call.requestId)), headers)
}

/** A refusal in the REST form: of GET, DELETE, and a POST whose response goes to another stream. A session that is not the caller's does not exist. */
export function replyRefused(parts: GatewayParts, call: Call, refusal: Refusal): void {
  if (refusal.reason === 'session_not_found') return replyNotFound(call)
  const headers = refusalHeaders(refusal, challengeContext(parts, call.request.path))
  call.respond(refusal.row.status, restBody(refusal, call.requestId), headers)
}

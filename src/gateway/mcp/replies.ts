/** Short answers that several files of the MCP endpoint give, and what they read off a head. No state. */
import { refuse } from '../../pipeline/refusal.ts'
import type { Call } from '../call.ts'
import { rpcError } from '../refusal-body.ts'
import { errorMessage, INVALID_REQUEST } from './message.ts'

export function acceptsStream(call: Call): boolean {
  return call.request.header('accept').includes('text/event-stream')
}

export function sessionIdOfQuery(query: string): string {
  return query === '' ? '' : (new URLSearchParams(query).get('sessionId') ?? '')
}

export function badRequest(call: Call, id: string | number | null, reason: string): void {
  call.answer(400, errorMessage(id, { code: INVALID_REQUEST, message: reason }))
}

export function notFound(call: Call): void {
  call.answer(404, errorMessage(null, rpcError(refuse('session_not_found'), call.requestId)))
}

export function methodNotAllowed(call: Call): void {
  call.answer(
    405,
    { error: 'method_not_allowed', message: 'No event stream is offered here.', request_id: call.requestId },
    ['allow', 'POST, DELETE'],
  )
}

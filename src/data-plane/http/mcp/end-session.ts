/** DELETE at the MCP endpoint: ends a session for every instance (mcp-wire §2, step 2). */
import { andThen } from '../../../shared/call/and-then.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { authenticated, type McpParts } from './parts.ts'
import { badRequest, notFound, refuse, sessionIdOfQuery } from './replies.ts'

export function endSession(parts: McpParts, call: Call, snapshot: Snapshot): void {
  const { sessions } = parts.gateway
  const id = call.request.header('mcp-session-id') || sessionIdOfQuery(call.request.query)
  if (id === '') return badRequest(call, null, 'Name the session in Mcp-Session-Id or ?sessionId=.')
  const go = (session: Session | undefined): void => {
    if (session === undefined) return notFound(call)
    authenticated(
      parts.gateway,
      call,
      snapshot,
      session,
      () => {
        const ended = sessions.end(session.id)
        const notify = (alive: boolean): void =>
          alive ? call.respond(200, { status: 'ended' }) : notFound(call)
        void andThen(ended, notify)
      },
      refusal => refuse(parts.gateway, call, refusal),
    )
  }
  const found = sessions.find(id, call.receivedAtMs)
  void andThen(found, go)
}

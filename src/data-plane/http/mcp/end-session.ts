/** DELETE at the MCP endpoint: ends a session on every instance. */
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { authenticated, type McpParts } from './parts.ts'
import { badRequest, replyNotFound, replyRefused, SESSIONS_UNAVAILABLE, sessionIdOfQuery } from './replies.ts'

export async function endSession({ gateway }: McpParts, call: Call, snapshot: Snapshot): Promise<void> {
  const id = call.request.header('mcp-session-id') || sessionIdOfQuery(call.request.query)
  if (id === '') return badRequest(call, null, 'Name the session in Mcp-Session-Id or ?sessionId=.')
  const session = await gateway.sessions.find(id, call.receivedAtMs)
  if (session === undefined) return replyNotFound(call)
  if (session === 'unavailable') return replyRefused(gateway, call, SESSIONS_UNAVAILABLE)
  const { refusal } = await authenticated(gateway, call, snapshot, session)
  if (refusal !== undefined) return replyRefused(gateway, call, refusal)
  if (await gateway.sessions.end(session.id)) call.respond(200, { status: 'ended' })
  else replyNotFound(call)
}

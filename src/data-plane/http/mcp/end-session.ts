/**
 * DELETE at the MCP endpoint: ends the caller's session, and afterwards sessions with MCP servers that belong to it.
 * `endpoint.ts` checks the origin before.
 */

import { serverKey } from '../../../mcp/client/server-session-store.ts'
import type { ServerAddress } from '../../../mcp/protocol.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { authenticated, type McpParts } from './parts.ts'
import { badRequest, replyNotFound, replyRefused, SESSIONS_UNAVAILABLE, sessionIdOfQuery } from './replies.ts'

/** Threads that use a session with a server have ended it by then. */
const UNUSED_AFTER_MS = 500

export async function endSession({ gateway }: McpParts, call: Call, snapshot: Snapshot): Promise<void> {
  const id = call.request.header('mcp-session-id') || sessionIdOfQuery(call.request.query)
  if (id === '')
    return badRequest(
      call,
      null,
      'Send the session id in the header Mcp-Session-Id or in the query parameter sessionId.',
    )
  const session = await gateway.sessions.find(id, call.receivedAtMs)
  if (session === undefined) return replyNotFound(call)
  if (session === 'unavailable') return replyRefused(gateway, call, SESSIONS_UNAVAILABLE)
  const { exchange, refusal } = await authenticated(gateway, call, snapshot, session)
  if (refusal !== undefined) return replyRefused(gateway, call, refusal)
  const ended = await gateway.sessions.end(session.id)
  if (ended === 'unavailable') return replyRefused(gateway, call, SESSIONS_UNAVAILABLE)
  if (!ended) return replyNotFound(call)
  call.respond(200, { status: 'ended' })
  const tenant = exchange.principal?.tenant
  setTimeout(
    () => void gateway.serverSessions?.endCaller(session.id, server => addressIn(snapshot, tenant, server)),
    UNUSED_AFTER_MS,
  ).unref()
}

/** undefined where the server needs a token of the caller, or the tenant has no tool of it any more. */
function addressIn(
  snapshot: Snapshot,
  tenant: string | undefined,
  server: string,
): ServerAddress | undefined {
  for (const entries of [snapshot.toolsOf(tenant), snapshot.featuresOf(tenant)])
    for (const { mcp } of entries.values())
      if (mcp !== undefined && mcp.authentication.oauth === undefined && serverKey(mcp.key) === server)
        return mcp.address
  return undefined
}

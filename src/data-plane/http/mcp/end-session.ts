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
  if (ended === false) return replyNotFound(call)
  const tenant = exchange.principal?.tenant
  const addressOf = (server: string) => addressIn(gateway.snapshot() ?? snapshot, tenant, server)
  // also without a response of the store: it may have ended the session, and a repetition of the request would not find it
  setTimeout(() => void gateway.serverSessions?.endCaller(session.id, addressOf), UNUSED_AFTER_MS).unref()
  if (ended === 'unavailable') return replyRefused(gateway, call, SESSIONS_UNAVAILABLE)
  call.respond(200, { status: 'ended' })
}

/** null: the server needs a token of the caller; undefined: the tenant has no tool of it. */
function addressIn(
  snapshot: Snapshot,
  tenant: string | undefined,
  server: string,
): ServerAddress | null | undefined {
  for (const entries of [snapshot.toolsOf(tenant), snapshot.featuresOf(tenant)])
    for (const { mcp } of entries.values())
      if (mcp !== undefined && serverKey(mcp.key) === server)
        return mcp.authentication.oauth === undefined ? mcp.address : null
  return undefined
}

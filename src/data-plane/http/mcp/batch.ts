/** Batches of MCP 2025-03-26: checks a batch, dispatches its messages and sends the replies. `post.ts` reads the body. */

import { continueWith, type MaybePending } from '../../../base/and-then.ts'
import { Cancellation } from '../../../base/cancellation.ts'
import { hasFeature, isLegacyVersion } from '../../../mcp/versions.ts'
import { INVALID_REQUEST } from '../../../model/rpc-errors.ts'
import { lengthOf, type Pieces } from '../../../net/server/pieces.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { LegacyCalls } from './legacy.ts'
import { settledVersion } from './legacy.ts'
import {
  errorMessage,
  isInitialize,
  type RpcMessage,
  type RpcNotification,
  type RpcResponse,
  readMessage,
} from './message.ts'
import { isModern } from './modern.ts'
import { authenticated, type McpParts } from './parts.ts'
import { badRequest, replyNotFound, replyRefused } from './replies.ts'
import { type RpcReply, textOf, utf8Text } from './result.ts'

/** The official server's bound. */
const MAX_BATCH = 100
/** For the long replies of a batch; further ones are errors. */
const MAX_LONG_CHARS = 32 * 1024 * 1024
const MAX_SENT_AT_ONCE = 256 * 1024

export async function postBatch(
  parts: McpParts,
  legacy: LegacyCalls,
  call: Call,
  snapshot: Snapshot,
  session: Session | undefined,
  items: readonly unknown[],
): Promise<void> {
  if (session?.legacyStream === true) {
    // responses go to the session's stream, so the caller must own it before any item runs
    const { refusal } = await authenticated(parts.gateway, call, snapshot, session)
    if (refusal !== undefined) return replyRefused(parts.gateway, call, refusal)
  }
  if (items.length === 0) return badRequest(call, null, 'A batch must not be empty.')
  if (items.length > MAX_BATCH)
    return badRequest(call, null, `A batch may have at most ${MAX_BATCH} messages.`)
  const header = call.request.header('mcp-protocol-version')
  const messages = items.map(readMessage)
  const version = settledVersion(call, session)
  if (
    (header !== '' && !(isLegacyVersion(header) && hasFeature(header, 'batches'))) ||
    (session !== undefined && !hasFeature(version, 'batches')) ||
    messages.some(message => isModern(message, ''))
  ) {
    return badRequest(call, null, 'Batches exist only in protocol version 2025-03-26.')
  }
  if (messages.some(isInitialize)) {
    return badRequest(call, null, 'initialize must not be part of a batch.')
  }
  const cancellation = new Cancellation()
  call.response.onAbort(() => cancellation.cancel())
  const replies: MaybePending<RpcReply>[] = []
  for (const message of messages) {
    if (message.kind === 'request') {
      replies.push(
        runItem(
          parts,
          legacy,
          { call, snapshot, version, cancellation, transport: legacy.batchTransport(session) },
          session,
          message,
        ),
      )
    } else if (message.kind === 'invalid') {
      replies.push({
        status: 200,
        headers: [],
        body: errorMessage(message.id, { code: INVALID_REQUEST, message: message.reason }),
      })
    }
  }
  void receiveOthers(parts, legacy, call, snapshot, session, messages)
  if (replies.length === 0) return call.respond(202, undefined)
  const all = await Promise.all(replies)
  // a session of another caller is reported as not found, as for a single request
  if (all.some(reply => reply.status === 404)) return replyNotFound(call)
  if (session?.legacyStream !== true) {
    const pieces = batchPieces(all)
    if (lengthOf(pieces) > MAX_SENT_AT_ONCE) return call.respondInPieces(200, pieces, [])
    return call.respond(200, pieces.join(''))
  }
  for (const { body } of all)
    void parts.gateway.sessions.signal(session.id, { kind: 'message', message: await textOf(body) })
  call.handleAcceptance()
}

/** The array of all replies, long ones as far as they fit into one response. */
function batchPieces(replies: readonly RpcReply[]): Pieces {
  const pieces: (string | Uint8Array)[] = []
  let longChars = 0
  for (const { body } of replies) {
    pieces.push(pieces.length === 0 ? '[' : ',')
    if (typeof body === 'string' || body instanceof Uint8Array) {
      pieces.push(typeof body === 'string' ? body : utf8Text(body))
      continue
    }
    longChars += lengthOf(body.pieces)
    if (longChars > MAX_LONG_CHARS) pieces.push(body.tooLong)
    // one by one: a call has a bounded number of arguments
    else for (const piece of body.pieces) pieces.push(piece)
  }
  pieces.push(']')
  return pieces
}

/** Cancellations and responses among the items: they affect calls of the session, so only its owner may send them. */
async function receiveOthers(
  parts: McpParts,
  legacy: LegacyCalls,
  call: Call,
  snapshot: Snapshot,
  session: Session | undefined,
  messages: readonly RpcMessage[],
): Promise<void> {
  const others = messages.filter(
    (message): message is RpcNotification | RpcResponse =>
      message.kind === 'response' ||
      (message.kind === 'notification' && message.method === 'notifications/cancelled'),
  )
  if (session === undefined || others.length === 0) return
  const { refusal } = await authenticated(parts.gateway, call, snapshot, session)
  if (refusal === undefined) for (const message of others) legacy.receive(session, message)
}

function runItem(
  parts: McpParts,
  legacy: LegacyCalls,
  conversation: Parameters<LegacyCalls['dispatch']>[1],
  session: Session | undefined,
  request: Parameters<LegacyCalls['dispatch']>[0],
): MaybePending<RpcReply> {
  if (session === undefined) return legacy.dispatch(request, conversation)
  // each item can be cancelled by itself; the end of the POST cancels all
  const own = new Cancellation()
  conversation.cancellation.onCancel(() => own.cancel())
  const inFlight = parts.inFlight.add(session.id, request.id, own)
  return continueWith(legacy.dispatch(request, { ...conversation, cancellation: own }), reply => {
    inFlight.end()
    return reply
  })
}

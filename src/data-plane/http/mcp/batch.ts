/** Batches (MCP 2025-03-26 alone has them): items run concurrently, each through the whole pipeline with its own refusal. */
import { Cancellation } from '../../../shared/call/cancellation.ts'
import { INVALID_REQUEST } from '../../../shared/call/rpc-errors.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { LegacyCalls } from './legacy.ts'
import { versionOf } from './legacy.ts'
import { errorMessage, type RpcMessage, readMessage } from './message.ts'
import { isModern } from './modern.ts'
import { authenticated, type McpParts } from './parts.ts'
import { badRequest, notFound, refuse } from './replies.ts'
import type { RpcReply } from './result.ts'

/** The official server's bound. */
const MAX_BATCH = 100

export function postBatch(
  parts: McpParts,
  legacy: LegacyCalls,
  call: Call,
  snapshot: Snapshot,
  session: Session | undefined,
  items: readonly unknown[],
): void {
  const run = (): void => runBatch(parts, legacy, call, snapshot, session, items)
  if (session?.legacyStream !== true) return run()
  // answers go to the session's stream, so the caller must own it before any item runs
  authenticated(parts.gateway, call, snapshot, session, run, refusal => refuse(parts.gateway, call, refusal))
}

function runBatch(
  parts: McpParts,
  legacy: LegacyCalls,
  call: Call,
  snapshot: Snapshot,
  session: Session | undefined,
  items: readonly unknown[],
): void {
  if (items.length === 0) return badRequest(call, null, 'A batch must not be empty.')
  if (items.length > MAX_BATCH) return badRequest(call, null, `A batch holds at most ${MAX_BATCH} messages.`)
  const header = call.request.header('mcp-protocol-version')
  const messages = items.map(readMessage)
  const version = versionOf(call, session)
  if (
    (header !== '' && header !== '2025-03-26') ||
    (session !== undefined && version !== '2025-03-26') ||
    messages.some(message => isModern(message, ''))
  ) {
    return badRequest(call, null, 'Batches exist only in protocol version 2025-03-26.')
  }
  if (messages.some(message => message.kind === 'request' && message.method === 'initialize')) {
    return badRequest(call, null, 'initialize must not be part of a batch.')
  }
  const cancellation = new Cancellation()
  call.response.onAbort(() => cancellation.cancel())
  const answers: (RpcReply | Promise<RpcReply>)[] = []
  for (const message of messages) {
    if (message.kind === 'request') {
      answers.push(
        runItem(
          parts,
          legacy,
          { call, snapshot, version, cancellation, transport: legacy.batchTransport(session) },
          session,
          message,
        ),
      )
    } else if (message.kind === 'invalid') {
      answers.push({
        status: 200,
        headers: [],
        body: errorMessage(message.id, { code: INVALID_REQUEST, message: message.reason }),
      })
    }
  }
  receiveOthers(parts, legacy, call, snapshot, session, messages)
  if (answers.length === 0) return call.respond(202, undefined)
  void Promise.all(answers).then(all => {
    // the session of another caller does not exist, for the batch as for a single request
    if (all.some(response => response.status === 404)) return notFound(call)
    const bodies = all.map(response => response.body)
    if (session?.legacyStream !== true) return call.respond(200, `[${bodies.join(',')}]`)
    for (const message of bodies) void parts.gateway.sessions.signal(session.id, { kind: 'message', message })
    call.accepted()
  })
}

/** Cancellations and answers among the items; they touch calls of the session, so they are for its owner alone. */
function receiveOthers(
  parts: McpParts,
  legacy: LegacyCalls,
  call: Call,
  snapshot: Snapshot,
  session: Session | undefined,
  messages: readonly RpcMessage[],
): void {
  const others = messages.filter(
    message =>
      message.kind === 'response' ||
      (message.kind === 'notification' && message.method === 'notifications/cancelled'),
  )
  if (session === undefined || others.length === 0) return
  const receive = (): void => {
    for (const message of others)
      if (message.kind === 'response' || message.kind === 'notification') legacy.receive(session, message)
  }
  authenticated(parts.gateway, call, snapshot, session, receive, () => {})
}

function runItem(
  parts: McpParts,
  legacy: LegacyCalls,
  conversation: Parameters<LegacyCalls['dispatch']>[1],
  session: Session | undefined,
  request: Parameters<LegacyCalls['dispatch']>[0],
): RpcReply | Promise<RpcReply> {
  if (session === undefined) return legacy.dispatch(request, conversation)
  // each item can be cancelled by itself; the end of the POST cancels all
  const own = new Cancellation()
  conversation.cancellation.onCancel(() => own.cancel())
  const done = parts.inFlight.add(session.id, request.id, own)
  const responded = legacy.dispatch(request, { ...conversation, cancellation: own })
  if (!(responded instanceof Promise)) {
    done()
    return responded
  }
  return responded.then(response => {
    done()
    return response
  })
}

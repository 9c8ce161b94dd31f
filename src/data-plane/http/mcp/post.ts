/** POST at the MCP endpoint: reads the body, finds the session, and passes messages on by their protocol version. `endpoint.ts` checks the origin before. */

import { andThen, continueWith, type MaybePromise } from '../../../base/and-then.ts'
import { Cancellation } from '../../../base/cancellation.ts'
import { isObject } from '../../../base/json/is-object.ts'
import { isLegacyVersion, LEGACY_VERSIONS } from '../../../mcp/versions.ts'
import { INVALID_REQUEST, PARSE_ERROR } from '../../../model/rpc-errors.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { isCaller, PROCEED, refuseEarly } from '../early-refusal.ts'
import { readJson } from '../json-body.ts'
import { traceTextsOf } from '../trace-context.ts'
import { postBatch } from './batch.ts'
import type { Conversation } from './conversation.ts'
import { LegacyCalls } from './legacy.ts'
import { subscribe } from './listen.ts'
import { isLogLevel, logSink } from './log-messages.ts'
import {
  errorMessage,
  isInitialize,
  type RequestId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  readMessage,
} from './message.ts'
import { isModern, isModernHeader, LOG_LEVEL_KEY, metaOf, mirroredHeader, readEnvelope } from './modern.ts'
import { ModernClient } from './modern-client.ts'
import { authenticated, callerOf, type McpParts } from './parts.ts'
import { PostResponse } from './post-response.ts'
import { progressSink } from './progress.ts'
import {
  acceptsStream,
  badRequest,
  refuseMessage,
  replyNotFound,
  SESSIONS_UNAVAILABLE,
  sessionIdOfQuery,
} from './replies.ts'
import type { RpcReply } from './result.ts'
import { TASKS_EXTENSION } from './tasks/task-view.ts'

const NO_RESPONSES =
  'This protocol version does not accept JSON-RPC responses over POST. To send input, repeat the request with params.inputResponses.'
/** The method is in the body: as for other messages without a known operation, only the caller is checked. */
const UNREAD_MESSAGE = { action: 'session' } as const
/** Bodies of methods that need no token. */
const MAX_PUBLIC_BYTES = 64 * 1024
/** For those, until the last byte. A listener waits longer. */
const PUBLIC_BODY_MS = 2_000

export class McpPost {
  readonly #parts: McpParts
  readonly #legacy: LegacyCalls

  constructor(parts: McpParts) {
    this.#parts = parts
    this.#legacy = new LegacyCalls(parts)
  }

  post(call: Call, snapshot: Snapshot): void {
    const { gateway } = this.#parts
    const { contentLength } = call.request
    call.verified = gateway.verifyCredentials(call, call.receivedAtMs)
    // `initialize` and `ping` need no token; they are short, and arrive at once
    const early = isCaller(call.verified)
      ? PROCEED
      : refuseEarly(
          ...([gateway, call, snapshot, 'jsonrpc', UNREAD_MESSAGE] as const),
          refusal => refuseMessage(gateway, call, refusal),
          contentLength > MAX_PUBLIC_BYTES ? 0 : PUBLIC_BODY_MS,
        )
    if (early === undefined) return
    readJson(call, this.#parts.gateway.maxBodyBytes, body => {
      if (!early.proceed()) return
      if (body.kind === 'refusal') {
        const code = body.reason === 'invalid_request' ? PARSE_ERROR : body.row.rpcCode
        return call.respond(body.row.status, errorMessage(null, { code, message: body.message }))
      }
      const header = call.request.header('mcp-session-id')
      const streamSession = sessionIdOfQuery(call.request.query)
      const sessionId = header || streamSession
      if (!Array.isArray(body.value)) {
        const message = readMessage(body.value)
        const meta = metaOf(message)
        if (meta !== undefined) call.adoptTrace(traceTextsOf(meta))
        const modern = isModern(message, call.request.header('mcp-protocol-version'))
        // 2026-07-28 has no sessions, but a client may send `server/discover` on its HTTP+SSE stream
        if (modern && streamSession === '') return this.#modern(call, snapshot, message)
        if (sessionId === '') return this.#single(call, snapshot, undefined, message)
        return this.#inSession(call, snapshot, sessionId, message, modern)
      }
      void this.#batch(call, snapshot, sessionId, body.value)
    })
  }

  #inSession(call: Call, snapshot: Snapshot, sessionId: string, message: RpcMessage, modern: boolean): void {
    void andThen(this.#findSession(call, sessionId), session => {
      // it creates a session in any case
      if (session === 'unknown' && isInitialize(message)) this.#single(call, snapshot, undefined, message)
      else if (session === 'unknown') replyNotFound(call)
      else if (session === 'unavailable') this.#replyUnavailable(call)
      else if (modern && session?.legacyStream !== true) this.#modern(call, snapshot, message)
      else this.#single(call, snapshot, session, message)
    })
  }

  async #batch(call: Call, snapshot: Snapshot, sessionId: string, items: readonly unknown[]): Promise<void> {
    const session = await this.#findSession(call, sessionId)
    if (session === 'unknown') return replyNotFound(call)
    if (session === 'unavailable') return this.#replyUnavailable(call)
    return postBatch(this.#parts, this.#legacy, call, snapshot, session, items)
  }

  /** `unknown`: a 404, upon which the client initializes again (MCP 2025-03-26, "Session Management"). */
  #findSession(call: Call, id: string): MaybePromise<Session | undefined | 'unknown' | 'unavailable'> {
    if (id === '') return undefined
    return andThen(this.#parts.gateway.sessions.find(id, call.receivedAtMs), found => found ?? 'unknown')
  }

  #replyUnavailable(call: Call): void {
    refuseMessage(this.#parts.gateway, call, SESSIONS_UNAVAILABLE)
  }

  #single(call: Call, snapshot: Snapshot, session: Session | undefined, message: RpcMessage): void {
    const header = call.request.header('mcp-protocol-version')
    if (message.kind === 'invalid') return badRequest(call, message.id, message.reason)
    const probing = session?.legacyStream === true && isModernHeader(header)
    if (header !== '' && !isLegacyVersion(header) && !probing && !isInitialize(message)) {
      return badRequest(
        call,
        null,
        `MCP-Protocol-Version "${header.slice(0, 32)}" is not supported; use one of ${LEGACY_VERSIONS.join(', ')}.`,
      )
    }
    if (message.kind === 'request') return this.#legacy.request(call, snapshot, session, message)
    if (
      session === undefined ||
      (message.kind === 'notification' && message.method !== 'notifications/cancelled')
    ) {
      return call.respond(202, undefined)
    }
    void this.#receive(call, snapshot, session, message)
  }

  /** Affects calls of the session, so only its owner may send it. */
  async #receive(
    call: Call,
    snapshot: Snapshot,
    session: Session,
    message: RpcNotification | RpcResponse,
  ): Promise<void> {
    const { refusal } = await authenticated(this.#parts.gateway, call, snapshot, session)
    if (refusal !== undefined) return refuseMessage(this.#parts.gateway, call, refusal)
    this.#legacy.receive(session, message)
    call.respond(202, undefined)
  }

  #modern(call: Call, snapshot: Snapshot, message: RpcMessage): void {
    if (message.kind === 'invalid') return respondToModern(call, errorWithoutId(message.id, message.reason))
    if (message.kind === 'response') return respondToModern(call, errorWithoutId(null, NO_RESPONSES))
    if (message.kind === 'notification') return call.respond(202, undefined)
    const envelope = readEnvelope(message, call.request)
    if ('status' in envelope) return respondToModern(call, envelope)
    if (message.method === 'subscriptions/listen')
      return void subscribe(this.#parts, call, snapshot, message, envelope)
    this.#dispatchModern(call, snapshot, message, envelope)
  }

  #dispatchModern(
    call: Call,
    snapshot: Snapshot,
    request: RpcRequest,
    { version, clientCapabilities }: Exclude<ReturnType<typeof readEnvelope>, RpcReply>,
  ): void {
    const cancellation = new Cancellation()
    const response = new PostResponse(call, {
      streams: acceptsStream(call),
      replay: undefined,
      priming: false,
    })
    // in this protocol version the client cancels a call by closing the connection
    call.response.onAbort(() => {
      response.drop()
      cancellation.cancel()
    })
    const client = new ModernClient(this.#parts.inquiries, request, clientCapabilities)
    const send = response.canNotify ? (json: string) => response.notify(json) : undefined
    const onProgress = progressSink(request, send)
    // without a level, the client wants none (MCP 2026-07-28, logging)
    const level = metaOf(request)?.[LOG_LEVEL_KEY]
    const logLevel = isLogLevel(level) ? level : undefined
    const { dispatcher, gateway } = this.#parts
    const conversation: Conversation = {
      call,
      snapshot,
      version,
      cancellation,
      transport: {
        onProgress,
        onLog: logLevel === undefined ? undefined : logSink(send, logLevel),
        logLevel,
        client,
        mirrored: name => mirroredHeader(call.request, name),
      },
      takesTasks: takesTasks(clientCapabilities),
      pendingInput: () => client.pendingInput(),
    }
    // the ToolView of a caller introduces the server
    if (request.method !== 'server/discover' || snapshot.views.all.length === 0)
      return response.send(dispatcher.dispatch(request, conversation))
    const caller = callerOf(gateway, call, snapshot)
    response.send(
      continueWith(caller, known => dispatcher.dispatch(request, { ...conversation, caller: known })),
    )
  }
}

function takesTasks({ extensions }: { readonly [name: string]: unknown }): boolean {
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION])
}

/** From 2026-07-28 on, an error without a usable id omits it. */
function errorWithoutId(id: RequestId | null, message: string): RpcReply {
  const error = { code: INVALID_REQUEST, message }
  return {
    status: 400,
    headers: [],
    body: id === null ? JSON.stringify({ jsonrpc: '2.0', error }) : errorMessage(id, error),
  }
}

function respondToModern(call: Call, response: RpcReply): void {
  call.respond(response.status, response.body, response.headers)
}

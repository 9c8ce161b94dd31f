/** Messages of MCP versions up to 2025-11-25: their version, session and transport, and where the response goes. `post.ts` reads the bodies. */

import { andThen, type MaybePending } from '../../../base/and-then.ts'
import { Cancellation } from '../../../base/cancellation.ts'
import { withDoubles } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import {
  ASSUMED_VERSION,
  hasFeature,
  isLegacyVersion,
  negotiate,
  type ProtocolVersion,
} from '../../../mcp/versions.ts'
import type { Principal } from '../../../model/principal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { NO_TRANSPORT, type Transport } from '../../pipeline/transport.ts'
import { ownerOf } from '../../sessions/owner.ts'
import type { Session, SettledFacts } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { Conversation } from './conversation.ts'
import { capabilitiesOf, LegacyClient } from './legacy-client.ts'
import { logSink } from './log-messages.ts'
import { isId, type RpcNotification, type RpcRequest, type RpcResponse, storedId } from './message.ts'
import { metaOf } from './modern.ts'
import { authenticated, callerOf, claimOf, type McpParts } from './parts.ts'
import { PostResponse } from './post-response.ts'
import { progressSink } from './progress.ts'
import { acceptsStream, replyRefused } from './replies.ts'
import { type RpcReply, textOf } from './result.ts'
import { SessionSide } from './session-side.ts'

/** Streams have ids from the first of these versions on, and begin with an empty event from the second on. */

export function settledVersion(call: Call, session: Session | undefined): ProtocolVersion {
  const header = call.request.header('mcp-protocol-version')
  if (isLegacyVersion(header)) return header
  if (session !== undefined && isLegacyVersion(session.protocolVersion)) return session.protocolVersion
  return ASSUMED_VERSION
}

export class LegacyCalls {
  readonly #parts: McpParts

  constructor(parts: McpParts) {
    this.#parts = parts
  }

  request(call: Call, snapshot: Snapshot, session: Session | undefined, request: RpcRequest): void {
    if (session?.legacyStream === true) return void this.#onLegacyStream(call, snapshot, session, request)
    if (request.method === 'initialize') return void this.#initialize(call, snapshot, request)
    const version = settledVersion(call, session)
    // with a session the client can still fetch the response; without one, a dropped connection cancels the call
    if (session !== undefined) return this.#inSession(call, snapshot, session, request, version)
    const response = new PostResponse(call, {
      streams: streamsTo(call, version),
      replay: undefined,
      priming: hasFeature(version, 'primingEvents'),
    })
    const cancellation = new Cancellation()
    cancelWhenAborted(call, cancellation)
    cancellation.add(response)
    const transport = transportOf(request, snapshot, response)
    response.send(this.dispatch(request, { call, snapshot, version, cancellation, transport }))
  }

  #inSession(
    call: Call,
    snapshot: Snapshot,
    session: Session,
    request: RpcRequest,
    version: ProtocolVersion,
  ): void {
    const cancellation = new Cancellation()
    const response = new PostResponse(call, {
      streams: streamsTo(call, version),
      replay: hasFeature(version, 'streamedResponses')
        ? { store: this.#parts.gateway.sessions, sessionId: session.id }
        : undefined,
      priming: hasFeature(version, 'primingEvents'),
      inFlight: this.#parts.inFlight.add(session.id, request.id, cancellation),
    })
    cancellation.add(response)
    const capabilities = capabilitiesOf(session, version)
    const send = capabilities.size > 0 || mayNotify(request, snapshot) ? senderOf(response) : undefined
    const side = this.#sideOf(session)
    const transport = this.#transport(request, session, side, capabilities, cancellation, send)
    response.send(this.dispatch(request, { call, snapshot, version, cancellation, transport, session: side }))
  }

  dispatch(request: RpcRequest, conversation: Conversation): MaybePending<RpcReply> {
    return this.#parts.dispatcher.dispatch(request, conversation)
  }

  /** For the items of a batch: they share one response and cannot send messages before it. */
  batchTransport(session: Session | undefined): Transport<Exchange> {
    if (session === undefined) return {}
    return {
      claimSession: claimOf(this.#parts.gateway, session),
      session: this.#sideOf(session),
    }
  }

  /** `notifications/cancelled`, or the client's response to a request of the server. */
  receive(session: Session, message: RpcNotification | RpcResponse): void {
    const { sessions } = this.#parts.gateway
    if (message.kind === 'response') {
      void sessions.signal(session.id, {
        kind: 'response',
        id: storedId(message.id),
        message: withDoubles({ result: message.result, error: message.error }),
      })
      return
    }
    const { requestId } = message.params
    if (isId(requestId)) void sessions.signal(session.id, { kind: 'cancel', requestId: storedId(requestId) })
  }

  /** Creates a session for each valid request; credentials that are valid bind it to the caller at once. */
  async #initialize(call: Call, snapshot: Snapshot, request: RpcRequest): Promise<void> {
    const isValid = typeof request.params.protocolVersion === 'string'
    const caller = isValid ? await callerOf(this.#parts.gateway, call, snapshot) : undefined
    const reply = await this.dispatch(request, {
      call,
      snapshot,
      version: ASSUMED_VERSION,
      cancellation: new Cancellation(),
      transport: {},
      caller,
    })
    if (!isValid) return call.respond(reply.status, reply.body)
    const session = await this.#parts.gateway.sessions.create({
      ...settledBy(request),
      origin: 'initialize',
      // '' without valid credentials
      owner: caller === undefined ? '' : ownerOf(caller.principal!),
      createdAtMs: call.receivedAtMs,
    })
    call.respond(reply.status, reply.body, [...reply.headers, 'mcp-session-id', session.id])
  }

  /**
   * HTTP+SSE (MCP 2024-11-05): the POST is accepted, and the response is sent on the session's stream, which may be open on another
   * instance. Nothing is sent on the stream before the caller is known to own the session; other callers get the refusal as the response of
   * the POST.
   */
  async #onLegacyStream(
    call: Call,
    snapshot: Snapshot,
    session: Session,
    request: RpcRequest,
  ): Promise<void> {
    const { gateway, inFlight } = this.#parts
    const cancellation = new Cancellation()
    const send = (message: string): void =>
      void gateway.sessions.signal(session.id, { kind: 'message', message })
    const pending = inFlight.add(session.id, request.id, cancellation)
    const version = settledVersion(call, session)
    const claim = claimOf(gateway, session)
    let accepted = false
    const accept = (owned: boolean): boolean => {
      if (owned) call.handleAcceptance()
      accepted ||= owned
      return owned
    }
    const side = this.#sideOf(session)
    const transport = {
      ...this.#transport(request, session, side, capabilitiesOf(session, version), cancellation, send),
      claimSession: (principal: Principal) => andThen(claim(principal), accept),
    }
    const introduced = request.method === 'initialize' && snapshot.views.all.length > 0
    const known = introduced ? await authenticated(gateway, call, snapshot, session) : undefined
    const caller = known?.refusal === undefined ? known?.exchange : undefined
    const reply = await this.dispatch(request, {
      call,
      snapshot,
      version,
      cancellation,
      transport,
      caller,
      session: side,
    })
    pending.end()
    if (!accepted) {
      if (reply.status === 401 || reply.status === 404)
        return call.respond(reply.status, reply.body, reply.headers)
      // no stage has checked the owner: the method is public, or the request was refused before that stage
      const { refusal } = known ?? (await authenticated(gateway, call, snapshot, session))
      if (refusal !== undefined) return replyRefused(gateway, call, refusal)
      if (request.method === 'initialize') void gateway.sessions.update(session.id, settledBy(request))
      call.handleAcceptance()
    }
    if (cancellation.reason !== true) send(await textOf(reply.body))
  }

  #sideOf(session: Session): SessionSide {
    const { gateway, subscriptions } = this.#parts
    return new SessionSide(gateway.sessions, subscriptions, session)
  }

  #transport(
    request: RpcRequest,
    session: Session,
    side: SessionSide,
    capabilities: ReadonlySet<string>,
    cancellation: Cancellation,
    send: ((json: string) => void) | undefined,
  ): Transport<Exchange> {
    const { logLevel } = session
    return {
      onProgress: progressSink(request, send),
      onLog: logSink(send, logLevel),
      logLevel,
      claimSession: claimOf(this.#parts.gateway, session),
      session: side,
      client:
        send === undefined || capabilities.size === 0
          ? undefined
          : new LegacyClient(this.#parts.inFlight, session, capabilities, send, cancellation),
    }
  }
}

function streamsTo(call: Call, version: ProtocolVersion): boolean {
  return acceptsStream(call) && hasFeature(version, 'streamedResponses')
}

/** Apart, so that only what the function needs is allocated for it. */
function cancelWhenAborted({ response }: Call, cancellation: Cancellation): void {
  response.onAbort(() => cancellation.cancel())
}

/** undefined when the client takes no messages before the reply. */
function senderOf(response: PostResponse): ((json: string) => void) | undefined {
  return response.canNotify ? json => response.notify(json) : undefined
}

/** Whether a call can have progress or log messages. */
function mayNotify(request: RpcRequest, { served }: Snapshot): boolean {
  return served.mcpServers || metaOf(request) !== undefined
}

/** For a request without a session. */
function transportOf(request: RpcRequest, snapshot: Snapshot, response: PostResponse): Transport<Exchange> {
  if (!mayNotify(request, snapshot)) return NO_TRANSPORT
  const send = senderOf(response)
  return { onProgress: progressSink(request, send), onLog: logSink(send, undefined) }
}

function settledBy(request: RpcRequest): SettledFacts {
  const { protocolVersion, capabilities } = request.params
  const declares = (name: string): boolean => isObject(capabilities) && isObject(capabilities[name])
  return {
    protocolVersion: negotiate(protocolVersion),
    elicitation: declares('elicitation'),
    sampling: declares('sampling'),
    roots: declares('roots'),
  }
}

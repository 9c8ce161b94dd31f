/** Requests of the legacy era: version, session, where the answer goes, and how a running call is reached. */
import type { Principal } from '../../../model/principal.ts'
import { andThen } from '../../../shared/call/and-then.ts'
import { Cancellation } from '../../../shared/call/cancellation.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Transport } from '../../pipeline/transport.ts'
import { ownerOf } from '../../sessions/owner.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { Conversation } from './dispatch.ts'
import { LegacyClient } from './legacy-client.ts'
import type { RpcNotification, RpcRequest, RpcResponse } from './message.ts'
import { authenticated, claimOf, type McpParts } from './parts.ts'
import { PostResponse } from './post-response.ts'
import { progressSink } from './progress.ts'
import { acceptsStream, refuse } from './replies.ts'
import type { RpcReply } from './result.ts'
import { ASSUMED_VERSION, isLegacyVersion, negotiate, type ProtocolVersion } from './versions.ts'

/** Elicitation came with this version. */
const ELICITATION_SINCE: ProtocolVersion = '2025-06-18'
/** Streams of these versions have ids; the first of them begins with an empty event. */
const RESUMABLE_SINCE: ProtocolVersion = '2025-03-26'
const PRIMING_SINCE: ProtocolVersion = '2025-11-25'

export function versionOf(call: Call, session: Session | undefined): ProtocolVersion {
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
    if (session?.legacyStream === true) return this.#onLegacyStream(call, snapshot, session, request)
    if (request.method === 'initialize') return this.#initialize(call, snapshot, request)
    const version = versionOf(call, session)
    const response = new PostResponse(call, {
      streams: acceptsStream(call) && version !== '2024-11-05',
      replay:
        session !== undefined && version >= RESUMABLE_SINCE
          ? { store: this.#parts.gateway.sessions, sessionId: session.id }
          : undefined,
      priming: version >= PRIMING_SINCE,
    })
    const cancellation = new Cancellation()
    // without a session nobody could ever fetch the answer; with one, a dropped connection is no cancellation
    if (session === undefined) call.response.onAbort(() => cancellation.cancel())
    const done =
      session === undefined ? undefined : this.#parts.inFlight.add(session.id, request.id, cancellation)
    cancellation.onCancel(() => response.drop())
    const send = response.canNotify ? (json: string) => response.notify(json) : undefined
    const responded = this.dispatch(request, {
      call,
      snapshot,
      version,
      cancellation,
      transport: this.#transport(request, session, version, cancellation, send),
    })
    if (!(responded instanceof Promise)) {
      done?.()
      return response.finish(responded)
    }
    response.wait()
    void responded.then(value => {
      done?.()
      response.finish(value)
    })
  }

  dispatch(request: RpcRequest, conversation: Conversation): RpcReply | Promise<RpcReply> {
    return this.#parts.dispatcher.dispatch(request, conversation)
  }

  /** Items of a batch; they share the POST's answer and cannot send anything before it. */
  batchTransport(session: Session | undefined): Transport<Exchange> {
    return session === undefined ? {} : { claimSession: claimOf(this.#parts.gateway, session) }
  }

  /** `notifications/cancelled`, or the client's answer to a request of ours. */
  receive(session: Session, message: RpcNotification | RpcResponse): void {
    const { sessions } = this.#parts.gateway
    if (message.kind === 'response') {
      void sessions.signal(session.id, {
        kind: 'response',
        id: message.id,
        message: { result: message.result, error: message.error },
      })
      return
    }
    const { requestId } = message.params
    if (typeof requestId === 'string' || typeof requestId === 'number')
      void sessions.signal(session.id, { kind: 'cancel', requestId })
  }

  /** A session is always minted (mcp-wire §2, step 9); with a good token it is bound to the caller at once. */
  #initialize(call: Call, snapshot: Snapshot, request: RpcRequest): void {
    const conversation = {
      call,
      snapshot,
      version: ASSUMED_VERSION,
      cancellation: new Cancellation(),
      transport: {},
    }
    const response = this.dispatch(request, conversation) as RpcReply
    if (response.body.includes('"error":') && typeof request.params.protocolVersion !== 'string')
      return call.respond(response.status, response.body)
    const mint = (owner: string): void => {
      const created = this.#parts.gateway.sessions.create({
        ...settledBy(request),
        origin: 'initialize',
        owner,
        createdAtMs: call.receivedAtMs,
      })
      const send = (session: Session): void =>
        call.respond(response.status, response.body, [...response.headers, 'mcp-session-id', session.id])
      void andThen(created, send)
    }
    if (call.credentials.authorization === '' && call.credentials.apiKey === '') return mint('')
    authenticated(
      this.#parts.gateway,
      call,
      snapshot,
      undefined,
      ended => mint(ownerOf(ended.exchange.principal!)),
      () => mint(''),
    )
  }

  /**
   * HTTP+SSE (MCP 2024-11-05): the POST is accepted, the answer travels on the stream, wherever that is open. Nothing reaches the
   * stream before the caller is known to own the session; any other caller gets its refusal as the response of the POST.
   */
  #onLegacyStream(call: Call, snapshot: Snapshot, session: Session, request: RpcRequest): void {
    const { sessions } = this.#parts.gateway
    const cancellation = new Cancellation()
    const send = (message: string): void => void sessions.signal(session.id, { kind: 'message', message })
    const done = this.#parts.inFlight.add(session.id, request.id, cancellation)
    const version = versionOf(call, session)
    const claim = claimOf(this.#parts.gateway, session)
    let accepted = false
    const accept = (own: boolean): boolean => {
      if (own) call.accepted()
      accepted ||= own
      return own
    }
    const deliver = (response: RpcReply): void => {
      if (!cancellation.cancelled) send(response.body)
    }
    const finish = (response: RpcReply): void => {
      done()
      if (accepted) return deliver(response)
      if (response.status === 401 || response.status === 404)
        return call.respond(response.status, response.body, response.headers)
      // no stage has asked whose session it is: a public method, or a request refused before that stage
      const owned = (): void => {
        if (request.method === 'initialize') void sessions.update(session.id, settledBy(request))
        accept(true)
        deliver(response)
      }
      authenticated(this.#parts.gateway, call, snapshot, session, owned, refusal =>
        refuse(this.#parts.gateway, call, refusal),
      )
    }
    const transport = {
      ...this.#transport(request, session, version, cancellation, send),
      claimSession: (principal: Principal) => andThen(claim(principal), accept),
    }
    const responded = this.dispatch(request, { call, snapshot, version, cancellation, transport })
    void andThen(responded, finish)
  }

  #transport(
    request: RpcRequest,
    session: Session | undefined,
    version: ProtocolVersion,
    cancellation: Cancellation,
    send: ((json: string) => void) | undefined,
  ): Transport<Exchange> {
    const onProgress = progressSink(request, send)
    if (session === undefined) return { onProgress }
    const claimSession = claimOf(this.#parts.gateway, session)
    if (send === undefined || !session.elicitation || version < ELICITATION_SINCE)
      return { onProgress, claimSession }
    return {
      onProgress,
      claimSession,
      client: new LegacyClient(this.#parts.inFlight, session, send, cancellation),
    }
  }
}

function settledBy(request: RpcRequest): {
  readonly protocolVersion: ProtocolVersion
  readonly elicitation: boolean
} {
  const { protocolVersion, capabilities } = request.params
  const elicitation =
    typeof capabilities === 'object' && capabilities !== null && 'elicitation' in capabilities
  return { protocolVersion: negotiate(protocolVersion), elicitation }
}

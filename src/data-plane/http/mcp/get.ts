/** GET at the MCP endpoint: standalone streams, resumed streams, and streams of the HTTP+SSE transport (MCP 2024-11-05). */

import type { MaybePromise } from '../../../base/and-then.ts'
import { endpointEvent, messageEvent } from '../../../mcp/sse.ts'
import { STREAM_VERSION } from '../../../mcp/versions.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { ownerOf } from '../../sessions/owner.ts'
import type { Session, SessionSignal } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { settledVersion } from './legacy.ts'
import { isModernHeader } from './modern.ts'
import { authenticatedStream, type McpParts, takeSlot, tooManyStreams } from './parts.ts'
import { readEventId } from './post-response.ts'
import {
  methodNotAllowed,
  replyNotFound,
  replyRefused,
  SESSIONS_UNAVAILABLE,
  sessionIdOfQuery,
} from './replies.ts'
import { resume } from './resume.ts'
import { endpointAddress, selectionOf } from './selection.ts'
import type { StreamSlot } from './stream-limiter.ts'
import { OpenStream, type StreamEnd, type StreamForm, type StreamOwner, streamOwner } from './streams.ts'

export class McpGet {
  readonly #parts: McpParts
  /** Sessions with a standalone stream here: a second one is refused. */
  readonly #standalone = new Set<string>()

  constructor(parts: McpParts) {
    this.#parts = parts
  }

  async get(call: Call, snapshot: Snapshot): Promise<void> {
    const header = call.request.header('mcp-session-id')
    if (isModernHeader(call.request.header('mcp-protocol-version'))) return methodNotAllowed(call)
    const id = header || sessionIdOfQuery(call.request.query)
    if (id === '') return this.#legacy(call, snapshot, undefined)
    const session = await this.#parts.gateway.sessions.find(id, call.receivedAtMs)
    if (session === undefined) return replyNotFound(call)
    if (session === 'unavailable') return replyRefused(this.#parts.gateway, call, SESSIONS_UNAVAILABLE)
    return header === '' ? this.#legacy(call, snapshot, session) : this.#streamable(call, snapshot, session)
  }

  async #streamable(call: Call, snapshot: Snapshot, session: Session): Promise<void> {
    const { exchange, refusal } = await authenticatedStream(this.#parts.gateway, call, snapshot, session)
    if (refusal?.reason === 'session_not_found' || refusal?.reason === 'tenant_suspended')
      return replyRefused(this.#parts.gateway, call, refusal)
    // a 401 on this background request would make clients without token start a second login; one with a token gets a new token
    if (refusal?.row.status === 401 && refusal.reason !== 'token_missing')
      return replyRefused(this.#parts.gateway, call, refusal)
    if (refusal !== undefined) return methodNotAllowed(call)
    const lastEventId = call.request.header('last-event-id')
    const position = lastEventId === '' ? undefined : readEventId(lastEventId)
    if (lastEventId !== '' && position === undefined) return replyNotFound(call)
    const slot = await this.#takeSlot(call, exchange)
    if (slot === undefined) return
    if (position !== undefined)
      return released(slot, () => resume(this.#parts, exchange, call, session, position, slot))
    const owner = streamOwner(exchange, settledVersion(call, session), selectionOf(call))
    this.#open(call, snapshot, session, owner, slot)
  }

  #open(call: Call, snapshot: Snapshot, session: Session, owner: StreamOwner, slot: StreamSlot): void {
    if (this.#standalone.has(session.id)) {
      slot.release()
      return call.respond(409, {
        error: 'conflict',
        message: 'This session already has an open stream.',
        request_id: call.requestId,
      })
    }
    this.#standalone.add(session.id)
    const onClosed = (): void => void this.#standalone.delete(session.id)
    void this.#attach(call, snapshot, session, owner, 'standalone', undefined, slot, onClosed)
  }

  /** HTTP+SSE: the first event names the address to POST to. This GET is the only request on which such a client can start a login. */
  async #legacy(call: Call, snapshot: Snapshot, known: Session | undefined): Promise<void> {
    const { exchange, refusal } = await authenticatedStream(this.#parts.gateway, call, snapshot, known)
    if (refusal !== undefined) return replyRefused(this.#parts.gateway, call, refusal)
    const slot = await this.#takeSlot(call, exchange)
    if (slot === undefined) return
    const session =
      known ??
      (await released(slot, () =>
        this.#parts.gateway.sessions.create({
          protocolVersion: STREAM_VERSION,
          origin: 'stream',
          elicitation: false,
          owner: ownerOf(exchange.principal!),
          createdAtMs: call.receivedAtMs,
        }),
      ))
    const owner = streamOwner(exchange, settledVersion(call, session), selectionOf(call))
    const first = endpointEvent(endpointAddress(call, session.id))
    return this.#attach(call, snapshot, session, owner, 'legacy', first, slot)
  }

  async #attach(
    call: Call,
    snapshot: Snapshot,
    session: Session,
    owner: StreamOwner,
    kind: 'legacy' | 'standalone',
    first: string | undefined,
    slot: StreamSlot,
    onClosed?: () => void,
  ): Promise<void> {
    const { sessions } = this.#parts.gateway
    const stream = call.eventStream(['mcp-session-id', session.id])
    const onSignal = (signal: SessionSignal): void => {
      if (signal.kind === 'end') open.end('session_ended')
      else if (signal.kind === 'notification' || (signal.kind === 'message' && kind === 'legacy'))
        open.write(messageEvent(signal.message))
    }
    const unlisten = sessions.listen(session.id, onSignal)
    const onEnd = (why: StreamEnd): void => {
      unlisten()
      this.#parts.streams.remove(open, why)
      void sessions.setStreaming(session.id, kind, false)
      slot.release()
      onClosed?.()
    }
    const open = new OpenStream({
      owner,
      stream,
      form: LEGACY_FORM,
      nowMs: call.receivedAtMs,
      onEnd,
    })
    const known = sessions.setStreaming(session.id, kind, true)
    this.#parts.streams.add(open, snapshot)
    call.response.onAbort(() => open.aborted())
    slot.whenEvicted(() => open.end('share_exceeded'))
    // the client's first POST may reach another instance, which must know where the stream is
    await known
    // some clients consider the stream open only when the first byte arrives
    open.write(first ?? ': open\n\n')
  }

  /** @returns undefined when there is none, and the response is sent */
  async #takeSlot(call: Call, { party }: Exchange): Promise<StreamSlot | undefined> {
    const slot = await takeSlot(this.#parts, call, party, true)
    if (typeof slot !== 'string') return slot
    call.respond(429, tooManyStreams(slot, call.requestId), ['retry-after', '60'])
    return undefined
  }
}

/** Releases the slot when the work before its stream fails. */
async function released<T>(slot: StreamSlot, work: () => MaybePromise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    slot.release()
    throw error
  }
}

const LEGACY_FORM: StreamForm = {
  notification: method => messageEvent(JSON.stringify({ jsonrpc: '2.0', method })),
}

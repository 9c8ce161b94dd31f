/** GET at the MCP endpoint: standalone streams, resumed streams, and the HTTP+SSE transport (mcp-wire §2, step 1). */
import { andThen } from '../../../shared/call/and-then.ts'
import { ownerOf } from '../../sessions/owner.ts'
import type { Session, SessionSignal } from '../../sessions/session-store.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { versionOf } from './legacy.ts'
import { isModernHeader } from './modern.ts'
import { authenticated, type McpParts } from './parts.ts'
import { readEventId } from './post-response.ts'
import { methodNotAllowed, notFound, refuse, sessionIdOfQuery } from './replies.ts'
import { resume } from './resume.ts'
import { endpointEvent, messageEvent } from './sse.ts'
import type { StreamRefusal } from './stream-limiter.ts'
import { OpenStream, type StreamEnd, type StreamForm, type StreamOwner } from './streams.ts'

export class McpGet {
  readonly #parts: McpParts
  /** Sessions with a standalone stream here: a second one is refused. */
  readonly #standalone = new Set<string>()

  constructor(parts: McpParts) {
    this.#parts = parts
  }

  get(call: Call, snapshot: Snapshot): void {
    const header = call.request.header('mcp-session-id')
    if (isModernHeader(call.request.header('mcp-protocol-version'))) return methodNotAllowed(call)
    const id = header || sessionIdOfQuery(call.request.query)
    if (id === '') return this.#legacy(call, snapshot, undefined)
    const found = this.#parts.gateway.sessions.find(id, call.receivedAtMs)
    const go = (session: Session | undefined): void => {
      if (session === undefined) return notFound(call)
      if (header === '') return this.#legacy(call, snapshot, session)
      this.#streamable(call, snapshot, session)
    }
    void andThen(found, go)
  }

  #streamable(call: Call, snapshot: Snapshot, session: Session): void {
    authenticated(
      this.#parts.gateway,
      call,
      snapshot,
      session,
      ({ exchange }) => {
        const lastEventId = call.request.header('last-event-id')
        const owner = {
          principal: exchange.principal!,
          tenant: exchange.tenant,
          version: versionOf(call, session),
        }
        const position = lastEventId === '' ? undefined : readEventId(lastEventId)
        if (lastEventId !== '' && position === undefined) return notFound(call)
        this.#admit(call, owner.tenant, release => {
          if (position !== undefined) resume(this.#parts, call, session, position, release)
          else this.#open(call, session, owner, release)
        })
      },
      // the background GET of a client without token: 401 would start a second login (mcp-wire §3)
      refusal => (refusal.reason === 'session_not_found' ? notFound(call) : methodNotAllowed(call)),
    )
  }

  #open(call: Call, session: Session, owner: StreamOwner, release: () => void): void {
    if (this.#standalone.has(session.id)) {
      release()
      return call.respond(409, {
        error: 'conflict',
        message: 'This session has a stream already.',
        request_id: call.requestId,
      })
    }
    this.#standalone.add(session.id)
    this.#attach(call, session, owner, 'standalone', undefined, () => {
      this.#standalone.delete(session.id)
      release()
    })
  }

  /** HTTP+SSE: the first event names the address to POST to; here the GET is the client's only chance to start a login. */
  #legacy(call: Call, snapshot: Snapshot, session: Session | undefined): void {
    authenticated(
      this.#parts.gateway,
      call,
      snapshot,
      session,
      ({ exchange }) => {
        const owner = {
          principal: exchange.principal!,
          tenant: exchange.tenant,
          version: versionOf(call, session),
        }
        this.#admit(call, owner.tenant, release => this.#openLegacy(call, session, owner, release))
      },
      refusal => refuse(this.#parts.gateway, call, refusal),
    )
  }

  #openLegacy(call: Call, session: Session | undefined, owner: StreamOwner, release: () => void): void {
    const open = (own: Session): void => {
      this.#attach(
        call,
        own,
        { ...owner, version: versionOf(call, own) },
        'legacy',
        endpointEvent(`${pathOf(call)}?sessionId=${own.id}`),
        release,
      )
    }
    if (session !== undefined) return open(session)
    const created = this.#parts.gateway.sessions.create({
      protocolVersion: '2024-11-05',
      origin: 'stream',
      elicitation: false,
      owner: ownerOf(owner.principal),
      createdAtMs: call.receivedAtMs,
    })
    void andThen(created, open)
  }

  #attach(
    call: Call,
    session: Session,
    owner: StreamOwner,
    kind: 'legacy' | 'standalone',
    first: string | undefined,
    onClosed: () => void,
  ): void {
    const { sessions } = this.#parts.gateway
    const stream = call.eventStream(['mcp-session-id', session.id])
    const onSignal = (signal: SessionSignal): void => {
      if (signal.kind === 'end') open.end('session_ended')
      else if (signal.kind === 'message' && kind === 'legacy') open.write(messageEvent(signal.message))
    }
    const unlisten = sessions.listen(session.id, onSignal)
    const onEnd = (why: StreamEnd): void => {
      unlisten()
      this.#parts.streams.remove(open, why)
      void sessions.setStreaming(session.id, kind, false)
      onClosed()
    }
    const open = new OpenStream({
      owner,
      stream,
      form: LEGACY_FORM,
      nowMs: call.receivedAtMs,
      onEnd,
    })
    const known = sessions.setStreaming(session.id, kind, true)
    this.#parts.streams.add(open)
    call.response.onAbort(() => open.aborted())
    // something must be written at once: some clients wait for the first byte before they take the stream for open
    const begin = (): void => open.write(first ?? ': open\n\n')
    // but not before every instance knows where the stream is: the client's first POST may reach another one
    void andThen(known, begin)
  }

  /** Goes on with the place that was taken, or answers why there is none. */
  #admit(call: Call, tenant: string | undefined, then: (release: () => void) => void): void {
    const finish = (place: StreamRefusal | (() => void)): void => {
      if (typeof place === 'function') then(place)
      else this.#full(call, place)
    }
    const place = this.#parts.places.open(this.#parts.clientAddress(call), tenant, call.receivedAtMs)
    if (place instanceof Promise) place.then(finish, () => this.#full(call, 'total'))
    else finish(place)
  }

  #full(call: Call, place: StreamRefusal): void {
    this.#parts.onStreamRefused(place)
    const body = {
      error: 'too_many_connections',
      message: MESSAGE_OF_LIMIT[place],
      request_id: call.requestId,
    }
    call.respond(429, body, ['retry-after', '60'])
  }
}

const LEGACY_FORM: StreamForm = {
  notification: method => messageEvent(JSON.stringify({ jsonrpc: '2.0', method })),
}

const MESSAGE_OF_LIMIT = {
  ip: 'Too many event streams are open from this address.',
  tenant: 'Too many event streams are open for this tenant.',
  total: 'Too many event streams are open.',
  rate: 'Too many event streams were opened from this address within a minute.',
} as const

function pathOf(call: Call): string {
  return call.request.path.startsWith('/mcp/sse') ? '/mcp/sse' : '/mcp'
}

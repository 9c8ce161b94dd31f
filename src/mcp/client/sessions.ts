/** Sends requests to MCP servers over sessions: assigns and closes them, retries, and stops calls to a failing server. `session-opener.ts` opens sessions. */
import { setTimeout as sleep } from 'node:timers/promises'
import { continueWith, type MaybePending } from '../../base/and-then.ts'
import { CircuitBreaker } from '../../base/async/circuit-breaker.ts'
import {
  type Dict,
  failure,
  type RequestOptions,
  type RpcFailure,
  type RpcOutcome,
  type ServerAddress,
} from '../protocol.ts'
import { resumeSession } from './connect.ts'
import { callerKey } from './server-session-store.ts'
import { type Opened, type OpenerOptions, SessionOpener, type SessionScope } from './session-opener.ts'
import type { Departure, StoredSession } from './stored-session.ts'

interface McpSessionsOptions extends OpenerOptions {
  /** The one idle for longest is closed for another; those with calls in flight are bounded by the calls that are admitted. */
  readonly maxSessions?: number
}

interface Session {
  /** Key of the map; another one once the server is known to keep nothing. */
  key: string
  readonly opening: Promise<Opened | RpcFailure>
  readonly bearer: { token: string }
  readonly idleMs: number
  connected: Opened | undefined
  inFlight: number
  usedAtMs: number
  /** No further call gets it; it is closed when its last call has ended. */
  dropped: Departure | undefined
  unlisten: (() => void) | undefined
}

const MAX_SESSIONS = 1_000
const SWEEP_MS = 30_000
/** A server that is just being replaced may listen again. */
const RETRY_AFTER_MS = 30
/** For ending the sessions of a caller while their store does not respond, or the address of their server is not known yet. */
const END_TRIES = 10
const END_RETRY_MS = 1_000

/** `sent: false`, and a time after which the next attempt makes sense. */
export interface CircuitOpen {
  readonly kind: 'circuit_open'
  readonly retryAfterSecs: number
}

export class McpSessions {
  readonly #counts = { retries: 0, refused: 0 }
  readonly #options: McpSessionsOptions
  readonly #breaker = new CircuitBreaker()
  /** The one used last is last. */
  readonly #sessions = new Map<string, Session>()
  /** The last of the map. */
  #newest: Session | undefined
  readonly #opener: SessionOpener
  readonly #sweeper: NodeJS.Timeout
  #closed = false

  constructor(options: McpSessionsOptions) {
    this.#options = options
    this.#opener = new SessionOpener(options)
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  get open(): number {
    return this.#sessions.size
  }

  /** For this thread, since its start. */
  get counts(): { readonly [name in 'connects' | 'resumed' | 'retries' | 'refused']: number } {
    return { ...this.#counts, ...this.#opener.counts }
  }

  get openCircuits(): number {
    return this.#breaker.open
  }

  /** Never rejects. */
  request(
    scope: SessionScope,
    method: string,
    params: Dict,
    options: RequestOptions,
  ): MaybePending<RpcOutcome | CircuitOpen> {
    const admission = this.#breaker.admit(scope.key, Date.now())
    if (admission.state === 'open') {
      this.#counts.refused++
      return { kind: 'circuit_open', retryAfterSecs: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)) }
    }
    const untilMs = performance.now() + options.timeoutMs
    const handleOutcome = (outcome: RpcOutcome): RpcOutcome => {
      this.#breaker.settle(scope.key, admission, verdictOn(outcome), Date.now())
      return outcome
    }
    const attempt = () => this.#attempt(scope, method, params, options, untilMs)
    return continueWith(attempt(), outcome => {
      if (!mayRepeat(outcome) || admission.state === 'probe' || options.cancellation?.cancelled === true)
        return handleOutcome(outcome)
      this.#counts.retries++
      const paused = outcome.reason === 'session_lost' ? Promise.resolve() : sleep(RETRY_AFTER_MS)
      return paused.then(attempt).then(handleOutcome)
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(sessions.map(session => closeSession(session, 'released')))
  }

  /**
   * Ends those of a caller that no thread has in use: it has opened them before a restart, or was idle for long.
   * @param addressOf the server with this `serverKey`; null: it cannot be reached without the caller; undefined: it is not known
   */
  async endCaller(
    callerSession: string,
    addressOf: (server: string) => ServerAddress | null | undefined,
  ): Promise<void> {
    const { stored, egress, client } = this.#options
    if (stored === undefined) return
    for (let tries = 1; ; tries++) {
      const list = await stored.store.list(callerKey(callerSession))
      let isDone = list !== undefined
      for (const [place, session] of list ?? []) {
        const address = addressOf(place.server.split('.', 1)[0]!)
        // a gateway that has just started may serve before it has the tools of all servers
        if (address === undefined) isDone = false
        if (address == null) continue
        const isRemoved = await stored.store.remove(place, session.id)
        if (isRemoved === undefined) isDone = false
        // a removal without a response may have been executed, and the next list would not have the session
        if (isRemoved !== false) await resumeSession(address, { egress, client }, session).connection.close()
      }
      if (isDone || tries === END_TRIES || this.#closed) return
      await sleep(END_RETRY_MS, undefined, { ref: false })
    }
  }

  #attempt(
    scope: SessionScope,
    method: string,
    params: Dict,
    options: RequestOptions,
    untilMs: number,
  ): MaybePending<RpcOutcome> {
    if (this.#closed) return failure('unreachable', 'the gateway is shutting down', false)
    const session = this.#sessionFor(this.#keyOf(scope), scope, untilMs)
    session.inFlight++
    const send = (connected: Opened | RpcFailure): MaybePending<RpcOutcome> => {
      if (connected.kind === 'connected')
        return this.#send(session, connected, method, params, options, untilMs)
      if (session.connected === undefined && connected.reason !== 'cancelled') this.#drop(session, 'ended')
      return connected
    }
    const leave = (outcome: RpcOutcome): RpcOutcome => {
      session.inFlight--
      session.usedAtMs = Date.now()
      if (session.dropped !== undefined && session.inFlight === 0) void closeSession(session, session.dropped)
      return outcome
    }
    return continueWith(
      continueWith(session.connected ?? this.#openSession(session, options, untilMs), send),
      leave,
    )
  }

  #send(
    session: Session,
    { connection, stored }: Opened,
    method: string,
    params: Dict,
    options: RequestOptions,
    untilMs: number,
  ): MaybePending<RpcOutcome> {
    stored?.attend()
    const { logLevel } = options
    const request = () =>
      continueWith(connection.request(method, params, options, connection.isModern, untilMs), outcome => {
        if (connection.lost) this.#drop(session, 'lost')
        else if (stored?.isDue === true) void this.#renew(session, stored)
        return outcome
      })
    if (logLevel === undefined) return request()
    const timeoutMs = Math.max(1, untilMs - performance.now())
    return connection.setLogLevel(logLevel, { ...options, timeoutMs }).then(request)
  }

  /** Without a session there is nothing to keep apart: the key of the server, whose hash is known, is found in less time than a new string. */
  #keyOf({ key, caller, tokenOwner = '' }: SessionScope): string {
    if (this.#opener.hasSession(key) !== false) return `${key}\n${tokenOwner}\n${caller}`
    return tokenOwner === '' ? key : `${key}\n${tokenOwner}`
  }

  #sessionFor(key: string, scope: SessionScope, untilMs: number): Session {
    let session = this.#sessions.get(key)
    if (session?.connected?.connection.lost === true) {
      this.#drop(session, 'lost')
      session = undefined
    }
    session ??= this.#newSession(key, scope, untilMs)
    if (scope.token !== undefined) session.bearer.token = scope.token
    if (session !== this.#newest) {
      this.#sessions.delete(key)
      this.#sessions.set(key, session)
      this.#newest = session
    }
    return session
  }

  #newSession(key: string, scope: SessionScope, untilMs: number): Session {
    this.#makeSpace()
    const bearer = { token: scope.token ?? '' }
    const session: Session = {
      key,
      bearer,
      opening: this.#opener.open({ ...scope, address: { ...scope.address, bearer } }, untilMs),
      idleMs: this.#opener.idleMsOf(scope),
      connected: undefined,
      inFlight: 0,
      usedAtMs: Date.now(),
      dropped: undefined,
      unlisten: scope.onEnd?.(() => this.#drop(session, 'ended')),
    }
    void session.opening.then(opened => {
      // a later caller opens another one, and does not get the failure of this one
      if (opened.kind !== 'connected') return this.#drop(session, 'ended')
      session.connected = opened
      if (!opened.hasSession) this.#share(session, scope)
    })
    return session
  }

  /** The connection that one caller has opened serves all of them. */
  #share(session: Session, scope: SessionScope): void {
    const key = this.#keyOf(scope)
    if (session.dropped !== undefined || this.#sessions.has(key)) return
    session.unlisten?.()
    session.unlisten = undefined
    this.#sessions.delete(session.key)
    session.key = key
    this.#sessions.set(key, session)
    this.#newest = session
  }

  async #renew(session: Session, stored: StoredSession): Promise<void> {
    if (!(await stored.renew())) this.#drop(session, 'ended')
  }

  /** The session may be opened for several calls: each waits for as long as it may itself. */
  #openSession(
    session: Session,
    { cancellation }: RequestOptions,
    untilMs: number,
  ): Promise<Opened | RpcFailure> {
    return new Promise(resolve => {
      let stop: (() => void) | undefined
      const settle = (opened: Opened | RpcFailure): void => {
        clearTimeout(timer)
        stop?.()
        resolve(opened)
      }
      const late = failure('timeout', 'the MCP server did not complete the handshake in time', false)
      const timer = setTimeout(() => settle(late), Math.max(1, untilMs - performance.now()))
      stop = cancellation?.onCancel(() => settle(failure('cancelled', 'the call was cancelled', false)))
      void session.opening.then(settle)
    })
  }

  #drop(session: Session, why: Departure): void {
    if (session.dropped !== undefined) return
    session.dropped = why
    session.unlisten?.()
    const id = session.connected?.session?.id
    if (why === 'lost' && id !== undefined) this.#opener.addLost(id)
    if (this.#sessions.get(session.key) === session) this.#sessions.delete(session.key)
    if (session.inFlight === 0) void closeSession(session, why)
  }

  #makeSpace(): void {
    const { maxSessions = MAX_SESSIONS } = this.#options
    if (this.#sessions.size < maxSessions) return
    for (const session of this.#sessions.values()) {
      if (session.inFlight > 0) continue
      return this.#drop(session, 'released')
    }
  }

  #sweep(): void {
    const nowMs = Date.now()
    for (const session of this.#sessions.values())
      if (session.inFlight === 0 && session.usedAtMs + session.idleMs < nowMs) this.#drop(session, 'idle')
  }
}

async function closeSession({ opening }: Session, why: Departure): Promise<void> {
  const opened = await opening
  if (opened.kind !== 'connected') return
  await opened.connection.close(await opened.stored?.release(why))
}

function mayRepeat(outcome: RpcOutcome): outcome is RpcFailure {
  if (outcome.kind !== 'failure' || outcome.sent || outcome.saturated === true) return false
  return outcome.reason === 'session_lost' || outcome.reason === 'unreachable' || outcome.reason === 'reset'
}

const DOWN: ReadonlySet<RpcFailure['reason']> = new Set(['unreachable', 'reset', 'timeout'])

function verdictOn(outcome: RpcOutcome): 'succeeded' | 'failed' | 'neutral' {
  if (outcome.kind !== 'failure') return 'succeeded'
  if (outcome.saturated === true) return 'neutral'
  return DOWN.has(outcome.reason) ? 'failed' : 'neutral'
}

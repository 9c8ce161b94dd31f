/** Connections to MCP servers for calls: shared where the server keeps nothing between them, else one for each caller. A call is repeated only if it was not executed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CircuitBreaker } from '../async/circuit-breaker.ts'
import type { Egress } from '../egress/egress.ts'
import { type Connected, connect, type Era } from './connect.ts'
import {
  type ClientInfo,
  type Dict,
  failure,
  type RequestOptions,
  type RpcFailure,
  type RpcOutcome,
  type ServerAddress,
} from './protocol.ts'

export interface SessionScope {
  readonly address: ServerAddress
  /** The same for calls that may share a session with the server. */
  readonly key: string
  /** The same for calls that share one if the server has sessions. */
  readonly caller: string
  /** An access token for what belongs to no call, such as the handshake: a session sends that of its latest call. */
  readonly token?: string | undefined
  /** The same for calls whose tokens belong to one caller; '' or absent: the tokens belong to the gateway. */
  readonly tokenOwner?: string | undefined
  /** Of the caller's client, declared in a handshake; they are the same for one `caller`. */
  readonly capabilities?: Dict | undefined
  /** Calls the listener when the caller's session with the gateway ends; @returns stops listening */
  readonly onEnd?: ((listener: () => void) => () => void) | undefined
}

interface McpSessionsOptions {
  readonly egress: Egress
  readonly client: ClientInfo
  /** Of one message of an event stream of 2024-11-05. */
  readonly maxEventCharacters: number
  /** The one idle for longest is closed for another; those with calls in flight are bounded by the calls that are admitted. */
  readonly maxSessions?: number
  /** After which an idle session is closed. */
  readonly idleMs?: number
}

interface Session {
  /** Of the map; another one once the server is known to keep nothing. */
  key: string
  readonly opening: Promise<Connected | RpcFailure>
  readonly bearer: { token: string }
  connected: Connected | undefined
  inFlight: number
  usedAtMs: number
  /** No further call gets it; it is closed when its last call has ended. */
  dropped: boolean
  unlisten: (() => void) | undefined
}

/** What was seen of a server; kept without its sessions. */
interface Known {
  readonly era: Era
  readonly hasSession: boolean
}

const MAX_SESSIONS = 1_000
const IDLE_MS = 300_000
const SWEEP_MS = 30_000
const MAX_KNOWN = 10_000
/** A handshake takes part of the time of the call that needs it. */
const CONNECT_TIMEOUT_MS = 10_000
/** A server that is just being replaced may listen again. */
const RETRY_AFTER_MS = 30

/** `sent: false`, and a time after which the next attempt makes sense. */
export interface CircuitOpen {
  readonly kind: 'circuit_open'
  readonly retryAfterSecs: number
}

export class McpSessions {
  /** Of this thread, since its start. */
  readonly counts = { connects: 0, retries: 0, refused: 0 }
  readonly #options: McpSessionsOptions
  readonly #breaker = new CircuitBreaker()
  /** The one used last is last. */
  readonly #sessions = new Map<string, Session>()
  readonly #known = new Map<string, Known>()
  readonly #sweeper: NodeJS.Timeout
  #closed = false

  constructor(options: McpSessionsOptions) {
    this.#options = options
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  get open(): number {
    return this.#sessions.size
  }

  get openCircuits(): number {
    return this.#breaker.open
  }

  /** Never rejects. */
  async request(
    scope: SessionScope,
    method: string,
    params: Dict,
    options: RequestOptions,
  ): Promise<RpcOutcome | CircuitOpen> {
    const admission = this.#breaker.admit(scope.key, Date.now())
    if (admission.state === 'open') {
      this.counts.refused++
      return { kind: 'circuit_open', retryAfterSecs: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)) }
    }
    const untilMs = performance.now() + options.timeoutMs
    let outcome = await this.#attempt(scope, method, params, options, untilMs)
    if (mayRepeat(outcome) && admission.state !== 'probe' && options.cancellation?.cancelled !== true) {
      this.counts.retries++
      if (outcome.reason !== 'session_lost') await sleep(RETRY_AFTER_MS)
      outcome = await this.#attempt(scope, method, params, options, untilMs)
    }
    this.#breaker.settle(scope.key, admission, verdictOn(outcome), Date.now())
    return outcome
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(sessions.map(closed))
  }

  async #attempt(
    scope: SessionScope,
    method: string,
    params: Dict,
    options: RequestOptions,
    untilMs: number,
  ): Promise<RpcOutcome> {
    if (this.#closed) return failure('unreachable', 'the gateway is shutting down', false)
    const key = this.#keyOf(scope)
    const session = this.#sessionFor(key, scope, untilMs)
    session.inFlight++
    try {
      const connected = session.connected ?? (await this.#opened(session, options, untilMs))
      if (connected.kind === 'failure') {
        if (session.connected === undefined && connected.reason !== 'cancelled') this.#drop(session)
        return connected
      }
      const { connection } = connected
      const { logLevel } = options
      const remainingMs = (): number => Math.max(1, untilMs - performance.now())
      if (logLevel !== undefined)
        await connection.setLogLevel(logLevel, { ...options, timeoutMs: remainingMs() })
      const outcome = await connection.request(method, params, { ...options, timeoutMs: remainingMs() })
      if (connection.lost) this.#drop(session)
      return outcome
    } finally {
      session.inFlight--
      session.usedAtMs = Date.now()
      if (session.dropped && session.inFlight === 0) void closed(session)
    }
  }

  /** Without a session there is nothing to keep apart. */
  #keyOf({ key, caller, tokenOwner = '' }: SessionScope): string {
    const server = `${key}\n${tokenOwner}\n`
    return this.#known.get(key)?.hasSession === false ? server : `${server}${caller}`
  }

  #sessionFor(key: string, scope: SessionScope, untilMs: number): Session {
    let session = this.#sessions.get(key)
    if (session?.connected?.connection.lost === true) {
      this.#drop(session)
      session = undefined
    }
    session ??= this.#newSession(key, scope, untilMs)
    if (scope.token !== undefined) session.bearer.token = scope.token
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
    return session
  }

  #newSession(key: string, scope: SessionScope, untilMs: number): Session {
    this.#makeSpace()
    const bearer = { token: scope.token ?? '' }
    const session: Session = {
      key,
      bearer,
      opening: this.#connect({ ...scope, address: { ...scope.address, bearer } }, untilMs),
      connected: undefined,
      inFlight: 0,
      usedAtMs: Date.now(),
      dropped: false,
      unlisten: scope.onEnd?.(() => this.#drop(session)),
    }
    void session.opening.then(opened => {
      if (opened.kind !== 'connected') return
      session.connected = opened
      if (!opened.hasSession) this.#share(session, scope)
    })
    return session
  }

  /** The connection that one caller has opened serves all of them. */
  #share(session: Session, scope: SessionScope): void {
    const key = this.#keyOf(scope)
    if (session.dropped || this.#sessions.has(key)) return
    session.unlisten?.()
    session.unlisten = undefined
    this.#sessions.delete(session.key)
    session.key = key
    this.#sessions.set(key, session)
  }

  async #connect(
    { address, key, capabilities }: SessionScope,
    untilMs: number,
  ): Promise<Connected | RpcFailure> {
    const { egress, client, maxEventCharacters } = this.#options
    const known = this.#known.get(key)
    const remainingMs = Math.max(1, untilMs - performance.now())
    this.counts.connects++
    const connected = await connect(address, {
      egress,
      client,
      maxEventCharacters,
      capabilities,
      timeoutMs: Math.min(CONNECT_TIMEOUT_MS, remainingMs),
      ...(known === undefined ? {} : { era: known.era }),
    })
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    if (connected.kind === 'failure') this.#known.delete(key)
    else {
      this.#known.set(key, { era: connected.era, hasSession: connected.hasSession })
      // a server may ask on the stream of the session instead of that of the call
      if (capabilities !== undefined && connected.era === 'streamable' && connected.hasSession)
        void connected.connection.listen()
    }
    return connected
  }

  /** The session may be opened for several calls: each waits for as long as it may itself. */
  #opened(
    session: Session,
    { cancellation }: RequestOptions,
    untilMs: number,
  ): Promise<Connected | RpcFailure> {
    return new Promise(resolve => {
      const settle = (opened: Connected | RpcFailure): void => {
        clearTimeout(timer)
        stop?.()
        resolve(opened)
      }
      const late = failure('timeout', 'the server did not complete the handshake in time', false)
      const timer = setTimeout(() => settle(late), Math.max(1, untilMs - performance.now()))
      const stop = cancellation?.onCancel(() => settle(failure('cancelled', 'the call was cancelled', false)))
      void session.opening.then(settle)
    })
  }

  #drop(session: Session): void {
    if (session.dropped) return
    session.dropped = true
    session.unlisten?.()
    if (this.#sessions.get(session.key) === session) this.#sessions.delete(session.key)
    if (session.inFlight === 0) void closed(session)
  }

  #makeSpace(): void {
    const { maxSessions = MAX_SESSIONS } = this.#options
    if (this.#sessions.size < maxSessions) return
    for (const session of this.#sessions.values()) {
      if (session.inFlight > 0) continue
      return this.#drop(session)
    }
  }

  #sweep(): void {
    const beforeMs = Date.now() - (this.#options.idleMs ?? IDLE_MS)
    for (const session of this.#sessions.values())
      if (session.inFlight === 0 && session.usedAtMs < beforeMs) this.#drop(session)
  }
}

async function closed({ opening }: Session): Promise<void> {
  const opened = await opening
  if (opened.kind === 'connected') await opened.connection.close()
}

function mayRepeat(outcome: RpcOutcome): outcome is RpcFailure {
  if (outcome.kind !== 'failure' || outcome.sent) return false
  return outcome.reason === 'session_lost' || outcome.reason === 'unreachable' || outcome.reason === 'reset'
}

const DOWN: ReadonlySet<RpcFailure['reason']> = new Set(['unreachable', 'reset', 'timeout'])

function verdictOn(outcome: RpcOutcome): 'succeeded' | 'failed' | 'neutral' {
  if (outcome.kind !== 'failure') return 'succeeded'
  return DOWN.has(outcome.reason) ? 'failed' : 'neutral'
}

/** The interface of the session store: MCP sessions of the legacy era and what crosses between instances. `memory/` and `redis/` implement it. */

/** What a session id says about itself; enough to serve a request without asking anybody. */
export interface SessionFacts {
  readonly protocolVersion: string
  /** `initialize`: minted by a POST. `stream`: minted by a GET (HTTP+SSE, MCP 2024-11-05); it ends with its stream. */
  readonly origin: 'initialize' | 'stream'
  /** The client declared the capability `elicitation`. */
  readonly elicitation: boolean
  /** Hash of the principal that opened it (`ownerOf`); '' while nobody with a credential has used it. */
  readonly owner: string
  /** Unix ms, to the second. */
  readonly createdAtMs: number
}

export interface Session extends SessionFacts {
  readonly id: string
  /** An HTTP+SSE stream is attached, here or on another instance: answers go there, not into the POST. */
  readonly legacyStream: boolean
}

/** What one instance tells the others about a session. Plain JSON. */
export type SessionSignal =
  /** A serialized JSON-RPC message for the session's legacy stream, wherever that is open. */
  | { readonly kind: 'message'; readonly message: string }
  /** The client's answer to a request of ours (elicitation). */
  | { readonly kind: 'response'; readonly id: string | number; readonly message: unknown }
  /** `notifications/cancelled`. */
  | { readonly kind: 'cancel'; readonly requestId: string | number }
  /** The session was ended: calls are aborted, streams closed. */
  | { readonly kind: 'end' }
  /** An event of a resumable stream, for those who listen to that stream; `last` when no more will come. */
  | { readonly kind: 'event'; readonly event: ReplayEvent; readonly last: boolean }

export interface SessionStatistics {
  readonly active_sessions: number
  /** Without open stream and idle for more than a third of the TTL (contract §3). */
  readonly zombie_sessions: number
  readonly total_created: number
}

/**
 * A resumable stream. It belongs to one session, and through it to the owner of that session: the same `streamId` with
 * another session names another stream, which does not exist.
 */
export interface StreamRef {
  readonly sessionId: string
  readonly streamId: string
}

/** A session by its id, or one of its streams. */
export type Channel = string | StreamRef

/** The text by which a store keeps and signals: no session id contains a slash, so no two channels share one. */
export function channelKey(channel: Channel): string {
  return typeof channel === 'string' ? channel : `${channel.sessionId}/${channel.streamId}`
}

export function isStreamKey(key: string): boolean {
  return key.includes('/')
}

export interface ReplayEvent {
  /** Position in its stream, from 0. */
  readonly n: number
  /** Serialized JSON-RPC message. */
  readonly data: string
}

export interface Replay {
  readonly events: readonly ReplayEvent[]
  /** The last event is among them or before them: nothing will follow. */
  readonly complete: boolean
}

export type MaybePromise<T> = T | Promise<T>

export interface SessionStore {
  create(facts: SessionFacts): MaybePromise<Session>
  /** Finds a live session and starts its TTL anew; undefined for unknown, ended and expired ids and for bad signatures. */
  find(id: string, nowMs: number): MaybePromise<Session | undefined>
  /** What `initialize` settled for a session that a stream had minted before. */
  update(id: string, facts: Pick<SessionFacts, 'protocolVersion' | 'elicitation'>): MaybePromise<void>
  /** Binds an unowned session to a principal. False when it belongs to another: answer as if it did not exist. */
  claim(session: Session, owner: string): MaybePromise<boolean>
  /** Ends it for every instance; false when it was not alive. */
  end(id: string): MaybePromise<boolean>

  /** Reaches every listener of this session or stream, on whichever instance. @returns how many listeners there were */
  signal(channel: Channel, signal: SessionSignal): MaybePromise<number>
  /** @returns stops listening */
  listen(channel: Channel, listener: (signal: SessionSignal) => void): () => void

  /** Keeps an event of a resumable stream; the oldest are dropped beyond the bound. */
  append(stream: StreamRef, event: ReplayEvent): void
  /** Events after `n`, oldest first, and whether the stream is complete; undefined when it is not known (any more). */
  replay(stream: StreamRef, afterN: number): MaybePromise<Replay | undefined>
  /** Told when the last event of a stream has been written: it may be forgotten after a grace period. */
  finish(stream: StreamRef): void

  /**
   * A stream of this session was opened or closed here; an open one keeps it from expiring and from counting as a zombie.
   * A session of origin `stream` ends with its last legacy stream. When it has settled, every instance knows.
   */
  setStreaming(id: string, kind: 'legacy' | 'standalone', open: boolean): MaybePromise<void>
  statistics(nowMs: number): MaybePromise<SessionStatistics>
  close(): MaybePromise<void>
}

/**
 * The interface of the session store, with its sessions, streams, signals and statistics, and the keys of its channels. `memory/`,
 * `redis/` and `threads/` implement it.
 */
import type { MaybePromise } from '../../base/and-then.ts'
import type { SessionPlace } from '../../mcp/client/server-session-store.ts'
import type { TaskStore } from './task-store.ts'

/** The facts encoded in a session id; they suffice to serve a request without a lookup. */
export interface SessionFacts {
  readonly protocolVersion: string
  /** `initialize`: minted by a POST. `stream`: minted by a GET (HTTP+SSE, MCP 2024-11-05); it ends with its stream. */
  readonly origin: 'initialize' | 'stream'
  /** The client declared the capability `elicitation`. */
  readonly elicitation: boolean
  /** The same for `sampling` and `roots`; absent: not declared. */
  readonly sampling?: boolean
  readonly roots?: boolean
  /** Hash of the principal that opened it (`ownerOf`); '' until a request with a credential uses it. */
  readonly owner: string
  /** Unix ms, to the second. */
  readonly createdAtMs: number
}

/** What may change after the id was minted. */
export interface SettledFacts
  extends Pick<SessionFacts, 'protocolVersion' | 'elicitation' | 'sampling' | 'roots'> {
  /** Log level of `logging/setLevel`; absent until then. */
  readonly logLevel?: string
}

export interface Session extends SessionFacts, SettledFacts {
  readonly id: string
  /** An HTTP+SSE stream is attached, here or on another instance: responses go there, not into the POST. */
  readonly legacyStream: boolean
}

/** A message between instances about a session. Plain JSON. */
export type SessionSignal =
  /** A serialized JSON-RPC message for the session's legacy stream, on the instance where it is open. */
  | { readonly kind: 'message'; readonly message: string }
  /** A serialized notification for the stream of the session, wherever it is open. */
  | { readonly kind: 'notification'; readonly message: string }
  /** A subscription to a resource ends. */
  | { readonly kind: 'unsubscribe'; readonly uri: string }
  /** The client's response to a request of the gateway (elicitation, sampling, roots). */
  | { readonly kind: 'response'; readonly id: string | number; readonly message: unknown }
  /** `notifications/cancelled`. */
  | { readonly kind: 'cancel'; readonly requestId: string | number }
  /** A task changed: those who wait for it read it again. */
  | { readonly kind: 'task_changed' }
  /** A task is to be cancelled, by the instance that runs its call. */
  | { readonly kind: 'task_cancel' }
  /** Results of the open questions of a task, by name. */
  | { readonly kind: 'task_input'; readonly responses: { readonly [name: string]: unknown } }
  /** A message of an MCP server, for the threads and instances that use one session with it. */
  | { readonly kind: 'server_message'; readonly text: string }
  /** The session was ended: calls are aborted, streams closed. */
  | { readonly kind: 'end' }
  /** An event of a resumable stream, for its listeners; `last` when it is the final one. */
  | { readonly kind: 'event'; readonly event: ReplayEvent; readonly last: boolean }

export interface SessionStatistics {
  readonly active_sessions: number
  /** Without open stream and idle for more than a third of the TTL. */
  readonly zombie_sessions: number
  readonly total_created: number
}

/**
 * A resumable stream. It belongs to one session, and through it to the owner of that session: the same `streamId` with
 * another session is an unknown stream.
 */
export interface StreamRef {
  readonly sessionId: string
  readonly streamId: string
}

/** The channel of a task, beside those of sessions. */
export function taskChannel(id: string): string {
  return `task:${id}`
}

/** The channel of a session with an MCP server. */
export function serverChannel({ caller, server }: SessionPlace): string {
  return `server:${caller}:${server}`
}

/** A session by its id, one of its streams, a task, or a session with an MCP server. */
export type Channel = string | StreamRef

/** The key of a channel in a store: no session id contains a slash, so no two channels share one. */
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
  /** The stream is complete: no event follows these. */
  readonly complete: boolean
}

export interface SessionStore {
  /** For the same instances as the sessions. */
  readonly tasks: TaskStore
  create(facts: SessionFacts): MaybePromise<Session>
  /**
   * Finds a live session and renews its TTL; undefined for unknown, ended and expired ids and for bad signatures. `unavailable`: the store does
   * not respond, and only it knows whether the stream of the session is open at another instance.
   */
  find(id: string, nowMs: number): MaybePromise<Session | 'unavailable' | undefined>
  /** The ids that `find` would not find, as far as it is known now; it renews no TTL. */
  findExpired(ids: readonly string[], nowMs: number): MaybePromise<readonly string[]>
  /** Stores the result of `initialize` for a session that a stream had minted before, or another log level. */
  update(id: string, facts: SettledFacts): MaybePromise<void>
  /** Binds an unowned session to a principal. False when it belongs to another: respond as if it did not exist. */
  claim(session: Session, owner: string): MaybePromise<boolean>
  /** Ends it for every instance; false when it was not alive. `unavailable`: it lives on, since its end could not be stored. */
  end(id: string): MaybePromise<boolean | 'unavailable'>

  /** Signals every listener of this channel, on all instances. @returns number of listeners here, with Redis plus that of subscribed instances */
  signal(channel: Channel, signal: SessionSignal): MaybePromise<number>
  /** @returns stops listening */
  listen(channel: Channel, listener: (signal: SessionSignal) => void): () => void

  /** Stores an event of a resumable stream; beyond the bound the oldest are dropped. */
  append(stream: StreamRef, event: ReplayEvent): void
  /** Events after `n`, oldest first, and whether the stream is complete; undefined when the stream is unknown or evicted. */
  replay(stream: StreamRef, afterN: number): MaybePromise<Replay | undefined>
  /** Called after the last event of a stream: it may be evicted after a grace period. */
  finish(stream: StreamRef): void

  /**
   * A stream of this session was opened or closed here; an open one keeps it from expiring and from counting as a zombie.
   * A session of origin `stream` ends with its last legacy stream. When the promise settles, every instance has the change, if the store responds.
   */
  setStreaming(id: string, kind: 'legacy' | 'standalone', open: boolean): MaybePromise<void>
  /** undefined: the store does not respond. */
  statistics(nowMs: number): MaybePromise<SessionStatistics | undefined>
  close(): MaybePromise<void>
}

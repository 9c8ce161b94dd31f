/** The interfaces of the store and the relay of sessions with MCP servers that several threads and instances use, and their keys. */
import { createHash } from 'node:crypto'

/** A session of streamable HTTP (2025-03-26 to 2025-11-25), as its server minted it. Plain JSON. */
export interface ServerSession {
  readonly id: string
  /** Protocol version of the handshake. */
  readonly version: string
  /** The server takes `logging/setLevel`. */
  readonly logging: boolean
}

/** Whose session it is, and with which server: hashes, because addresses and headers may hold credentials. */
export interface SessionPlace {
  /** For a session of a caller, or of a caller without one (`callerKey`). */
  readonly caller: string
  /** Begins with the key of the server (`serverKey`). */
  readonly server: string
}

/** A store whose methods never reject. */
export interface ServerSessionStore {
  get(place: SessionPlace): Promise<ServerSession | 'unavailable' | undefined>
  /**
   * Stores the session unless there is one, and keeps the stored one for another lifetime.
   * @returns the stored one; undefined: the store does not respond
   */
  settle(place: SessionPlace, session: ServerSession): Promise<ServerSession | undefined>
  /**
   * Removes this session, if no thread or instance has settled it for `unusedMs`; another one in the place stays.
   * @returns true for one of all that ask at the same time: that one ends it at the server; undefined: the store does not respond
   */
  remove(place: SessionPlace, id: string, unusedMs?: number): Promise<boolean | undefined>
  /** Sessions of a caller; undefined: the store does not respond. */
  list(caller: string): Promise<readonly (readonly [SessionPlace, ServerSession])[] | undefined>
  /** @returns true for one of all that ask for this name within a minute */
  claim(place: SessionPlace, name: string): Promise<boolean>
}

/** Carries texts between the threads and instances that use one session; they may be lost. */
export interface SessionRelay {
  publish(place: SessionPlace, text: string): void
  /** @returns stops listening */
  listen(place: SessionPlace, listener: (text: string) => void): () => void
}

export function callerKey(caller: string): string {
  return hash(caller)
}

export function serverKey(server: string): string {
  return hash(server)
}

export function sessionPlace(owner: string, server: string, rest: string): SessionPlace {
  return { caller: hash(owner), server: `${hash(server)}.${hash(rest)}` }
}

/** 128 bits, which a file name and a key can hold. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

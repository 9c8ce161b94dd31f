/** Opens sessions with MCP servers, or continues stored ones, and caches how servers were reached. */

import { setTimeout as sleep } from 'node:timers/promises'
import { BoundedMap } from '../../base/async/bounded-map.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { ClientInfo, Dict, RpcFailure, ServerAddress } from '../protocol.ts'
import { type Connected, connect, type Era, resumeSession } from './connect.ts'
import { type ServerSession, type SessionPlace, sessionPlace } from './server-session-store.ts'
import { type StoredOptions, StoredSession } from './stored-session.ts'

export interface SessionScope {
  readonly address: ServerAddress
  /** The same for calls that may share a session with the server. */
  readonly key: string
  /** The same for calls that share one if the server has sessions; '': all calls. */
  readonly caller: string
  /** Caller session of the caller with the gateway, if there is one. */
  readonly callerSession?: string | undefined
  /** An access token for what belongs to no call, such as the handshake: a session sends that of its latest call. */
  readonly token?: string | undefined
  /** The same for calls whose tokens belong to one caller; '' or absent: the tokens belong to the gateway. */
  readonly tokenOwner?: string | undefined
  /** For the caller's client, declared in a handshake; they are the same for one `caller`. */
  readonly capabilities?: Dict | undefined
  /** Calls the listener when the caller's session with the gateway ends; @returns stops listening */
  readonly onEnd?: ((listener: () => void) => () => void) | undefined
}

export interface OpenerOptions {
  readonly egress: Egress
  readonly client: ClientInfo
  /** For one message of an event stream of 2024-11-05. */
  readonly maxEventCharacters: number
  /** After which the session of a caller who has none with the gateway is closed, if it is idle. */
  readonly idleMs?: number
  /** The same for a caller who has one: as long as that may be idle. */
  readonly callerIdleMs?: number
  /** Absent: each caller has a session for each thread. */
  readonly stored?: StoredOptions | undefined
}

export type Opened = Connected & { readonly stored?: StoredSession | undefined }

/** What was seen of a server; kept without its sessions. */
interface Known {
  readonly era: Era
  readonly hasSession: boolean
}

const IDLE_MS = 300_000
/** Between requests to a store that does not respond. */
const STORE_PAUSES_MS = [20, 50, 100]
const MAX_KNOWN = 10_000
const MAX_LOST = 10_000
/** A handshake takes part of the time of the call that needs it. */
const CONNECT_TIMEOUT_MS = 10_000

export class SessionOpener {
  /** For this thread, since its start. */
  readonly counts = { connects: 0, resumed: 0 }
  readonly #options: OpenerOptions
  readonly #known = new BoundedMap<string, Known>(MAX_KNOWN)
  /** Ids that their servers do not know any more: the store may still have them. */
  readonly #lost = new BoundedMap<string, true>(MAX_LOST)

  constructor(options: OpenerOptions) {
    this.#options = options
  }

  /** Whether the server has sessions; undefined: it was not reached yet. */
  hasSession(key: string): boolean | undefined {
    return this.#known.get(key)?.hasSession
  }

  addLost(id: string): void {
    this.#lost.set(id, true)
  }

  idleMsOf({ callerSession }: SessionScope): number {
    const { idleMs = IDLE_MS, callerIdleMs = idleMs } = this.#options
    return callerSession === undefined ? idleMs : callerIdleMs
  }

  /** Continues the stored session of the caller, or opens one and stores it. */
  async open(scope: SessionScope, untilMs: number): Promise<Opened | RpcFailure> {
    const { stored } = this.#options
    const place = stored === undefined ? undefined : this.#placeOf(scope)
    if (stored === undefined || place === undefined) {
      const connected = await this.#connect(scope, untilMs)
      if (connected.kind === 'connected' && mayAsk(scope, connected)) void connected.connection.listen()
      return connected
    }
    const { store } = stored
    const found = await askOr(() => store.get(place), 'unavailable')
    if (typeof found === 'object') {
      if (!this.#lost.has(found.id)) return this.#toResumed(scope, place, found)
      await store.remove(place, found.id)
    }
    const connected = await this.#connect(scope, untilMs)
    const { session } = connected.kind === 'connected' ? connected : {}
    if (connected.kind === 'failure' || session === undefined) return connected
    const settled = await askOr(() => store.settle(place, session), undefined)
    if (settled !== undefined && settled.id !== session.id) {
      // another thread or instance was first
      void connected.connection.close()
      return this.#toResumed(scope, place, settled)
    }
    return this.#storedAs(scope, place, connected, settled !== undefined)
  }

  #toResumed(scope: SessionScope, place: SessionPlace, session: ServerSession): Opened {
    this.counts.resumed++
    this.#know(scope.key, { era: 'streamable', hasSession: true })
    return this.#storedAs(scope, place, resumeSession(scope.address, this.#options, session), true)
  }

  #storedAs(scope: SessionScope, place: SessionPlace, connected: Connected, isStored: boolean): Opened {
    const { stored: options } = this.#options
    const { session } = connected
    const idleMs = this.idleMsOf(scope)
    const at = { place, isStored, asks: mayAsk(scope, connected), idleMs }
    const stored = new StoredSession(options!, { ...connected, session: session! }, at)
    return { ...connected, stored }
  }

  /** undefined: all calls may share the session, or only this process can use it. */
  #placeOf({ key, caller, callerSession, tokenOwner = '' }: SessionScope): SessionPlace | undefined {
    const known = this.#known.get(key)
    if (caller === '' || known?.hasSession === false || known?.era === 'sse') return undefined
    return sessionPlace(callerSession ?? caller, key, `${tokenOwner}\n${caller}`)
  }

  #know(key: string, known: Known): void {
    this.#known.set(key, known)
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
    if (connected.kind === 'failure') this.#known.delete(key)
    else this.#know(key, { era: connected.era, hasSession: connected.hasSession })
    return connected
  }
}

/** Repeats a request to a store that does not respond: another session would begin without what the server keeps for the caller. */
async function askOr<T>(ask: () => Promise<T>, missing: T): Promise<T> {
  for (const pauseMs of STORE_PAUSES_MS) {
    const found = await ask()
    if (found !== missing) return found
    await sleep(pauseMs)
  }
  return ask()
}

/** A server may ask on the stream of the session instead of that of the call. */
function mayAsk({ capabilities }: SessionScope, { era, hasSession }: Connected): boolean {
  return capabilities !== undefined && era === 'streamable' && hasSession
}

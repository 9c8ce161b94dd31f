/** A session with an MCP server that a store may share: its renewal, release and stream, and the relay of its messages. `session-opener.ts` makes it. */
import { createHash, randomUUID } from 'node:crypto'
import type { Connected } from './connect.ts'
import type { Unrequested } from './server-connection.ts'
import type { ServerSession, ServerSessionStore, SessionPlace, SessionRelay } from './server-session-store.ts'

/** `ended`: with the session of the caller. `lost`: the server does not know it any more. `released`: others, or the next process, continue it. */
export type Departure = 'ended' | 'lost' | 'idle' | 'released'

export interface StoredOptions {
  readonly store: ServerSessionStore
  readonly relay?: SessionRelay | undefined
}

/** A use renews the stored session, though not more often. */
const RENEW_MS = 30_000
const LISTEN_AGAIN_MS = 1_000
/** A request of the server that no thread or instance has taken by then is refused. */
const UNTAKEN_MS = 1_000

export class StoredSession {
  readonly place: SessionPlace
  readonly session: ServerSession
  readonly #options: StoredOptions
  readonly #connected: Connected
  readonly #idleMs: number
  readonly #unlisten: (() => void) | undefined
  /** False while the store has not responded: only this thread knows the session. */
  #isStored: boolean
  #renewAtMs: number
  #listenAtMs = 0
  #isListening = false

  /** @param asks the server may ask the caller's client: on the stream of the session, which one connection receives */
  constructor(
    options: StoredOptions,
    connected: Connected & { readonly session: ServerSession },
    at: { place: SessionPlace; isStored: boolean; asks: boolean; idleMs: number },
  ) {
    this.#options = options
    this.#connected = connected
    this.session = connected.session
    this.place = at.place
    this.#isStored = at.isStored
    this.#idleMs = at.idleMs
    this.#renewAtMs = Date.now() + (at.isStored ? RENEW_MS : 0)
    this.#unlisten = at.asks ? this.#exchange() : undefined
  }

  /** Before a call: receives the stream of the session, if no other connection does. */
  attend(): void {
    if (this.#unlisten === undefined || this.#isListening || Date.now() < this.#listenAtMs) return
    this.#isListening = true
    void this.#connected.connection.listen().then(() => {
      this.#isListening = false
      this.#listenAtMs = Date.now() + LISTEN_AGAIN_MS
    })
  }

  get isDue(): boolean {
    return Date.now() >= this.#renewAtMs
  }

  /** @returns false: another session is stored in the place, and this one is to be ended */
  async renew(): Promise<boolean> {
    this.#renewAtMs = Date.now() + RENEW_MS
    const stored = await this.#options.store.settle(this.place, this.session)
    this.#isStored = stored?.id === this.session.id
    return stored === undefined || this.#isStored
  }

  /** @returns whether the session stays open at the server */
  async release(why: Departure): Promise<boolean> {
    this.#unlisten?.()
    if (!this.#isStored) return false
    const { store } = this.#options
    const { place, session } = this
    switch (why) {
      case 'released':
        return true
      case 'idle':
        return (await store.remove(place, session.id, this.#idleMs)) !== true
      default:
        return (await store.remove(place, session.id)) === false
    }
  }

  /** @returns stops receiving what concerns calls of this connection */
  #exchange(): () => void {
    const { relay, store } = this.#options
    const { connection } = this.#connected
    if (relay === undefined) return () => {}
    const self = randomUUID()
    const claim = (id: unknown): Promise<boolean> => store.claim(this.place, nameOf(this.session, id))
    connection.onStray = message => {
      relay.publish(this.place, JSON.stringify({ from: self, message } satisfies Relayed))
      if (message.kind !== 'request') return
      setTimeout(async () => {
        if (await claim(message.id)) await connection.refuse(message)
      }, UNTAKEN_MS).unref()
    }
    return relay.listen(this.place, async text => {
      const { from, message } = JSON.parse(text) as Relayed
      if (from === self || !connection.concerns(message)) return
      if (message.kind !== 'request' || (await claim(message.id))) connection.onMessage(message)
    })
  }
}

interface Relayed {
  readonly from: string
  readonly message: Unrequested
}

/** For a request of the server, in its session. */
function nameOf({ id }: ServerSession, requestId: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([id, requestId]))
    .digest('hex')
    .slice(0, 32)
}

/** Pending calls of sessions in this thread and questions to their clients, with the signals that reach them. */
import { Chain, type Linked } from '../../../base/async/chain.ts'
import type { Cancellation } from '../../../base/cancellation.ts'
import type { SessionSignal, SessionStore } from '../../sessions/session-store.ts'
import { type RequestId, storedId } from './message.ts'

type StoredId = string | number

/** A pending call, in the list of its session. */
export class SessionCall implements Linked {
  previous: Linked | undefined
  next: Linked | undefined
  readonly id: StoredId
  readonly cancellation: Cancellation
  readonly #calls: SessionCalls

  constructor(calls: SessionCalls, id: StoredId, cancellation: Cancellation) {
    this.#calls = calls
    this.id = id
    this.cancellation = cancellation
  }

  /** Called once, when the call has its reply. */
  end(): void {
    this.#calls.remove(this)
  }
}

/** Session calls of one session, while it has a pending call or question. */
class SessionCalls {
  readonly #chain = new Chain<SessionCall>()
  /** Pending requests of the server to the client; most sessions have none. */
  #questions: Map<StoredId, (message: unknown) => void> | undefined
  readonly #leave: () => void

  /** @param leave the session has neither calls nor questions now */
  constructor(leave: () => void) {
    this.#leave = leave
  }

  add(id: StoredId, cancellation: Cancellation): SessionCall {
    const call = new SessionCall(this, id, cancellation)
    this.#chain.append(call)
    return call
  }

  remove(call: SessionCall): void {
    this.#chain.remove(call)
    this.#leaveIfIdle()
  }

  ask(id: StoredId, responded: (message: unknown) => void): () => void {
    this.#questions ??= new Map()
    this.#questions.set(id, responded)
    return () => {
      this.#questions!.delete(id)
      this.#leaveIfIdle()
    }
  }

  receive(signal: SessionSignal): void {
    if (signal.kind === 'cancel') this.#newest(signal.requestId)?.cancel()
    else if (signal.kind === 'end') for (const { cancellation } of this.#chain.items()) cancellation.cancel()
    else if (signal.kind === 'response') this.#questions?.get(signal.id)?.(signal.message)
  }

  /** 1 and "1" are different ids (JSON-RPC 2.0 §4). Of calls with one id, the client can only mean the last one. */
  #newest(id: StoredId): Cancellation | undefined {
    return this.#chain.items().findLast(call => call.id === id)?.cancellation
  }

  #leaveIfIdle(): void {
    if (this.#chain.first === undefined && (this.#questions?.size ?? 0) === 0) this.#leave()
  }
}

export class InFlight {
  readonly #store: SessionStore
  readonly #sessions = new Map<string, SessionCalls>()

  constructor(store: SessionStore) {
    this.#store = store
  }

  add(sessionId: string, id: RequestId, cancellation: Cancellation): SessionCall {
    return this.#callsOf(sessionId).add(storedId(id), cancellation)
  }

  /** Registers a request of the server to the client. @returns removes it */
  ask(sessionId: string, id: RequestId, responded: (message: unknown) => void): () => void {
    return this.#callsOf(sessionId).ask(storedId(id), responded)
  }

  #callsOf(sessionId: string): SessionCalls {
    return this.#sessions.get(sessionId) ?? this.#enter(sessionId)
  }

  #enter(sessionId: string): SessionCalls {
    const unlisten = this.#store.listen(sessionId, signal => calls.receive(signal))
    const calls = new SessionCalls(() => {
      unlisten()
      if (this.#sessions.get(sessionId) === calls) this.#sessions.delete(sessionId)
    })
    this.#sessions.set(sessionId, calls)
    return calls
  }
}

/** Pending calls of sessions in this thread and questions to their clients, with the signals that reach them. It sends nothing. */
import type { Cancellation } from '../../../shared/call/cancellation.ts'
import type { SessionStore } from '../../sessions/session-store.ts'
import { type RequestId, storedId } from './message.ts'

interface SessionCalls {
  readonly calls: Map<string, Cancellation>
  /** Pending requests of the server to the client. */
  readonly questions: Map<string, (message: unknown) => void>
  readonly unlisten: () => void
}

/** 1 and "1" are different ids (JSON-RPC 2.0 §4). */
function keyOf(id: RequestId): string {
  const stored = storedId(id)
  return `${typeof stored}:${stored}`
}

export class InFlight {
  readonly #store: SessionStore
  readonly #sessions = new Map<string, SessionCalls>()

  constructor(store: SessionStore) {
    this.#store = store
  }

  /** @returns removes the call */
  add(sessionId: string, id: RequestId, cancellation: Cancellation): () => void {
    const session = this.#session(sessionId)
    const key = keyOf(id)
    session.calls.set(key, cancellation)
    return () => {
      if (session.calls.get(key) === cancellation) session.calls.delete(key)
      this.#leave(sessionId, session)
    }
  }

  /** Registers a request of the server to the client. @returns removes it */
  ask(sessionId: string, id: RequestId, responded: (message: unknown) => void): () => void {
    const session = this.#session(sessionId)
    const key = keyOf(id)
    session.questions.set(key, responded)
    return () => {
      session.questions.delete(key)
      this.#leave(sessionId, session)
    }
  }

  #session(sessionId: string): SessionCalls {
    const known = this.#sessions.get(sessionId)
    if (known !== undefined) return known
    const unlisten = this.#store.listen(sessionId, signal => {
      if (signal.kind === 'cancel') session.calls.get(keyOf(signal.requestId))?.cancel()
      else if (signal.kind === 'end') for (const call of [...session.calls.values()]) call.cancel()
      else if (signal.kind === 'response') session.questions.get(keyOf(signal.id))?.(signal.message)
    })
    const session: SessionCalls = { calls: new Map(), questions: new Map(), unlisten }
    this.#sessions.set(sessionId, session)
    return session
  }

  #leave(sessionId: string, session: SessionCalls): void {
    if (session.calls.size > 0 || session.questions.size > 0) return
    session.unlisten()
    if (this.#sessions.get(sessionId) === session) this.#sessions.delete(sessionId)
  }
}

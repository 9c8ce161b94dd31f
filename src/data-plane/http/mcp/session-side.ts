/** What a request may do with its session: end with it, watch resources, and set the level of log messages. */
import type { MaybePromise } from '../../../base/and-then.ts'
import type { Session, SessionStore } from '../../sessions/session-store.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'
import type { ResourceSubscriptions } from './resource-subscriptions.ts'

/** Methods in place of functions, which would be made for each call of a session. */
export class SessionSide {
  readonly #sessions: SessionStore
  readonly #subscriptions: ResourceSubscriptions
  readonly #session: Session

  constructor(sessions: SessionStore, subscriptions: ResourceSubscriptions, session: Session) {
    this.#sessions = sessions
    this.#subscriptions = subscriptions
    this.#session = session
  }

  get id(): string {
    return this.#session.id
  }

  /** Calls the listener once, when the session ends. @returns stops listening */
  onEnd(listener: () => void): () => void {
    return this.#sessions.listen(this.id, signal => {
      if (signal.kind === 'end') listener()
    })
  }

  /** Notifies the client of changes of a resource. @returns what prevents it; undefined: nothing */
  watch(entry: CompiledTool, uri: string): string | undefined {
    return this.#subscriptions.add(this.id, entry, uri)
  }

  unwatch(uri: string): void {
    this.#subscriptions.remove(this.id, uri)
  }

  /** Stores the level of log messages that the client wants. */
  setLogLevel(logLevel: string): MaybePromise<void> {
    const { id, protocolVersion, elicitation, sampling = false, roots = false } = this.#session
    const facts = { protocolVersion, elicitation, sampling, roots, logLevel }
    return this.#sessions.update(id, facts)
  }
}

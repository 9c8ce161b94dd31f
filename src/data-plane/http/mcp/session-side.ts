/** What a request may do with its session: end with it, watch resources, and set the level of log messages. It checks no owner. */
import type { MaybePromise } from '../../../shared/call/and-then.ts'
import type { Session } from '../../sessions/session-store.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'
import type { McpParts } from './parts.ts'

/** Methods in place of functions, which would be made for each call of a session. */
export class SessionSide {
  readonly #parts: Pick<McpParts, 'gateway' | 'subscriptions'>
  readonly #session: Session

  constructor(parts: Pick<McpParts, 'gateway' | 'subscriptions'>, session: Session) {
    this.#parts = parts
    this.#session = session
  }

  get id(): string {
    return this.#session.id
  }

  /** Calls the listener once, when the session ends. @returns stops listening */
  onEnd(listener: () => void): () => void {
    return this.#parts.gateway.sessions.listen(this.id, signal => {
      if (signal.kind === 'end') listener()
    })
  }

  /** Notifies the client of changes of a resource. @returns what prevents it; undefined: nothing */
  watch(entry: CompiledTool, uri: string): string | undefined {
    return this.#parts.subscriptions.add(this.id, entry, uri)
  }

  unwatch(uri: string): void {
    this.#parts.subscriptions.remove(this.id, uri)
  }

  /** Stores the level of log messages that the client wants. */
  setLogLevel(logLevel: string): MaybePromise<void> {
    const { id, protocolVersion, elicitation, sampling = false, roots = false } = this.#session
    const facts = { protocolVersion, elicitation, sampling, roots, logLevel }
    return this.#parts.gateway.sessions.update(id, facts)
  }
}

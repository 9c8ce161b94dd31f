/** Who listens to which session on this instance. It carries nothing to other instances: the stores do. */
import type { SessionSignal } from './session-store.ts'

type Listener = (signal: SessionSignal) => void

export class SignalListeners {
  readonly #listeners = new Map<string, Set<Listener>>()

  /** @returns stops listening */
  listen(id: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(id, listeners)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  /** @returns how many were told */
  deliver(id: string, signal: SessionSignal): number {
    const listeners = this.#listeners.get(id)
    if (listeners === undefined) return 0
    for (const listener of [...listeners]) listener(signal)
    return listeners.size
  }

  /** Nobody hears of this session any more. */
  forget(id: string): void {
    this.#listeners.delete(id)
  }
}

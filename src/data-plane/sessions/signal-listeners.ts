/** Who listens to which session on this instance. It carries nothing to other instances: the stores do. */
import type { SessionSignal } from './session-store.ts'

type Listener = (signal: SessionSignal) => void

export class SignalListeners {
  /** One listener is the rule, and a set for each would cost more than all else a session keeps. */
  readonly #listeners = new Map<string, Listener | readonly Listener[]>()

  /** @returns stops listening */
  listen(id: string, listener: Listener): () => void {
    const others = this.#of(id)
    this.#listeners.set(id, others.length === 0 ? listener : [...others, listener])
    return () => this.#remove(id, listener)
  }

  /** @returns how many were told */
  deliver(id: string, signal: SessionSignal): number {
    const listeners = this.#of(id)
    for (const listener of listeners) listener(signal)
    return listeners.length
  }

  ids(): readonly string[] {
    return [...this.#listeners.keys()]
  }

  has(id: string): boolean {
    return this.#listeners.has(id)
  }

  /** Nobody hears of this session any more. */
  forget(id: string): void {
    this.#listeners.delete(id)
  }

  #of(id: string): readonly Listener[] {
    const found = this.#listeners.get(id)
    if (found === undefined) return NOBODY
    return typeof found === 'function' ? [found] : found
  }

  #remove(id: string, listener: Listener): void {
    const left = this.#of(id).filter(other => other !== listener)
    if (left.length > 0) this.#listeners.set(id, left)
    else this.#listeners.delete(id)
  }
}

const NOBODY: readonly Listener[] = []

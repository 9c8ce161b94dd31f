/** Registers listeners by channel, and calls those of a channel with a signal. */
import type { SessionSignal } from './session-store.ts'

type Listener = (signal: SessionSignal) => void

export class SignalListeners {
  /** Usually one listener: a set for each would take more memory than the rest of a session. */
  readonly #listeners = new Map<string, Listener | readonly Listener[]>()

  /** @returns stops listening */
  listen(id: string, listener: Listener): () => void {
    const others = this.#of(id)
    this.#listeners.set(id, others.length === 0 ? listener : [...others, listener])
    return () => this.#remove(id, listener)
  }

  /** @returns number of listeners called */
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

  /** Removes all listeners of a session. */
  removeAll(id: string): void {
    this.#listeners.delete(id)
  }

  #of(id: string): readonly Listener[] {
    const found = this.#listeners.get(id)
    if (found === undefined) return NONE
    return typeof found === 'function' ? [found] : found
  }

  #remove(id: string, listener: Listener): void {
    const left = this.#of(id).filter(other => other !== listener)
    if (left.length > 0) this.#listeners.set(id, left)
    else this.#listeners.delete(id)
  }
}

const NONE: readonly Listener[] = []

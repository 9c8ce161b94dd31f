/** One-shot cancellation of a call: cheaper than an AbortController unless a signal is needed. It knows no cause. */

/** Cancelled at most once; listeners run synchronously and in order. A listener added afterwards runs at once. */
export class Cancellation {
  #cancelled = false
  #listeners: (() => void)[] | undefined
  #controller: AbortController | undefined

  get cancelled(): boolean {
    return this.#cancelled
  }

  cancel(): void {
    if (this.#cancelled) return
    this.#cancelled = true
    this.#controller?.abort()
    const listeners = this.#listeners
    this.#listeners = undefined
    if (listeners !== undefined) for (const listener of listeners) listener()
  }

  /** @returns removes the listener */
  onCancel(listener: () => void): () => void {
    if (this.#cancelled) {
      listener()
      return () => {}
    }
    this.#listeners ??= []
    const listeners = this.#listeners
    listeners.push(listener)
    return () => {
      const at = listeners.indexOf(listener)
      if (at >= 0) listeners.splice(at, 1)
    }
  }

  /** For libraries that take an AbortSignal. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#cancelled) this.#controller.abort()
    }
    return this.#controller.signal
  }
}

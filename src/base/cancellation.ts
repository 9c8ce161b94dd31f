/** The cancellation of a call, its listeners, and an AbortSignal for libraries. */

/** What a cancellation ends. An object in place of a function: a call adds two, and each function would be made for it. */
export interface Cancelable {
  /** @param reason as given to `cancel` */
  onCancelled(reason: unknown): void
}

/** Cancelled at most once; listeners run synchronously and in order. A listener added afterwards runs at once. */
export class Cancellation {
  #reason: unknown
  #first: Cancelable | undefined
  #second: Cancelable | undefined
  #others: Cancelable[] | undefined
  #controller: AbortController | undefined

  get cancelled(): boolean {
    return this.#reason !== undefined
  }

  /** Why it was cancelled; undefined: it was not. */
  get reason(): unknown {
    return this.#reason
  }

  /** @param reason absent: the caller wants no result */
  cancel(reason: unknown = true): void {
    if (this.cancelled) return
    this.#reason = reason
    this.#controller?.abort()
    const [first, second, others] = [this.#first, this.#second, this.#others]
    this.#first = undefined
    this.#second = undefined
    this.#others = undefined
    first?.onCancelled(reason)
    second?.onCancelled(reason)
    if (others !== undefined) for (const other of others) other.onCancelled(reason)
  }

  add(listener: Cancelable): void {
    if (this.cancelled) listener.onCancelled(this.#reason)
    // in order: what is free before a later listener stays free
    else if (this.#others !== undefined) this.#others.push(listener)
    else if (this.#second !== undefined) this.#others = [listener]
    else if (this.#first !== undefined) this.#second = listener
    else this.#first = listener
  }

  remove(listener: Cancelable): void {
    if (this.#first === listener) this.#first = undefined
    else if (this.#second === listener) this.#second = undefined
    else {
      const at = this.#others?.indexOf(listener) ?? -1
      if (at >= 0) this.#others!.splice(at, 1)
    }
  }

  /** @returns removes the listener. Where it is cancelled already, the listener runs before the caller has this function. */
  onCancel(listener: () => void): () => void {
    const added = { onCancelled: listener }
    this.add(added)
    return () => this.remove(added)
  }

  /** For libraries that take an AbortSignal. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.cancelled) this.#controller.abort()
    }
    return this.#controller.signal
  }
}

/** A value or an error that arrives later, for one reader. `and-then.ts` continues with it or with a Promise. */

type State = 'pending' | 'value' | 'error'

/**
 * Calls the reader as soon as the value arrives, without a turn of the microtask queue, and takes a third of the memory of a Promise with its
 * reaction: a call waits for its backend through six of them. Code off the hot path awaits it as it would a Promise.
 */
export class Later<T> implements PromiseLike<T> {
  #state: State = 'pending'
  #result: unknown
  /** `never` leaves a Later of a part assignable to one of the whole. */
  #onValue: ((value: never) => unknown) | undefined
  #onError: ((error: unknown) => unknown) | undefined
  /** Receives what the reader returns. */
  #after: Later<unknown> | undefined

  /** Only the first result counts. */
  resolve(value: T): void {
    this.#settle('value', value)
  }

  /** An error that no reader takes over becomes an unhandled rejection. */
  reject(error: unknown): void {
    this.#settle('error', error)
  }

  /** @throws Error for a second reader: a value for several readers is a Promise */
  // biome-ignore lint/suspicious/noThenProperty: it can be awaited
  then<R = T, E = never>(
    onValue?: ((value: T) => R | PromiseLike<R>) | null,
    onError?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): Later<R | E> {
    const after = new Later<R | E>()
    this.#onValue = onValue ?? undefined
    this.#onError = onError ?? undefined
    this.#passTo(after)
    return after
  }

  #passTo(after: Later<unknown>): void {
    if (this.#after !== undefined)
      throw new Error('this Later object already has a reader, and only one reader is allowed')
    this.#after = after
    if (this.#state !== 'pending') this.#run(after)
  }

  #settle(state: State, result: unknown): void {
    if (this.#state !== 'pending') return
    this.#state = state
    this.#result = result
    if (this.#after !== undefined) this.#run(this.#after)
    // a reader that awaits comes after the microtasks of now
    else if (state === 'error') setImmediate(Later.#reportUnread, this)
  }

  /** Static: a closure would make V8 allocate a scope whenever a value arrives. */
  static #reportUnread(late: Later<unknown>): void {
    if (late.#after === undefined) void Promise.reject(late.#result)
  }

  #run(after: Later<unknown>): void {
    const read = this.#state === 'value' ? this.#onValue : this.#onError
    if (read === undefined) return after.#settle(this.#state, this.#result)
    try {
      const returned = read(this.#result as never)
      if (returned instanceof Later) returned.#passTo(after)
      else if (returned instanceof Promise) passPromise(returned, after)
      else after.resolve(returned)
    } catch (error) {
      after.reject(error)
    }
  }
}

function passPromise(promise: Promise<unknown>, after: Later<unknown>): void {
  promise.then(
    value => after.resolve(value),
    error => after.reject(error),
  )
}

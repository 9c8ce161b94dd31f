/** A value or an error that arrives later, for one reader. `and-then.ts` continues with it or with a Promise. */

type State = 'pending' | 'value' | 'error'

/** Receives a value or an error in place of two functions. What its methods throw becomes an unhandled rejection. */
export interface Reader<T> {
  onValue(value: T): void
  onError(error: unknown): void
}

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
  #reader: Reader<never> | undefined

  /** Only the first result counts. */
  resolve(value: T): void {
    this.#settle('value', value)
  }

  /** Resolves with a value that is known, or settles as a pending one does. */
  settleAs(value: T | Promise<T> | Later<T>): void {
    if (value instanceof Later) value.#passTo(this)
    else if (value instanceof Promise) passPromise(value, this)
    else this.resolve(value)
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

  /**
   * As `then`, for a reader with nothing after it: neither functions nor another Later are made.
   * @throws Error for a second reader
   */
  readBy(reader: Reader<T>): void {
    this.#refuseSecondReader()
    this.#reader = reader
    if (this.#state !== 'pending') this.#notify(reader)
  }

  #passTo(after: Later<unknown>): void {
    this.#refuseSecondReader()
    this.#after = after
    if (this.#state !== 'pending') this.#run(after)
  }

  #refuseSecondReader(): void {
    if (this.#after !== undefined || this.#reader !== undefined)
      throw new Error('this Later object already has a reader, and only one reader is allowed')
  }

  #settle(state: State, result: unknown): void {
    if (this.#state !== 'pending') return
    this.#state = state
    this.#result = result
    if (this.#after !== undefined) this.#run(this.#after)
    else if (this.#reader !== undefined) this.#notify(this.#reader)
    // a reader that awaits comes after the microtasks of now
    else if (state === 'error') setImmediate(Later.#reportUnread, this)
  }

  /** Static: a closure would make V8 allocate a scope whenever a value arrives. */
  static #reportUnread(late: Later<unknown>): void {
    if (late.#after === undefined && late.#reader === undefined) void Promise.reject(late.#result)
  }

  #notify(reader: Reader<never>): void {
    try {
      if (this.#state === 'value') reader.onValue(this.#result as never)
      else reader.onError(this.#result)
    } catch (error) {
      void Promise.reject(error)
    }
  }

  #run(after: Later<unknown>): void {
    const read = this.#state === 'value' ? this.#onValue : this.#onError
    if (read === undefined) return after.#settle(this.#state, this.#result)
    try {
      after.settleAs(read(this.#result as never))
    } catch (error) {
      after.reject(error)
    }
  }
}

function passPromise<T>(promise: Promise<T>, after: Later<T>): void {
  promise.then(
    value => after.resolve(value),
    error => after.reject(error),
  )
}

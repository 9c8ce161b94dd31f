/** A value or an error that arrives later, for one reader. `and-then.ts` continues with it or with a Promise. */

/** In place of a result while there is none. */
const PENDING = Symbol('pending')

/** In place of a value: an error. */
class Failure {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

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
  /** One field for all states: a call makes six of these. */
  #result: unknown = PENDING
  /** `never` leaves a Later of a part assignable to one of the whole. */
  #reader: Reader<never> | undefined

  /** Only the first result counts. */
  resolve(value: T): void {
    this.#settle(value)
  }

  /** Resolves with a value that is known, or settles as a pending one does. */
  settleAs(value: T | Promise<T> | Later<T>): void {
    if (value instanceof Later) value.readBy(new Continuation<T>(this, undefined, undefined))
    else if (value instanceof Promise) passPromise(value, this)
    else this.resolve(value)
  }

  /** An error that no reader takes over becomes an unhandled rejection. */
  reject(error: unknown): void {
    this.#settle(new Failure(error))
  }

  /** @throws Error for a second reader: a value for several readers is a Promise */
  // biome-ignore lint/suspicious/noThenProperty: it can be awaited
  then<R = T, E = never>(
    onValue?: ((value: T) => R | PromiseLike<R>) | null,
    onError?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): Later<R | E> {
    const after = new Later<R | E>()
    this.readBy(new Continuation<T>(after, onValue ?? undefined, onError ?? undefined))
    return after
  }

  /**
   * As `then`, for a reader with nothing after it: neither functions nor another Later are made.
   * @throws Error for a second reader
   */
  readBy(reader: Reader<T>): void {
    if (this.#reader !== undefined)
      throw new Error('this Later object already has a reader, and only one reader is allowed')
    this.#reader = reader
    if (this.#result !== PENDING) this.#notify(reader)
  }

  #settle(result: unknown): void {
    if (this.#result !== PENDING) return
    this.#result = result
    if (this.#reader !== undefined) this.#notify(this.#reader)
    // a reader that awaits comes after the microtasks of now
    else if (result instanceof Failure) setImmediate(Later.#reportUnread, this)
  }

  /** Static: a closure would make V8 allocate a scope whenever a value arrives. */
  static #reportUnread(late: Later<unknown>): void {
    if (late.#reader === undefined) void Promise.reject((late.#result as Failure).error)
  }

  #notify(reader: Reader<never>): void {
    const result = this.#result
    try {
      if (result instanceof Failure) reader.onError(result.error)
      else reader.onValue(result as never)
    } catch (error) {
      void Promise.reject(error)
    }
  }
}

/** The reader that `then` makes: settles the Later after it with what its functions return; without a function, as its own does. */
class Continuation<T> implements Reader<T> {
  readonly #after: Later<never>
  readonly #onValue: ((value: T) => unknown) | undefined
  readonly #onError: ((error: unknown) => unknown) | undefined

  constructor(
    after: object,
    onValue: ((value: T) => unknown) | undefined,
    onError: ((error: unknown) => unknown) | undefined,
  ) {
    this.#after = after as Later<never>
    this.#onValue = onValue
    this.#onError = onError
  }

  onValue(value: T): void {
    if (this.#onValue === undefined) this.#after.resolve(value as never)
    else this.#run(this.#onValue, value)
  }

  onError(error: unknown): void {
    if (this.#onError === undefined) this.#after.reject(error)
    else this.#run(this.#onError, error)
  }

  #run<A>(read: (argument: A) => unknown, argument: A): void {
    try {
      this.#after.settleAs(read(argument) as never)
    } catch (error) {
      this.#after.reject(error)
    }
  }
}

function passPromise<T>(promise: Promise<T>, after: Later<T>): void {
  promise.then(
    value => after.resolve(value),
    error => after.reject(error),
  )
}

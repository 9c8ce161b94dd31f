/** Continues with values that may still be pending. Code off the hot path uses `async` instead. It catches no error. */

export type MaybePromise<T> = T | Promise<T>

/** Synchronous where the value is known, so that the warm path does not wait for another turn of the event loop. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** All values; a Promise only when one of them is pending. */
export function whenAll<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some(value => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
}

/** Types of values that may be pending, and functions that continue with them. */
import { Later, type Reader } from './later.ts'

export type MaybePromise<T> = T | Promise<T>
export type Pending<T> = Promise<T> | Later<T>
/** For the path of a call, where a value that arrives is passed on at once. */
export type MaybePending<T> = T | Pending<T>

export function isPending<T>(value: MaybePending<T>): value is Pending<T> {
  return value instanceof Later || value instanceof Promise
}

/** Synchronous where the value is known, so that the warm path does not wait for another turn of the event loop. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** As `andThen`, for a function that takes one more argument first: where the value is known, nothing is allocated. */
export function passOn<A, T, R>(
  next: (argument: A, value: T) => MaybePromise<R>,
  argument: A,
  value: MaybePromise<T>,
): MaybePromise<R> {
  return value instanceof Promise ? passOnLater(next, argument, value) : next(argument, value)
}

/** Apart: a function with a closure allocates a scope whenever it is called. */
function passOnLater<A, T, R>(
  next: (argument: A, value: T) => MaybePromise<R>,
  argument: A,
  value: Promise<T>,
): Promise<R> {
  return value.then(known => next(argument, known))
}

/** As `andThen`, also for a `Later`. */
export function continueWith<T, R>(
  value: MaybePending<T>,
  next: (value: T) => MaybePending<R>,
): MaybePending<R> {
  return value instanceof Later ? value.then(next) : value instanceof Promise ? value.then(next) : next(value)
}

/** The reader gets what arrives; it may get it before this returns. */
export function passTo<T>(pending: Pending<T>, reader: Reader<T>): void {
  if (pending instanceof Later) return pending.readBy(reader)
  void pending.then(
    value => reader.onValue(value),
    error => reader.onError(error),
  )
}

/** All values; a Promise only when one of them is pending. */
export function whenAll<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some(value => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
}

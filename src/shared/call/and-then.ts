/** Goes on with a value that is here already or comes later. It catches nothing. */

/** At once where it can, so that the warm path needs no turn of the event loop (`pipeline/compose.ts` does likewise). */
export function andThen<T, R>(value: T | Promise<T>, then: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(then) : then(value)
}

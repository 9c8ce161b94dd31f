/** Waits for a promise for a limited time. It ends no work: the promise may settle later. */

/** @returns the value of the promise, which must not reject; undefined when it does not settle in time */
export function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(undefined), ms)
    void promise.then(value => {
      clearTimeout(timer)
      resolve(value)
    })
  })
}

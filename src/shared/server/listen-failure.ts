/** What both listeners say when they cannot listen, and where an unhandled error of a handler goes. */

/**
 * The error of a port that cannot be bound, in one sentence with the fix.
 * @param reason what the system said, when it said more than "no".
 */
export function portTaken(
  host: string,
  port: number,
  reason = 'the port is taken or the address is not ours',
): Error {
  return new Error(
    `cannot listen on ${host}:${port}: ${reason}; set GATEWAY_PORT or API_PORT (and GATEWAY_HOST or API_HOST) to an address that is free`,
  )
}

/** A start that was stopped may ask for the port afterwards; a thread that ends with an open one would abort the process. */
export function listenerClosed(): Error {
  return new Error('the listener is closed: it does not open its port again')
}

/**
 * For listeners without `onHandlerError`: an unhandled error must not be lost in a callback.
 */
export function throwUncaught(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

/** The errors of a listener that cannot listen, and the rethrow of an unhandled error of a handler. */
import type { ListenerOptions } from './listener.ts'

const SETTINGS = 'GATEWAY_PORT, API_PORT or METRICS_PORT (or GATEWAY_HOST, API_HOST or METRICS_HOST)'

/**
 * The error of a port that cannot be bound, in one sentence with the fix.
 * @param reason what the system said, when it said more than "no".
 */
export function portTaken(
  { host, port, addressSettings = SETTINGS }: Pick<ListenerOptions, 'host' | 'port' | 'addressSettings'>,
  reason = 'the port is taken, or the address is not an address of this machine',
): Error {
  return new Error(
    `cannot listen on ${host}:${port}: ${reason}; set ${addressSettings} to a free port or address`,
  )
}

/** A start that was stopped may ask for the port afterwards; a thread that ends with an open one would abort the process. */
export function listenerClosed(): Error {
  return new Error('the listener is closed and cannot open its port again')
}

/**
 * For listeners without `onHandlerError`: an unhandled error must not be lost in a callback.
 */
export function throwUncaught(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

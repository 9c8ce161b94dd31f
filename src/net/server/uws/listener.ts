/** The fast listener, on uWebSockets.js: opens the port, refuses invalid requests and calls the handler. `guard.ts` checks heads. */
import { isMainThread } from 'node:worker_threads'
import { Deadlines } from '../../../base/async/deadlines.ts'
import { checkHead, statusOfRefusal } from '../guard.ts'
import { listenerClosed, portTaken, throwUncaught } from '../listen-failure.ts'
import type { Listener, ListenerOptions } from '../listener.ts'
import { renderHead } from '../response-head.ts'
import type { NativeApp, NativeModule, NativeRequest, NativeResponse } from './native.ts'
import { UwsRequest } from './request.ts'
import { UwsResponse } from './response.ts'
import { type UwsContext, UwsTurn } from './turn.ts'

/** Methods of the native router; those the guard does not know go by the name of none. */
const ROUTES = [
  ['get', 'GET'],
  ['head', 'HEAD'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
  ['del', 'DELETE'],
  ['options', 'OPTIONS'],
  ['any', ''],
] as const

/** `LIBUS_LISTEN_DEFAULT` sets SO_REUSEPORT: two processes would share a port without a word. */
const SHARED = 0
const EXCLUSIVE = 1

/**
 * Who owns which native value, and for how long:
 * - the native request: the parser; it is read by the constructor of `UwsRequest` inside the request callback
 *   and by nothing else;
 * - the native response: a `UwsTurn`, until the response is complete, the connection is closed or the abort
 *   callback runs; a head that is refused without a response is closed here;
 * - a body chunk: uWS; `body.ts` copies it before the data callback returns, when it is detached;
 * - the listening socket: this file, until `stopAccepting`; the app: this file, until `close`. Node aborts the
 *   whole process when a worker thread ends with either open: a thread that ends by itself closes first, but
 *   `terminate()` leaves it no time, so the owner of the thread has to close it before.
 * Known limits of the native parsers, which no guard can fix: an empty header name hides the headers behind it; bytes beyond
 * ASCII at the ends of a header value are cut off; a request pipelined behind one without a response closes the connection.
 * The newer build responds 505 to a request line that is not HTTP/1.1 and cuts a connection without progress after 30 s. The
 * older one (Node 20 on systems before glibc 2.38) leaves such a head without a response and cuts after 10 s; a head that
 * arrives in several reads may have 4 KiB there, and any head 48 headers.
 */
export class UwsListener implements Listener {
  readonly kind = 'uws'
  readonly #native: NativeModule
  readonly #options: ListenerOptions
  readonly #app: NativeApp
  readonly #context: UwsContext
  #socket: unknown
  #accepts = true
  readonly #closeAtExit = (): void => void this.close()

  constructor(native: NativeModule, options: ListenerOptions) {
    this.#native = native
    this.#options = options
    this.#context = {
      limits: options.limits,
      onRefused: options.onRefused,
      onHandlerError: options.onHandlerError ?? throwUncaught,
      bodies: new Deadlines<UwsTurn>(options.limits.bodyTimeoutMs, turn => turn.bodyIsLate()),
      random: options.random ?? Math.random,
      draining: false,
    }
    if (!isMainThread) process.on('exit', this.#closeAtExit)
    this.#app = native.App()
    // The router knows the method already; asking the request for it would make one more string.
    for (const [route, method] of ROUTES) {
      this.#app[route]('/*', (response, request) => this.#handle(response, request, method))
    }
  }

  async listen(): Promise<{ readonly port: number }> {
    if (!this.#accepts) throw listenerClosed()
    const { host, sharePort } = this.#options
    let { port } = this.#options
    if (sharePort && port === 0) {
      // Port 0 is never shared by uSockets: a free one is found first, and then taken by its number.
      port = this.#take(host, port, EXCLUSIVE)
      this.#release()
    }
    return { port: this.#take(host, port, sharePort ? SHARED : EXCLUSIVE) }
  }

  closeAfterResponses(): void {
    this.#context.draining = true
  }

  stopAccepting(): void {
    this.#accepts = false
    this.closeAfterResponses()
    this.#release()
  }

  async close(): Promise<void> {
    this.stopAccepting()
    this.#context.bodies.stop()
    this.#app.close()
    process.off('exit', this.#closeAtExit)
  }

  /** @returns the port taken. */
  #take(host: string, port: number, mode: number): number {
    // The callback runs before `listen` returns.
    this.#app.listen(host, port, mode, socket => {
      this.#socket = socket === false ? undefined : socket
    })
    if (this.#socket === undefined) throw portTaken({ ...this.#options, host, port })
    return this.#native.us_socket_local_port(this.#socket)
  }

  #release(): void {
    if (this.#socket !== undefined) this.#native.us_listen_socket_close(this.#socket)
    this.#socket = undefined
  }

  #handle(native: NativeResponse, nativeRequest: NativeRequest, method: string): void {
    const { limits, allowChunkedRequests, handler } = this.#options
    const request = new UwsRequest(nativeRequest, method)
    const verdict = checkHead(request, limits, allowChunkedRequests)
    if (typeof verdict === 'string') {
      this.#context.onRefused(verdict)
      const status = statusOfRefusal(verdict)
      // `end(…, true)` would let a request pipelined behind this one run.
      if (status === undefined) native.close()
      else {
        const turn = new UwsTurn(native, this.#context, false, 0)
        turn.endAndClose(renderHead(status, []), '')
        turn.leaveHandler()
      }
      return
    }
    const turn = new UwsTurn(native, this.#context, method === 'HEAD', verdict)
    request.attach(turn, verdict)
    // no closure: each request would allocate it with its scope
    try {
      handler(request, new UwsResponse(turn))
    } catch (error) {
      turn.fail(error)
    }
    turn.leaveHandler()
  }
}

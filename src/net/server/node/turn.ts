/** A request-response exchange on a node:http connection: its state, the time limits of the client, and its end. `listener.ts` makes it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Deadlines, NOT_WATCHED, type Watched } from '../../../base/async/deadlines.ts'
import type { ListenerLimits, ListenerRefusal } from '../listener.ts'

/** What the turns of one listener share. */
export interface NodeContext {
  readonly limits: ListenerLimits
  readonly onRefused: (reason: ListenerRefusal) => void
  readonly onHandlerError: (error: unknown) => void
  readonly bodies: Deadlines<NodeTurn>
  /**
   * Connections that have had their last response: node's parser goes on with what was pipelined behind it, we do
   * not.
   */
  readonly closing: WeakSet<Socket>
  draining: boolean
  readonly isTls: boolean
}

const EMPTY_BODY = ['content-length', '0']
/**
 * A client that takes nothing for this long is cut; node looks at progress once per period, so it takes 8 to 16 s. With uWS it
 * takes 8 to 12 s, with its newer build 30 s.
 */
const STALL_MS = 8_000
/**
 * How long a client that has its response may go on sending an unread body, so that a reset does not overtake the
 * response.
 */
const LINGER_MS = 2_000

export class NodeTurn implements Watched {
  watchedSinceMs: number = NOT_WATCHED
  previous: Watched | undefined
  next: Watched | undefined
  readonly context: NodeContext
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly isHead: boolean
  /** Declared length of the request body, -1 when chunked. */
  readonly contentLength: number
  /** `reading` once the handler has asked for the body and until its last piece. */
  body: 'complete' | 'unread' | 'reading'
  #state: 'open' | 'responded' | 'gone' = 'open'
  #abortListeners: (() => void)[] = []
  #isWatched = false
  readonly #endListeners: (() => void)[] = []
  /** For a response that is held whole. */
  #responseTimer: NodeJS.Timeout | undefined

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    context: NodeContext,
    isHead: boolean,
    contentLength: number,
  ) {
    this.message = message
    this.response = response
    this.context = context
    this.isHead = isHead
    this.contentLength = contentLength
    this.body = contentLength === 0 ? 'complete' : 'unread'
    response.on('close', () => {
      this.#leave()
      clearTimeout(this.#responseTimer)
      for (const listener of this.#endListeners.splice(0)) listener()
    })
    // A reset while the body streams in is reported by `close`.
    message.on('error', () => {})
    response.on('error', () => {})
  }

  /** The handler is done: the response is complete, or the client has disconnected. */
  get closed(): boolean {
    return this.#state !== 'open'
  }

  markResponded(): void {
    this.#state = 'responded'
    this.#abortListeners = []
  }

  onAbort(listener: () => void): void {
    if (this.#state === 'gone') listener()
    else if (this.#state === 'open') this.#abortListeners.push(listener)
  }

  onEnd(listener: () => void): void {
    if (this.response.closed) listener()
    else this.#endListeners.push(listener)
  }

  /** From now on the client has `responseTimeoutMs` for the rest of the response. */
  limitResponseTime(): void {
    if (this.response.closed || this.#responseTimer !== undefined) return
    const { responseTimeoutMs } = this.context.limits
    this.#responseTimer = setTimeout(() => this.cut('slow_reader'), responseTimeoutMs).unref()
  }

  /** Runs code of the handler; what it throws is given status 500 and reported. */
  attempt(run: () => void): void {
    try {
      run()
    } catch (error) {
      if (this.#state === 'open' && !this.response.headersSent) this.endAndClose(500, EMPTY_BODY, '')
      else this.destroy()
      this.context.onHandlerError(error)
    }
  }

  /** Sends the response and closes, at the latest when the linger time is over. */
  endAndClose(status: number, headers: readonly string[], body: string | Uint8Array): void {
    this.markResponded()
    const { response, message } = this
    this.context.closing.add(message.socket)
    response.writeHead(status, [...headers, 'connection', 'close'])
    if (this.body === 'complete') {
      response.end(body)
      return
    }
    // The response is whole on the wire, yet node would close over the unread body as soon as it is ended.
    response.write(body)
    const timer = setTimeout(() => response.end(), LINGER_MS)
    message.on('end', () => response.end())
    response.on('close', () => clearTimeout(timer))
    message.resume()
  }

  /** Watches a client that owes us reading: without progress for 8 to 16 s it is cut. */
  watchReader(): void {
    if (this.#isWatched) return
    this.#isWatched = true
    this.response.socket?.setTimeout(STALL_MS)
    // On the response, not the socket: node itself destroys a socket without a handler for its time-out.
    this.response.on('timeout', () => this.cut('slow_reader'))
  }

  /** Everything was taken. After the last byte node sets the time-out of an idle connection itself. */
  unwatchReader(): void {
    if (!this.#isWatched) return
    this.#isWatched = false
    this.response.removeAllListeners('timeout')
    this.response.socket?.setTimeout(0)
  }

  /** Closes the connection and counts why. */
  cut(reason: ListenerRefusal): void {
    if (this.response.destroyed || this.response.writableFinished) return
    this.context.onRefused(reason)
    this.destroy()
  }

  /** Closes the connection. */
  destroy(): void {
    this.message.socket.destroy()
    this.#leave()
  }

  onBody(data: (chunk: Uint8Array) => void, end: () => void): void {
    this.body = 'reading'
    this.#watchSender()
    this.message.on('data', chunk => {
      if (this.#state === 'open') this.attempt(() => data(chunk))
    })
    this.message.on('end', () => {
      this.body = 'complete'
      this.#unwatchSender()
      if (this.#state === 'open') this.attempt(end)
    })
  }

  /** Time paused is not the sender's. */
  pauseBody(): void {
    if (this.#state === 'gone' || this.body !== 'reading') return
    this.message.pause()
    this.#unwatchSender()
  }

  resumeBody(): void {
    if (this.#state === 'gone' || this.body !== 'reading') return
    this.message.resume()
    this.#watchSender()
  }

  /** A sender has `bodyTimeoutMs` for its body, and gets 408 after 8 to 16 s without progress. */
  #watchSender(): void {
    this.context.bodies.watch(this)
    this.message.socket.setTimeout(STALL_MS)
    // on the message, which is asked before the response: a stalled sender is not a slow reader
    if (this.message.listenerCount('timeout') === 0) this.message.on('timeout', () => this.bodyIsLate())
  }

  #unwatchSender(): void {
    this.context.bodies.unwatch(this)
    this.message.removeAllListeners('timeout')
    this.message.socket.setTimeout(0)
  }

  /** The body did not arrive in time. */
  bodyIsLate(): void {
    this.context.onRefused('slow_sender')
    if (this.#state !== 'open' || this.response.headersSent) {
      this.destroy()
      return
    }
    const listeners = this.#abortListeners
    this.endAndClose(408, EMPTY_BODY, '')
    this.#state = 'gone'
    for (const listener of listeners) this.attempt(listener)
  }

  #leave(): void {
    this.context.bodies.unwatch(this)
    if (this.#state !== 'open') return
    const listeners = this.#abortListeners
    this.#state = 'gone'
    this.#abortListeners = []
    for (const listener of listeners) this.attempt(listener)
  }
}

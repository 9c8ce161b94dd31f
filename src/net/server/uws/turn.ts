/** A request-response exchange on a uWS connection: its native response, its state, the time limit of the body, and its end. `listener.ts` makes it. */

import { type Deadlines, NOT_WATCHED, type Watched } from '../../../base/async/deadlines.ts'
import type { ListenerLimits, ListenerRefusal } from '../listener.ts'
import { renderHead } from '../response-head.ts'
import type { NativeResponse } from './native.ts'

/** What the turns of one listener share. */
export interface UwsContext {
  readonly limits: ListenerLimits
  readonly onRefused: (reason: ListenerRefusal) => void
  readonly onHandlerError: (error: unknown) => void
  readonly bodies: Deadlines<UwsTurn>
  /** 0 to 1: draws the responses that are decided on by lot. */
  readonly random: () => number
  draining: boolean
}

/**
 * uWS cuts a connection without progress after 10 s (30 s in the newer build), on timers with a grain of 4 s; an end later
 * than this was such a cut.
 */
const NATIVE_CUT_MS = 7_500

/** Takes the pieces of a body; a chunk is detached when `take` returns. */
export interface BodyTaker {
  take(chunk: ArrayBuffer, last: boolean): void
}

/**
 * The native response is ours from the request callback until the response is complete, the connection is closed or the abort
 * callback runs; `#native` is emptied in that same step, so that it is not used afterwards.
 */
export class UwsTurn implements Watched {
  watchedSinceMs: number = NOT_WATCHED
  previous: Watched | undefined
  next: Watched | undefined
  readonly context: UwsContext
  readonly isHead: boolean
  /** Declared length of the request body, -1 when chunked. */
  readonly contentLength: number
  /** `reading` once the handler has asked for the body and until its last piece. */
  body: 'complete' | 'unread' | 'reading'
  /** True once `stream` has sent a head: nothing else can be said then. */
  begun = false
  #native: NativeResponse | undefined
  /** True while uWS runs one of our callbacks; the socket is corked then. */
  #inCallback = true
  #state: 'open' | 'responded' | 'gone' = 'open'
  #abortListener: (() => void) | undefined
  /** Listeners after the first one. */
  #moreAbortListeners: (() => void)[] | undefined
  #endListeners: (() => void)[] | undefined
  /** For a response that is held whole. */
  #responseTimer: NodeJS.Timeout | undefined
  #isPaused = false
  /** Monotonic ms since when the client owes us reading; `NOT_WATCHED` when it does not. */
  #stalledSinceMs: number = NOT_WATCHED

  constructor(native: NativeResponse, context: UwsContext, isHead: boolean, contentLength: number) {
    this.#native = native
    this.context = context
    this.isHead = isHead
    this.contentLength = contentLength
    this.body = contentLength === 0 ? 'complete' : 'unread'
  }

  /** The handler is done: the response is complete, or the client has disconnected. */
  get closed(): boolean {
    return this.#state !== 'open'
  }

  /** The handler has said its last word; what is still buffered is ours to deliver. */
  markResponded(): void {
    this.#state = 'responded'
    this.#abortListener = undefined
    this.#moreAbortListeners = undefined
  }

  /** The last byte was handed over: the native response is not ours any more. */
  release(): void {
    this.markResponded()
    this.#native = undefined
    this.context.bodies.unwatch(this)
    this.#end()
  }

  onEnd(listener: () => void): void {
    if (this.#native === undefined) listener()
    else {
      this.#endListeners ??= []
      this.#endListeners.push(listener)
    }
  }

  /** From now on the client has `responseTimeoutMs` for the rest of the response. */
  limitResponseTime(): void {
    if (this.#native === undefined || this.#responseTimer !== undefined) return
    const { responseTimeoutMs } = this.context.limits
    this.#responseTimer = setTimeout(() => this.cut('slow_reader'), responseTimeoutMs).unref()
  }

  /** After the native response has been given up. */
  #end(): void {
    if (this.#responseTimer !== undefined) clearTimeout(this.#responseTimer)
    if (this.#endListeners === undefined) return
    const listeners = this.#endListeners
    this.#endListeners = undefined
    for (const listener of listeners) listener()
  }

  onAbort(listener: () => void): void {
    if (this.#state === 'gone') listener()
    else if (this.#state === 'open') {
      if (this.#abortListener === undefined) this.#abortListener = listener
      else {
        this.#moreAbortListeners ??= []
        this.#moreAbortListeners.push(listener)
      }
    }
  }

  /** Runs a write with the native response, corked; does nothing when the connection is gone. */
  write(run: (native: NativeResponse) => void): void {
    const native = this.#native
    if (native === undefined) return
    if (this.#inCallback) run(native)
    else native.cork(() => run(native))
  }

  /**
   * Sends a whole small response without asking whether the system takes it; what it does not take, uWS buffers.
   */
  end(head: string | Uint8Array, body: string | Uint8Array): void {
    const native = this.#native
    if (native === undefined) return
    this.release()
    if (this.#inCallback) native.writeStatus(head).end(body)
    else endCorked(native, head, body)
  }

  /** Lets uWS send what it holds: with a writable callback of ours it no longer does so by itself. */
  drain(): void {
    this.#native?.cork(() => {})
  }

  /**
   * Sends the response and closes. Done outside the parser's callbacks: inside, a request pipelined behind this one would
   * still be run, while a turn without a response makes uWS close on it.
   */
  endAndClose(head: string | Uint8Array, body: string | Uint8Array): void {
    this.markResponded()
    const end = (): void => {
      const native = this.#native
      if (native === undefined) return
      this.release()
      native.cork(() => {
        native.writeStatus(head).end(body, true)
      })
    }
    if (this.#inCallback) setImmediate(end)
    else end()
  }

  /**
   * Sends a head that ends with a line break and closes. With the one uWS adds, the response is whole on the wire
   * while uWS takes it for begun, so that no other request is run.
   */
  endBodilessAndClose(head: string | Uint8Array): void {
    this.markResponded()
    this.write(native => {
      native.writeStatus(head)
    })
    setImmediate(() => this.destroy())
  }

  /** Closes the connection. */
  destroy(): void {
    const native = this.#native
    if (native === undefined) return
    this.#native = undefined
    native.close()
    this.#leave()
    this.#end()
  }

  /** Closes the connection and counts why. */
  cut(reason: ListenerRefusal): void {
    if (this.#native === undefined) return
    this.context.onRefused(reason)
    this.destroy()
  }

  /** Notes that the client owes us reading from now on, or nothing any more. */
  markStalled(stalled: boolean): void {
    this.#stalledSinceMs = stalled ? performance.now() : NOT_WATCHED
  }

  peerAddress(): string {
    return this.#native === undefined
      ? ''
      : Buffer.from(this.#native.getRemoteAddressAsText()).toString('latin1')
  }

  onBody(taker: BodyTaker): void {
    if (this.#native === undefined) return
    this.body = 'reading'
    this.context.bodies.watch(this)
    this.#native.onData((chunk, last) => this.#receive(taker, chunk, last))
  }

  #receive(taker: BodyTaker, chunk: ArrayBuffer, last: boolean): void {
    if (last) {
      // the last piece can come in the read during which we paused: what follows on the connection must be read, too
      this.resumeBody()
      this.body = 'complete'
      this.context.bodies.unwatch(this)
    }
    if (this.#state !== 'open') return
    this.#inCallback = true
    try {
      taker.take(chunk, last)
    } catch (error) {
      this.fail(error)
    }
    this.#inCallback = false
  }

  /** Time paused is not the sender's. */
  pauseBody(): void {
    if (this.#native === undefined || this.body !== 'reading') return
    this.#isPaused = true
    this.#native.pause()
    this.context.bodies.unwatch(this)
  }

  resumeBody(): void {
    if (this.#native === undefined || this.body !== 'reading' || !this.#isPaused) return
    this.#isPaused = false
    this.#native.resume()
    this.context.bodies.watch(this)
  }

  /** The body did not arrive in time. */
  bodyIsLate(): void {
    this.context.onRefused('slow_sender')
    if (this.#state === 'open' && !this.begun) {
      const listeners = this.#takeAbortListeners()
      this.endAndClose(renderHead(408, []), '')
      this.#state = 'gone'
      this.#notify(listeners)
    } else this.destroy()
  }

  /** For what code of the handler throws, which must not reach uWS: status 500 where nothing has been sent. */
  fail(error: unknown): void {
    if (this.#state === 'open' && !this.begun) this.endAndClose(renderHead(500, []), '')
    else this.destroy()
    this.context.onHandlerError(error)
  }

  /**
   * Ends the request callback. A turn still open must have an abort callback by then, or uWS ends the process.
   */
  leaveHandler(): void {
    this.#inCallback = false
    this.#native?.onAborted(() => this.#abort())
  }

  #abort(): void {
    this.#native = undefined
    const { onRefused } = this.context
    if (isCut(this.watchedSinceMs)) onRefused('slow_sender')
    else if (isCut(this.#stalledSinceMs)) onRefused('slow_reader')
    this.#leave()
    this.#end()
  }

  #leave(): void {
    this.context.bodies.unwatch(this)
    if (this.#state !== 'open') return
    const listeners = this.#takeAbortListeners()
    this.#state = 'gone'
    this.#notify(listeners)
  }

  #takeAbortListeners(): readonly (() => void)[] {
    const [first, more = []] = [this.#abortListener, this.#moreAbortListeners]
    this.#abortListener = undefined
    this.#moreAbortListeners = undefined
    return first === undefined ? [] : [first, ...more]
  }

  #notify(listeners: readonly (() => void)[]): void {
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        this.fail(error)
      }
    }
  }
}

/** Apart from `end`, so that a response within a callback allocates no scope. */
function endCorked(native: NativeResponse, head: string | Uint8Array, body: string | Uint8Array): void {
  native.cork(() => {
    native.writeStatus(head).end(body)
  })
}

/** @param sinceMs since when the client owed us something, `NOT_WATCHED` when it did not. */
function isCut(sinceMs: number): boolean {
  return sinceMs !== NOT_WATCHED && performance.now() - sinceMs > NATIVE_CUT_MS
}

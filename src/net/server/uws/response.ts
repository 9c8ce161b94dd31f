/** Responses of the uWS listener: renders heads, delivers whole bodies and begins streams. `turn.ts` holds the native response. */

import type { HeaderList, HttpResponse, ResponseStream } from '../listener.ts'
import { isBodiless, joinBytes, renderHead, renderHeadView } from '../response-head.ts'
import type { NativeResponse } from './native.ts'
import { UwsStream } from './stream.ts'
import type { UwsTurn } from './turn.ts'

/**
 * The parser skips an unread body of this size; with a larger one the response announces that the connection ends.
 */
const SKIPPED_BODY_BYTES = 64 * 1024
/**
 * A response without body does not show whether the client took the one before it, so a client that pipelines such
 * requests and never reads would grow the native buffer without end. By lot, one in so many closes its
 * connection.
 */
const BODILESS_PER_CONNECTION = 256

/**
 * Up to this size a response may go out unasked whether the system takes it; a larger one is always asked for.
 */
const SMALL_BODY_BYTES = 4 * 1024
/**
 * Asking costs 0.3 µs, so one small response in so many is asked for, by lot: a client that pipelines and never
 * reads is found out after 8 responses on average, after 64 (256 KiB) in all but one case of 5,000.
 */
const UNASKED_RESPONSES = 8

const CLOSE = '\r\nconnection: close'
/** uWS closes an idle connection after 8 to 12 s; a client that knows sends no request into a connection that is being closed. */
const KEEP = '\r\nkeep-alive: timeout=8'

export class UwsResponse implements HttpResponse {
  readonly #turn: UwsTurn

  constructor(turn: UwsTurn) {
    this.#turn = turn
  }

  get closed(): boolean {
    return this.#turn.closed
  }

  onAbort(listener: () => void): void {
    this.#turn.onAbort(listener)
  }

  onEnd(listener: () => void): void {
    this.#turn.onEnd(listener)
  }

  destroy(): void {
    this.#turn.destroy()
  }

  send(status: number, headers: HeaderList, body: string | Uint8Array = '', rest?: Uint8Array): void {
    const turn = this.#turn
    if (turn.closed) return
    if (turn.begun) return turn.destroy()
    if (rest !== undefined) return this.#sendJoined(status, headers, body, rest)
    const bytes = typeof body === 'string' && turn.isHead ? Buffer.byteLength(body) : body.length
    if (turn.isHead || bytes === 0 || isBodiless(status)) {
      this.#sendBodiless(status, headers, bytes)
    } else if (turn.body === 'reading') {
      turn.endAndClose(renderHead(status, headers), body)
    } else {
      const head = renderHeadView(status, headers, this.#persistence())
      if (bytes <= SMALL_BODY_BYTES && turn.context.random() * UNASKED_RESPONSES >= 1) turn.end(head, body)
      else deliver(turn, head, body)
    }
  }

  #sendJoined(status: number, headers: HeaderList, start: string | Uint8Array, rest: Uint8Array): void {
    const turn = this.#turn
    if (turn.isHead || isBodiless(status))
      this.#sendBodiless(status, headers, Buffer.byteLength(start) + rest.length)
    else if (turn.body === 'reading') turn.endAndClose(renderHead(status, headers), joinBytes(start, rest))
    else deliver(turn, renderHeadView(status, headers, this.#persistence()), start, rest)
  }

  stream(status: number, headers: HeaderList, contentLength = -1, isHeld = false): ResponseStream {
    const turn = this.#turn
    if (turn.begun && !turn.closed) turn.destroy()
    if (!turn.closed && (turn.isHead || isBodiless(status) || contentLength === 0)) {
      this.#sendBodiless(status, headers, contentLength)
    }
    if (turn.closed) return new UwsStream(turn, '', contentLength)
    const head = renderHead(status, headers, this.#persistence())
    turn.begun = true
    if (isHeld) turn.limitResponseTime()
    return new UwsStream(turn, head, contentLength)
  }

  /** @param bytes the length to declare, -1 when it is not known. */
  #sendBodiless(status: number, headers: HeaderList, bytes: number): void {
    const turn = this.#turn
    const length = bytes < 0 || isBodiless(status) ? '' : `\r\ncontent-length: ${bytes}`
    if (turn.body === 'reading' || turn.context.random() * BODILESS_PER_CONNECTION < 1) {
      turn.endBodilessAndClose(renderHead(status, headers, `${length}${CLOSE}\r\n`))
      return
    }
    const head = renderHead(status, headers, length + this.#persistence())
    turn.write(native => {
      turn.release()
      native.writeStatus(head).endWithoutBody()
    })
  }

  /**
   * The connection ends by the client's hand when we drain, or when it would have to send a large body that is
   * not read.
   */
  #persistence(): string {
    const turn = this.#turn
    const isLargeBodyUnread =
      turn.body === 'unread' && (turn.contentLength < 0 || turn.contentLength > SKIPPED_BODY_BYTES)
    return turn.context.draining || isLargeBodyUnread ? CLOSE : KEEP
  }
}

/**
 * Hands a body over as far as the system takes it, the rest when it takes more. Nothing is copied and nothing is left in
 * the native buffer; a client that takes nothing for 10 s (30 s in the newer build) is cut by uWS, one that has not taken all of it in
 * time by us. The pieces of a body meet in the system's buffer, and before that only for a client that is slow.
 */
function deliver(
  turn: UwsTurn,
  head: string | Uint8Array,
  body: string | Uint8Array,
  rest?: Uint8Array,
): void {
  turn.markResponded()
  turn.write(native => {
    const status = native.writeStatus(head)
    if (rest === undefined) {
      if (status.tryEnd(body)[1]) turn.release()
      else deliverWhenWritable(turn, native, typeof body === 'string' ? Buffer.from(body) : body)
      return
    }
    const bytes = Buffer.byteLength(body) + rest.length
    if (status.tryEnd(body, bytes)[0] && native.tryEnd(rest, bytes)[1]) turn.release()
    else deliverWhenWritable(turn, native, joinBytes(body, rest))
  })
}

function deliverWhenWritable(turn: UwsTurn, native: NativeResponse, body: Uint8Array): void {
  // a short view would keep the slab that it is a part of in memory, for each client that reads slowly
  const bytes = body.byteLength < body.buffer.byteLength / 2 ? Uint8Array.prototype.slice.call(body) : body
  turn.markStalled(true)
  turn.limitResponseTime()
  native.onWritable(offset => {
    turn.write(again => {
      const [, done] = again.tryEnd(bytes.subarray(offset), bytes.length)
      if (done) turn.release()
      else turn.markStalled(true)
    })
    return true
  })
}

/** Responses of the node:http listener, whole or as a stream, with a count of the bytes held. `turn.ts` holds the state of the exchange. */
import type { ServerResponse } from 'node:http'
import { isLoopback } from '../../../base/loopback.ts'
import type { HeaderList, HttpResponse, ResponseStream } from '../listener.ts'
import { checkHeaders, isBodiless, joinBytes, statusLine } from '../response-head.ts'
import type { NodeTurn } from './turn.ts'

/** Node skips an unread body of this size; with a larger one the connection ends. */
const SKIPPED_BODY_BYTES = 64 * 1024
/** What keeping a piece costs beside its bytes: many tiny events must not slip under the bound. */
const PIECE_COST_BYTES = 96

export class NodeResponse implements HttpResponse {
  readonly #turn: NodeTurn

  constructor(turn: NodeTurn) {
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

  send(status: number, headers: HeaderList, start: string | Uint8Array = '', rest?: Uint8Array): void {
    const turn = this.#turn
    if (turn.closed) return
    if (turn.response.headersSent) return turn.destroy()
    const body = rest === undefined ? start : joinBytes(start, rest)
    const { lines, isBeyondAscii } = linesOf(turn, status, headers, Buffer.byteLength(body))
    const hasBody = !turn.isHead && !isBodiless(status)
    // Node joins head and body when both are strings, and sends the head as UTF-8 then.
    const sent = !hasBody ? '' : isBeyondAscii && typeof body === 'string' ? Buffer.from(body) : body
    if (this.#mustClose()) {
      turn.endAndClose(status, lines, sent)
      return
    }
    turn.markResponded()
    this.#writeHead(status, lines)
    turn.response.end(sent)
    if (turn.response.writableLength > 0) {
      turn.watchReader()
      turn.limitResponseTime()
    }
  }

  stream(status: number, headers: HeaderList, contentLength = -1, isHeld = false): ResponseStream {
    const turn = this.#turn
    if (turn.response.headersSent && !turn.closed) turn.destroy()
    if (turn.closed) return new NodeStream(turn, contentLength, false)
    const { lines } = linesOf(turn, status, headers, contentLength)
    const hasBody = !turn.isHead && !isBodiless(status) && contentLength !== 0
    this.#writeHead(status, lines)
    if (isHeld) turn.limitResponseTime()
    if (!hasBody) {
      turn.markResponded()
      turn.response.end()
    }
    return new NodeStream(turn, contentLength, hasBody)
  }

  #writeHead(status: number, lines: string[]): void {
    const { context, message, response } = this.#turn
    if (context.draining || this.#mustClose()) {
      context.closing.add(message.socket)
      lines.push('connection', 'close')
    }
    response.writeHead(status, lines)
  }

  /** True when a large or unfinished body is still to come that will not be read. */
  #mustClose(): boolean {
    const { body, contentLength } = this.#turn
    return (
      body === 'reading' || (body === 'unread' && (contentLength < 0 || contentLength > SKIPPED_BODY_BYTES))
    )
  }
}

/** Node checks values as well, but only some of what we do, and with errors that name no fix. */
function linesOf(
  { context, message }: NodeTurn,
  status: number,
  headers: HeaderList,
  contentLength: number,
): { readonly lines: string[]; readonly isBeyondAscii: boolean } {
  statusLine(status)
  const isBeyondAscii = checkHeaders(headers)
  const lines = [...headers]
  if (contentLength >= 0 && !isBodiless(status)) lines.push('content-length', `${contentLength}`)
  // RFC 6797; a browser would keep it for all servers of a developer's machine
  if (context.isTls && !isLoopback(message.headers.host!.replace(/:\d*$/, '')))
    lines.push('strict-transport-security', 'max-age=31536000')
  return { lines, isBeyondAscii }
}

class NodeStream implements ResponseStream {
  readonly #turn: NodeTurn
  readonly #response: ServerResponse
  /** What may still be sent of a declared length. */
  #leftBytes: number
  readonly #hasBody: boolean
  #heldPieces = 0
  #onDrain: (() => void) | undefined

  constructor(turn: NodeTurn, contentLength: number, hasBody: boolean) {
    this.#turn = turn
    this.#response = turn.response
    this.#leftBytes = contentLength < 0 ? Number.POSITIVE_INFINITY : contentLength
    this.#hasBody = hasBody
    turn.response.on('drain', () => {
      turn.unwatchReader()
      const listener = this.#onDrain
      if (listener !== undefined && !turn.closed) turn.attempt(listener)
    })
  }

  get bufferedBytes(): number {
    return this.#response.writableLength
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  write(chunk: string | Uint8Array, isReused = false): boolean {
    const turn = this.#turn
    if (turn.closed || !this.#hasBody) return false
    const bytes = typeof chunk === 'string' || isReused ? Buffer.from(chunk as Uint8Array) : chunk
    const fitting = bytes.length > this.#leftBytes ? bytes.subarray(0, this.#leftBytes) : bytes
    if (fitting.length === 0) return true
    const { maxBufferedBytes } = turn.context.limits
    // Node holds small writes back until the end of the tick; what counts is what the system refuses.
    if (this.bufferedBytes + fitting.length > maxBufferedBytes) this.#response.socket?.uncork()
    const held = this.bufferedBytes
    this.#heldPieces = held === 0 ? 0 : this.#heldPieces + 1
    if (held > 0 && held + fitting.length + this.#heldPieces * PIECE_COST_BYTES > maxBufferedBytes) {
      turn.cut('slow_reader')
      return false
    }
    this.#leftBytes -= fitting.length
    const isTaken = this.#response.write(fitting)
    if (!isTaken) turn.watchReader()
    if (this.#leftBytes === 0) this.#complete()
    return isTaken
  }

  end(lastChunk?: string | Uint8Array): void {
    if (lastChunk !== undefined) this.write(lastChunk)
    if (this.#turn.closed || !this.#hasBody) return
    if (Number.isFinite(this.#leftBytes)) this.#turn.destroy()
    else this.#complete()
  }

  #complete(): void {
    this.#turn.markResponded()
    this.#response.end()
    if (this.#response.writableLength > 0) this.#turn.watchReader()
  }
}

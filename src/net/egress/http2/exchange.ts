/** A request and its response on an HTTP/2 stream, and errors of HTTP/2. */
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { EgressHeaders } from '../egress.ts'
import type { OutgoingRequest, ResponseHandler } from '../http1/response-handler.ts'

export interface StreamRequest {
  readonly request: OutgoingRequest
  readonly headers: OutgoingHttpHeaders
  readonly handler: ResponseHandler
  /** The request was refused before: once more is enough. */
  isRepeated: boolean
}

/** An error whose `code` `failureOf` reads. */
export class Http2Error extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

export interface ExchangeOwner {
  /** The stream is closed; the peer has not begun to process the request when `isRefused`. */
  handleEnd(exchange: Http2Exchange, isRefused: boolean): void
  /** Why all streams of the connection ended, if it did. */
  readonly failure: Error | undefined
}

export class Http2Exchange {
  readonly request: StreamRequest
  /** The head of the final response has arrived. */
  hasHead = false
  readonly #stream: ClientHttp2Stream
  readonly #owner: ExchangeOwner
  readonly #handler: ResponseHandler
  readonly #resume = () => void this.#stream.resume()
  #hasEnd = false
  #isOver = false

  constructor(owner: ExchangeOwner, stream: ClientHttp2Stream, request: StreamRequest) {
    this.request = request
    this.#owner = owner
    this.#stream = stream
    this.#handler = request.handler
    this.#watchEnd()
    stream.on('response', headers => this.#handleResponse(headers))
    stream.on('data', chunk => {
      if (!this.#isOver && this.#handler.onData(chunk) === false) stream.pause()
    })
    stream.on('end', () => this.#complete())
    // its code is read when the stream is closed
    stream.on('error', () => {})
    stream.on('close', () => this.#handleClose())
    this.#send(request.request.body)
  }

  /** The caller takes the request back; the other streams of the connection go on. */
  abort(): void {
    this.#isOver = true
    this.#stream.close(constants.NGHTTP2_CANCEL)
    // a paused stream whose end has arrived is closed only when it has been read
    this.#stream.resume()
  }

  #send(body: StreamRequest['request']['body']): void {
    if (body === null) return
    if (typeof body === 'string' || body instanceof Uint8Array) this.#stream.end(body)
    else void this.#pump(body)
  }

  async #pump(body: AsyncIterable<Uint8Array>): Promise<void> {
    const stream = this.#stream
    let wake: (() => void) | undefined
    const proceed = (): void => wake?.()
    stream.on('drain', proceed).on('close', proceed)
    try {
      for await (const chunk of body) {
        if (stream.closed || stream.destroyed) return
        if (!stream.write(chunk))
          await new Promise<void>(resolve => {
            wake = resolve
          })
      }
      stream.end()
    } catch (error) {
      this.#fail(error as Error)
      stream.close(constants.NGHTTP2_CANCEL)
    }
  }

  /**
   * Node ends the readable side at the END_STREAM flag, when the stream is still open, and also after a reset, RST_STREAM(NO_ERROR) included:
   * what was received then is only a part.
   */
  #watchEnd(): void {
    const stream = this.#stream
    const push = stream.push
    stream.push = (chunk, encoding) => {
      if (chunk === null && !stream.closed) this.#hasEnd = true
      return push.call(stream, chunk, encoding)
    }
  }

  #handleResponse(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    if (this.#isOver) return
    this.hasHead = true
    this.#handler.onHeaders(Number(headers[':status']), new Http2Headers(headers), this.#resume)
  }

  #complete(): void {
    const stream = this.#stream
    if (this.#isOver || !this.hasHead || !this.#hasEnd) return
    this.#isOver = true
    // the peer does not want the rest of the request (RFC 9113 §8.1)
    if (!stream.writableFinished) stream.close(constants.NGHTTP2_NO_ERROR)
    this.#handler.onComplete()
  }

  #handleClose(): void {
    const { rstCode } = this.#stream
    const isRefused = !this.#isOver && !this.hasHead && rstCode === constants.NGHTTP2_REFUSED_STREAM
    this.#owner.handleEnd(this, isRefused)
    if (isRefused) return
    this.#fail(
      this.#owner.failure ??
        new Http2Error(codeOf(rstCode), 'the peer closed the stream before the response was complete'),
    )
  }

  /** Reports the refusal of a request that cannot be sent again. */
  handleRefusal(): void {
    this.#fail(new Http2Error(codeOf(constants.NGHTTP2_REFUSED_STREAM), 'the peer refused the stream'))
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onError(error)
  }
}

/** Fields as Node joined them; names in lower case. */
class Http2Headers implements EgressHeaders {
  readonly #fields: IncomingHttpHeaders
  #raw: readonly string[] | undefined

  constructor(fields: IncomingHttpHeaders) {
    this.#fields = fields
  }

  get raw(): readonly string[] {
    if (this.#raw !== undefined) return this.#raw
    const raw: string[] = []
    for (const [name, value] of Object.entries(this.#fields)) {
      if (name.startsWith(':') || value === undefined) continue
      for (const one of typeof value === 'object' ? value : [value]) raw.push(name, String(one))
    }
    this.#raw = raw
    return raw
  }

  get(name: string): string {
    const value = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined
    return typeof value === 'object' ? value.join(', ') : String(value ?? '')
  }
}

/** By their codes (RFC 9113 §7). */
const RESETS = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
]

function codeOf(rstCode: number): string {
  return `ERR_HTTP2_${RESETS[rstCode] ?? 'RESET'}`
}

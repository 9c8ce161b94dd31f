/** The interface between HTTP listeners and the gateway, with their limits, options and refusals. `uws/` and `node/` implement it. */
import type { ByteBudget } from '../held-bytes.ts'
import type { ServerTls } from '../tls/server-tls.ts'

/**
 * The head of a request. Names of headers are lower case; a repeated header is joined with `, ` (RFC 9110
 * §5.2). Its values stay valid after the callback.
 */
export interface HttpRequest {
  /** Upper case. */
  readonly method: string
  /** Raw path as sent, before `?`, undecoded. */
  readonly path: string
  /** Raw query without `?`; '' when there is none. */
  readonly query: string
  /** '' when the header is absent. */
  header(name: string): string
  /** All headers, flat: name, value, name, value … in order of arrival. */
  readonly rawHeaders: readonly string[]
  /**
   * Address of the peer in text form; IPv4-mapped IPv6 is given as IPv4.
   * Read it before the response is complete: an address first asked for afterwards is ''.
   */
  readonly peerAddress: string
  /** Whether the peer presented a certificate of `clientCa`; false without one, and without TLS. */
  readonly peerVerified: boolean
  /** Declared length of the body; 0 when there is none, -1 when chunked. */
  readonly contentLength: number

  /**
   * Reads the whole body and hands it over once. Must be called synchronously in the handler. A body over
   * `maxBytes` or beyond the budget (declared, or counted while reading) is never delivered: `refused` is called instead, once.
   * Neither is called when the client disconnects. For an absent or over-declared body, one of them is called before this returns.
   * @param budget asked for a long body
   */
  readBody(
    maxBytes: number,
    done: (body: Uint8Array) => void,
    refused: (why: BodyRefusal) => void,
    budget?: ByteBudget,
  ): void
  /**
   * Hands the body over piece by piece; each piece is a copy. Must be called synchronously in the handler.
   * `pause`/`resume` of the returned object hold the sender back (TCP backpressure); the time paused does not
   * count against `bodyTimeoutMs`. `end` is not called when the client disconnects: `onAbort` is.
   */
  streamBody(sink: { data(chunk: Uint8Array): void; end(): void }): { pause(): void; resume(): void }
}

export type BodyRefusal = 'too_large' | 'over_budget'

/**
 * Headers of a response, flat: name, value, name, value … Names lower case, values ISO 8859-1 without control
 * characters. The listener sets Content-Length, Transfer-Encoding, Connection and Date; naming one of them
 * throws.
 */
export type HeaderList = readonly string[]

/** A response whose body is sent piece by piece (SSE, proxied bodies). */
export interface ResponseStream {
  /**
   * Sends a piece; the bytes belong to the stream from then on. Returns false when the client reads too slowly
   * and the piece was **kept** in our buffer: stop until `onDrain`. A piece that would take what is kept beyond
   * `maxBufferedBytes` (256 KiB) closes the connection instead, and calls `onAbort`. With nothing kept, one
   * piece of any size is taken.
   * @param isReused the bytes are the stream's only until this returns: it copies what it keeps
   */
  write(chunk: string | Uint8Array, isReused?: boolean): boolean
  /** Bytes accepted but not yet taken by the operating system. */
  readonly bufferedBytes: number
  /** Called each time the buffer is empty again; one listener, the last one set. */
  onDrain(listener: () => void): void
  /**
   * Ends the response. One that is shorter than its declared length ends with the connection instead; what is
   * beyond it is dropped.
   */
  end(lastChunk?: string | Uint8Array): void
}

export interface HttpResponse {
  /** True once the client has gone or the response is complete; every method is then a no-op. */
  readonly closed: boolean
  /**
   * Called once when the exchange ends without the handler's response: the client disconnected, was cut for reading or
   * sending too slowly, or the listener closed. Never after `send`/`end`; at once when it has happened already.
   */
  onAbort(listener: () => void): void
  /** Called once when nothing of the exchange is held any more: the system has the last byte, or the connection is closed. */
  onEnd(listener: () => void): void
  /**
   * Sends the response in one piece. For HEAD the body is measured, not sent. 204 and 304 carry none. A client that stops
   * reading is cut after 8 to 30 s without progress (each listener has its time), and one that has not taken all of it after
   * `responseTimeoutMs`; until then the body is held, not copied. Once `stream`
   * has begun a response, another one closes the connection: half a response must not look whole.
   * @param headers are read before this returns: the list may be used again.
   * @param rest follows the body: bytes that many responses share, which are not copied.
   * @throws Error naming a header that must not be sent; nothing has been sent then.
   */
  send(status: number, headers: HeaderList, body?: string | Uint8Array, rest?: Uint8Array): void
  /**
   * Starts a streamed response; the headers are read before this returns. `contentLength` when it is known; else chunked. The head may wait for the first
   * piece, so an event stream begins with a comment.
   * @param isHeld the whole body is in memory already, so the client must take it within `responseTimeoutMs`
   * @throws Error naming a header that must not be sent; nothing has been sent then.
   */
  stream(status: number, headers: HeaderList, contentLength?: number, isHeld?: boolean): ResponseStream
  /** Closes the connection at once, with or without a response. */
  destroy(): void
}

export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void

export interface ListenerLimits {
  /** 8 KiB: path and query together; more is 414. */
  readonly maxUrlBytes: number
  /** 16 KiB: names and values together; more is 431. */
  readonly maxHeaderBytes: number
  /** 64; more is 431. */
  readonly maxHeaders: number
  /** A body must have arrived completely within this time, else 408 and close. */
  readonly bodyTimeoutMs: number
  /** 60 s: how long a client may take for a response that is held whole. */
  readonly responseTimeoutMs: number
  /** 256 KiB: what a client that does not read may make us hold. */
  readonly maxBufferedBytes: number
}

export const DEFAULT_LISTENER_LIMITS: ListenerLimits = Object.freeze({
  maxUrlBytes: 8 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 64,
  bodyTimeoutMs: 30_000,
  responseTimeoutMs: 60_000,
  maxBufferedBytes: 256 * 1024,
})

export interface ListenerOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly handler: HttpHandler
  readonly limits: ListenerLimits
  readonly allowChunkedRequests: boolean
  /**
   * True lets several listeners of this process share the port (worker threads); else the port is taken
   * exclusively.
   */
  readonly sharePort: boolean
  /** Names the settings of `port` and `host` in the error of an address that is taken; absent: those of the gateway. */
  readonly addressSettings?: string
  /** undefined: plain HTTP. Only the `node` listener has TLS. */
  readonly tls?: ServerTls | undefined
  /** Called when the files of the certificate have changed, with the reason if the new one cannot be used; the last one stays then. */
  readonly onCertificate?: (fault: string | undefined) => void
  /**
   * Called with every error of the handler; the client gets status 500. Without it the error is thrown uncaught.
   */
  readonly onHandlerError?: (error: unknown) => void
  /** 0 to 1: draws the responses that the `uws` listener decides on by lot (`uws/response.ts`). Absent: `Math.random`. */
  readonly random?: () => number
  /** Called for every refused head and TLS handshake, and for every slow reader or sender that was cut; for metrics. */
  readonly onRefused: (reason: ListenerRefusal) => void
}

/** Closed set: it is a metric label. */
export type ListenerRefusal =
  | 'host'
  /** A name that is not served, refused with 421. */
  | 'foreign_host'
  | 'content_length'
  | 'transfer_encoding'
  | 'method'
  | 'url'
  | 'unexpected_body'
  | 'url_too_long'
  | 'headers_too_large'
  | 'header_name'
  /** Not HTTP/1.1; only the `node` listener can count these: the native parsers of `uws` refuse such a head themselves, or let it time out. */
  | 'malformed'
  /** A connection without a TLS handshake that succeeded. */
  | 'tls'
  | 'slow_reader'
  | 'slow_sender'

export interface Listener {
  readonly kind: 'uws' | 'node'
  /** @throws Error naming host, port and the setting to change when the port is taken; Error after `stopAccepting` or `close` */
  listen(): Promise<{ readonly port: number }>
  /** Each further response carries `Connection: close`; new connections are still accepted. */
  closeAfterResponses(): void
  /** Takes no new connections; open ones continue, and each further response carries `Connection: close`. */
  stopAccepting(): void
  /** Closes everything that is still open. */
  close(): Promise<void>
}

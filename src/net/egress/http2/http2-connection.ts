/** An HTTP/2 connection, which carries requests as streams, and the interface of its owner. */
import { type ClientHttp2Session, connect, constants, type Settings } from 'node:http2'
import type { Socket } from 'node:net'
import { SILENT_MS } from '../http1/http1-connection.ts'
import { type ExchangeOwner, Http2Error, Http2Exchange, type StreamRequest } from './exchange.ts'

export interface Http2Owner {
  /** The peer has sent its settings: it can carry requests. */
  ready(connection: Http2Connection): void
  /** The connection takes no more requests; called once. `error` when the peer never sent its settings. */
  gone(connection: Http2Connection, error: Error | undefined): void
  /** A stream has ended. */
  handleRelease(): void
  /** The peer has not begun to process it. */
  repeat(request: StreamRequest): void
}

/** Streams of one connection at a time, also when the peer allows more. */
export const MAX_STREAMS = 100
/** A peer that has accepted the connection sends its settings at once. */
const SETTINGS_MS = 5_000
/** After a request that got no byte: a peer that is there responds to a ping. */
const PING_MS = 1_000
const SETTINGS: Settings = {
  enablePush: false,
  // as far as a response may run ahead of its reader
  initialWindowSize: 256 * 1024,
  maxHeaderListSize: 16 * 1024,
}
/** For the streams together; Node gives it back as bytes arrive. */
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024

export class Http2Connection implements ExchangeOwner {
  failure: Error | undefined
  /** Since when it has had no stream, in ms of the monotonic clock. */
  idleSinceMs = performance.now()
  readonly #owner: Http2Owner
  readonly #session: ClientHttp2Session
  readonly #timer: NodeJS.Timeout
  #streams = 0
  #maxStreams = 0
  #isReady = false
  #isDoubtful = false
  #isGone = false

  constructor(owner: Http2Owner, origin: string, socket: Socket) {
    this.#owner = owner
    const session = connect(origin, {
      createConnection: () => socket,
      settings: SETTINGS,
      peerMaxConcurrentStreams: MAX_STREAMS,
    })
    this.#session = session
    this.#timer = setTimeout(() => this.#fail(new Http2Error('ERR_NOT_HTTP2', 'no settings')), SETTINGS_MS)
    session.on('remoteSettings', settings => this.#allowed(settings.maxConcurrentStreams))
    session.on('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES))
    session.on('goaway', () => this.#leave())
    session.on('error', error => {
      this.failure ??= error
    })
    session.on('close', () => this.#leave())
  }

  get streams(): number {
    return this.#streams
  }

  get isOpen(): boolean {
    return this.#isReady && !this.#isGone && !this.#isDoubtful && !this.#session.closed
  }

  get hasPlace(): boolean {
    return this.isOpen && this.#streams < this.#maxStreams
  }

  send(request: StreamRequest): void {
    const sentAtMs = performance.now()
    let isTakenBack = false
    let exchange: Http2Exchange | undefined
    request.handler.onConnect(() => {
      isTakenBack = true
      if (exchange === undefined) return
      exchange.abort()
      if (!exchange.hasHead && performance.now() - sentAtMs >= SILENT_MS) this.#ping()
    })
    if (isTakenBack) return
    try {
      const stream = this.#session.request(request.headers, { endStream: request.request.body === null })
      this.#streams++
      exchange = new Http2Exchange(this, stream, request)
    } catch (error) {
      // the request itself cannot be sent: another connection would refuse it as well
      if (!this.#session.closed && !this.#session.destroyed)
        return request.handler.onError(new Http2Error('UND_ERR_INVALID_ARG', (error as Error).message))
      // the session has just ended, and the peer has received nothing
      this.#leave()
      this.#owner.repeat(request)
    }
  }

  handleEnd(exchange: Http2Exchange, isRefused: boolean): void {
    this.#streams--
    if (this.#streams === 0) this.idleSinceMs = performance.now()
    if (isRefused) this.#handleRefusal(exchange)
    this.#owner.handleRelease()
  }

  #handleRefusal(exchange: Http2Exchange): void {
    const { request } = exchange
    const { body } = request.request
    const isWhole = body === null || typeof body === 'string' || body instanceof Uint8Array
    if (request.isRepeated || !isWhole || request.handler.over) return exchange.handleRefusal()
    request.isRepeated = true
    this.#owner.repeat(request)
  }

  /** Lets its streams end. */
  close(): void {
    this.#leave()
    this.#session.close()
  }

  destroy(): void {
    this.#leave()
    this.#session.destroy()
  }

  #allowed(maxStreams: number | undefined): void {
    this.#maxStreams = Math.min(MAX_STREAMS, maxStreams ?? MAX_STREAMS)
    if (this.#isReady) return this.#owner.handleRelease()
    this.#isReady = true
    clearTimeout(this.#timer)
    this.#owner.ready(this)
  }

  /** A connection whose peer is gone without a sign would make each call wait for its time-out. */
  #ping(): void {
    if (this.#isDoubtful || this.#session.destroyed) return
    this.#isDoubtful = true
    const timer = setTimeout(
      () => this.#fail(new Http2Error('UND_ERR_SOCKET', 'the peer does not respond to a ping')),
      PING_MS,
    )
    const isSent = this.#session.ping(error => {
      clearTimeout(timer)
      if (error !== null) return
      this.#isDoubtful = false
      this.#owner.handleRelease()
    })
    if (!isSent) clearTimeout(timer)
  }

  #fail(error: Error): void {
    this.failure ??= error
    this.#leave()
    this.#session.destroy(undefined, constants.NGHTTP2_CANCEL)
  }

  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    clearTimeout(this.#timer)
    this.#owner.gone(this, this.#isReady ? undefined : notReady(this.failure))
  }
}

/** A peer that sends something else makes the library report a violation of the protocol. */
function notReady(failure: Error | undefined): Error {
  const code = failure !== undefined && 'code' in failure ? String(failure.code) : ''
  return failure === undefined || code.startsWith('ERR_HTTP2_')
    ? new Http2Error('ERR_NOT_HTTP2', 'the peer sent no HTTP/2 SETTINGS frame')
    : failure
}

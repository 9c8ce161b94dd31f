/** The HTTP/2 connections to one origin and the requests that wait for a stream. A peer that chooses HTTP/1.1 by ALPN it leaves to others. */
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { bareHost } from '../../../base/bare-host.ts'
import { Http1Error, type OutgoingRequest, type ResponseHandler } from '../http1/response-handler.ts'
import type { StreamRequest } from './exchange.ts'
import { Http2Connection, type Http2Owner, MAX_STREAMS } from './http2-connection.ts'
import { http2Headers } from './request-headers.ts'

export interface Http2PoolOptions {
  /** Scheme, host and port. */
  readonly origin: string
  /** Behind the address guard; offers HTTP/2 by ALPN. */
  readonly connect: buildConnector.connector
  readonly maxConnections: number
  /** Carries requests over HTTP/1.1. */
  readonly carryOtherwise: (request: OutgoingRequest, handler: ResponseHandler) => void
}

/** A peer that closes an idle connection says so, and processes nothing that it has not seen. */
const IDLE_MS = 60_000
/** A peer that chose HTTP/1.1 is asked again after this time. */
const HTTP1_MS = 60_000
const SWEEP_MS = 5_000
/** Withdrawn requests are swept from the queue when it has grown this long. */
const SWEEP_LENGTH = 256

export class Http2Pool implements Http2Owner {
  readonly #options: Http2PoolOptions
  readonly #target: buildConnector.Options
  readonly #connections = new Set<Http2Connection>()
  #waiting: StreamRequest[] = []
  /** Sockets and connections on which no request can be sent yet. */
  #opening = 0
  #http1UntilMs = 0
  #isClosed = false
  #sweepAt = SWEEP_LENGTH
  readonly #sweeper: NodeJS.Timeout

  constructor(options: Http2PoolOptions) {
    this.#options = options
    const { hostname, host, port, protocol } = new URL(options.origin)
    this.#target = { hostname: bareHost(hostname), host, port, protocol }
    this.#sweeper = setInterval(() => this.#closeIdle(), SWEEP_MS)
    this.#sweeper.unref()
  }

  /** @returns false when the peer has chosen HTTP/1.1; nothing was called then */
  dispatch(request: OutgoingRequest, handler: ResponseHandler): boolean {
    if (performance.now() < this.#http1UntilMs) return false
    const headers = http2Headers(this.#options.origin, request, bytesOf(request.body))
    if (headers === undefined)
      handler.onError(new Http1Error('UND_ERR_INVALID_ARG', 'a header cannot be sent over HTTP/2'))
    else if (this.#isClosed) handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
    else this.#carry({ request, headers, handler, isRepeated: false })
    return true
  }

  #carry(request: StreamRequest): void {
    for (const connection of this.#connections) if (connection.hasPlace) return connection.send(request)
    this.#waiting.push(request)
    if (this.#waiting.length >= this.#sweepAt) this.#sweep()
    this.#openMore()
  }

  #openMore(): void {
    if (this.#isClosed || this.#waiting.length <= this.#opening * MAX_STREAMS) return
    if (this.#connections.size + this.#opening < this.#options.maxConnections) this.#open()
  }

  #open(): void {
    this.#opening++
    this.#options.connect(this.#target, (error, socket) => {
      if (error !== null || socket === null) return this.#notOpened(error)
      if (this.#isClosed) return void socket.destroy()
      if (this.#target.protocol === 'https:' && !('alpnProtocol' in socket && socket.alpnProtocol === 'h2'))
        return this.#choseHttp1(socket)
      this.#connections.add(new Http2Connection(this, this.#options.origin, socket))
    })
  }

  #choseHttp1(socket: Socket): void {
    socket.destroy()
    this.#opening--
    this.#http1UntilMs = performance.now() + HTTP1_MS
    for (const { request, handler } of this.#waiting.splice(0))
      if (!handler.over) this.#options.carryOtherwise(request, handler)
  }

  /** Each attempt that fails takes its part of those that wait with it. */
  #notOpened(error: Error | null): void {
    this.#sweep()
    const part = Math.ceil(this.#waiting.length / this.#opening)
    this.#opening--
    for (const { handler } of this.#waiting.splice(0, part))
      handler.onError(error ?? new Http1Error('UND_ERR_SOCKET', 'no connection'))
  }

  ready(_connection: Http2Connection): void {
    this.#opening--
    this.handleRelease()
  }

  gone(connection: Http2Connection, error: Error | undefined): void {
    this.#connections.delete(connection)
    if (this.#isClosed) return
    if (error !== undefined) this.#notOpened(error)
    this.#openMore()
  }

  handleRelease(): void {
    for (const connection of this.#connections) {
      while (connection.hasPlace) {
        const request = this.#waiting.shift()
        if (request === undefined) return
        if (!request.handler.over) connection.send(request)
      }
    }
    this.#openMore()
  }

  repeat(request: StreamRequest): void {
    if (request.handler.over) return
    if (this.#isClosed)
      request.handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
    else this.#carry(request)
  }

  #sweep(): void {
    this.#waiting = this.#waiting.filter(({ handler }) => !handler.over)
    this.#sweepAt = Math.max(SWEEP_LENGTH, 2 * this.#waiting.length)
  }

  #closeIdle(): void {
    const idleSinceMs = performance.now() - IDLE_MS
    for (const connection of [...this.#connections])
      if (connection.isOpen && connection.streams === 0 && connection.idleSinceMs < idleSinceMs)
        connection.close()
  }

  /** Ends every connection; requests in flight and those that wait fail. */
  async destroy(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweeper)
    for (const { handler } of this.#waiting.splice(0))
      handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
    for (const connection of [...this.#connections]) connection.destroy()
  }
}

/** null without a body, undefined when the length is not known. */
function bytesOf(body: OutgoingRequest['body']): number | null | undefined {
  if (body === null) return null
  return typeof body === 'string' || body instanceof Uint8Array ? Buffer.byteLength(body) : undefined
}

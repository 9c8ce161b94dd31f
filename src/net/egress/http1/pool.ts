/** The connections to a plain-http origin that carry one request at a time, the requests that wait, and idle times. */
import type { Socket } from 'node:net'
import { type ConnectionOwner, Http1Connection, type PreparedRequest, SILENT_MS } from './http1-connection.ts'
import { requestHead } from './request-head.ts'
import { Http1Error, type ResponseHandler, type WholeRequest } from './response-handler.ts'

/** Opens a socket; its bytes go to `onBytes` from the first one on. Exactly one call of `done`. */
export type OpenSocket = (
  onBytes: (length: number, bytes: Buffer) => boolean,
  done: (error: Error | null, socket: Socket | null) => void,
) => void

export interface Http1PoolOptions {
  /** Host and port as the Host header says them. */
  readonly host: string
  readonly open: OpenSocket
  readonly maxConnections: number
  /** How long an idle connection is kept when the peer sends no `Keep-Alive` timeout. */
  readonly keepAliveTimeoutMs: number
  readonly keepAliveMaxMs: number
}

/** The peer's timeout began when it sent its response, so the connection is given up this much earlier. */
const KEEP_ALIVE_MARGIN_MS = 1000
/** Withdrawn requests are swept from the queue when it has grown this long. */
const SWEEP_LENGTH = 256

export class Http1Pool implements ConnectionOwner {
  readonly #options: Http1PoolOptions
  readonly #connections = new Set<Http1Connection>()
  /** The one used last is taken first: its congestion window is warm, and the others may time out. */
  readonly #idle: Http1Connection[] = []
  #waiting: PreparedRequest[] = []
  #opening = 0
  #closed = false
  #sweepAt = SWEEP_LENGTH
  readonly #sweeper: NodeJS.Timeout

  constructor(options: Http1PoolOptions) {
    this.#options = options
    this.#sweeper = setInterval(() => this.#closeIdle(), Math.max(100, options.keepAliveTimeoutMs / 2))
    this.#sweeper.unref()
  }

  /** @returns false when the request is not an ordinary one and another client has to carry it; nothing was called then */
  dispatch(request: WholeRequest, handler: ResponseHandler): boolean {
    const { body } = request
    const bodyBytes = body === null ? undefined : Buffer.byteLength(body)
    const head = requestHead(request, this.#options.host, bodyBytes)
    if (head === undefined) return false
    if (this.#closed) {
      handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
      return true
    }
    this.#carry({ request, bodyBytes, handler, wasGivenBack: false }, head)
    return true
  }

  #carry(prepared: PreparedRequest, head: Uint8Array): void {
    const connection = this.#takeIdle()
    if (connection !== undefined) {
      if (!connection.send(prepared, head)) this.#idle.push(connection)
      return
    }
    this.#waiting.push(prepared)
    if (this.#waiting.length >= this.#sweepAt) this.#sweep()
    if (this.#opening < this.#waiting.length && this.#connections.size < this.#options.maxConnections)
      this.#open()
  }

  #takeIdle(): Http1Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined) return undefined
      const nowMs = performance.now()
      if (connection.open && nowMs < connection.idleUntilMs && !this.#isDoubtful(connection, nowMs))
        return connection
      connection.destroy()
    }
  }

  /** For a connection that idled while the peer left a later request without a byte: both may have died in the same way. */
  #isDoubtful({ idleSinceMs }: Http1Connection, nowMs: number): boolean {
    // a connection that is in steady use is never asked about the others
    if (nowMs - idleSinceMs < SILENT_MS) return false
    for (const other of this.#connections) if (other.isSilentSince(idleSinceMs, nowMs)) return true
    return false
  }

  #open(): void {
    const connection = new Http1Connection(this)
    this.#connections.add(connection)
    this.#opening++
    this.#options.open(
      (length, bytes) => connection.onBytes(length, bytes),
      (error, socket) => {
        this.#opening--
        if (error !== null || socket === null) return this.#notOpened(connection, error)
        if (this.#closed) return void socket.destroy()
        connection.attach(socket)
        this.#next(connection)
      },
    )
  }

  #notOpened(connection: Http1Connection, error: Error | null): void {
    this.#connections.delete(connection)
    this.#waiting.shift()?.handler.onError(error ?? new Http1Error('UND_ERR_SOCKET', 'no connection'))
    if (this.#opening < this.#waiting.length && this.#connections.size < this.#options.maxConnections)
      this.#open()
  }

  /** Gives the connection to the request that has waited longest, or keeps it. */
  #next(connection: Http1Connection): void {
    for (let waiting = this.#waiting.shift(); waiting !== undefined; waiting = this.#waiting.shift())
      if (!waiting.handler.over && connection.send(waiting, this.#headOf(waiting))) return
    if (connection.idleUntilMs === 0) {
      connection.idleSinceMs = performance.now()
      connection.idleUntilMs = connection.idleSinceMs + this.#options.keepAliveTimeoutMs
    }
    this.#idle.push(connection)
  }

  idle(connection: Http1Connection): void {
    this.#next(connection)
  }

  gone(connection: Http1Connection): void {
    this.#connections.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    if (!this.#closed && this.#opening < this.#waiting.length) this.#open()
  }

  giveBack(prepared: PreparedRequest): void {
    if (this.#closed)
      prepared.handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
    else if (!prepared.handler.over) this.#carry(prepared, this.#headOf(prepared))
  }

  /** For a request that was ordinary when it was dispatched: it has not changed since. */
  #headOf({ request, bodyBytes }: PreparedRequest): Uint8Array {
    return requestHead(request, this.#options.host, bodyBytes)!
  }

  /** A peer that is gone without closing its connections responds over none of them: each would make another call wait for its time-out. */
  silent(): void {
    for (const connection of [...this.#idle]) connection.destroy()
  }

  idleMs(declaredMs: number | undefined): number {
    return keepIdleMs(this.#options, declaredMs)
  }

  #sweep(): void {
    this.#waiting = this.#waiting.filter(({ handler }) => !handler.over)
    this.#sweepAt = Math.max(SWEEP_LENGTH, 2 * this.#waiting.length)
  }

  #closeIdle(): void {
    const now = performance.now()
    for (const connection of this.#idle.filter(one => now >= one.idleUntilMs)) connection.destroy()
  }

  /** Ends every connection; requests in flight and those that wait fail. */
  async destroy(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    const waiting = this.#waiting
    this.#waiting = []
    for (const connection of [...this.#connections]) connection.destroy()
    for (const { handler } of waiting)
      handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
  }
}

/** How long a connection may idle, ms; zero or less: not at all. @param declaredMs what the peer announced */
function keepIdleMs(
  { keepAliveTimeoutMs, keepAliveMaxMs }: Pick<Http1PoolOptions, 'keepAliveTimeoutMs' | 'keepAliveMaxMs'>,
  declaredMs: number | undefined,
): number {
  return declaredMs === undefined
    ? keepAliveTimeoutMs
    : Math.min(declaredMs - KEEP_ALIVE_MARGIN_MS, keepAliveMaxMs)
}

/** The connections to a plain-http origin on which idempotent requests wait in line. Other requests it leaves to its caller. */
import { IDEMPOTENT } from '../retries.ts'
import { SILENT_MS } from './connection.ts'
import { LineGuard } from './line-guard.ts'
import { LineConnection, type LineOwner, type LineRequest } from './pipeline.ts'
import { type Http1PoolOptions, keepIdleMs } from './pool.ts'
import { requestHead } from './request-head.ts'
import { Http1Error, type ResponseHandler, type WholeRequest } from './response-handler.ts'

export interface PipelinedPoolOptions extends Http1PoolOptions {
  /** Requests in flight on one connection. */
  readonly depth: number
  /** Carries a request that was in a line and has been moved, on a separate connection. */
  readonly carryAlone: (request: WholeRequest, handler: ResponseHandler) => void
}

/** Fewer calls at once never share a connection: a second socket is cheap, the hundredth is not. */
const MIN_CONNECTIONS = 4
/** A longer body would hold up those behind it. */
const MAX_BODY_BYTES = 16 * 1024
const CHECK_MS = 50
/** Until then, requests stay behind one whose response takes long: sending them again costs the upstream. */
const RELEASE_MS = 250

export class PipelinedPool implements LineOwner {
  readonly #options: PipelinedPoolOptions
  /** As many requests fit into the lines as connections would carry one by one. */
  readonly #maxConnections: number
  readonly #guard = new LineGuard()
  readonly #connections: LineConnection[] = []
  /** For a connection that is being opened. */
  #waiting: LineRequest[] = []
  #opening = 0
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: PipelinedPoolOptions) {
    this.#options = options
    const { maxConnections, depth } = options
    this.#maxConnections = Math.min(
      maxConnections,
      Math.max(MIN_CONNECTIONS, Math.ceil(maxConnections / depth)),
    )
  }

  /** @returns false when a separate connection has to carry the request; nothing was called then */
  dispatch(request: WholeRequest, handler: ResponseHandler): boolean {
    const { method, body } = request
    if (!IDEMPOTENT.has(method) || this.#closed) return false
    const bodyBytes = body === null ? 0 : Buffer.byteLength(body)
    const nowMs = performance.now()
    if (bodyBytes > MAX_BODY_BYTES || !this.#guard.mayShare(nowMs)) return false
    const connection = this.#choose(nowMs)
    if (connection === undefined && !this.#mayWait()) return false
    const head = requestHead(request, this.#options.host, body === null ? undefined : bodyBytes)
    if (head === undefined) return false
    const line = { request, handler, text: latin1(head, head.length) + latin1(body, bodyBytes) }
    if (connection !== undefined) connection.send(line)
    else {
      this.#waiting.push(line)
      if (this.#opening < this.#waiting.length && this.#mayOpen()) this.#open()
    }
    return true
  }

  /** An idle one before the second place in a line; undefined when a new one should be opened, or none has a place. */
  #choose(nowMs: number): LineConnection | undefined {
    let shortest: LineConnection | undefined
    for (let at = this.#connections.length - 1; at >= 0; at--) {
      const one = this.#connections[at]!
      if (!one.isOpen) continue
      if (one.length === 0) {
        if (nowMs < one.idleUntilMs && !this.#isDoubtful(one, nowMs)) return one
        one.destroy()
      } else if (shortest === undefined || one.length < shortest.length) shortest = one
    }
    if (shortest === undefined || shortest.length >= this.#options.depth) return undefined
    if (this.#connections.length < Math.min(MIN_CONNECTIONS, this.#maxConnections)) return undefined
    return shortest
  }

  /** Of a connection that idled while the peer left a later request without a byte: both may have died in the same way. */
  #isDoubtful({ idleSinceMs }: LineConnection, nowMs: number): boolean {
    if (nowMs - idleSinceMs < SILENT_MS) return false
    return this.#connections.some(other => other.isSilentSince(idleSinceMs, nowMs))
  }

  #mayWait(): boolean {
    return (
      this.#waiting.length < this.#opening * this.#options.depth ||
      this.#connections.length < this.#maxConnections
    )
  }

  /** A few for those that wait; then those being opened take `depth` each. */
  #mayOpen(): boolean {
    const { length } = this.#connections
    if (length >= this.#maxConnections) return false
    return length < MIN_CONNECTIONS || this.#waiting.length > this.#opening * this.#options.depth
  }

  #open(): void {
    const connection = new LineConnection(this)
    this.#connections.push(connection)
    this.#opening++
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref()
    this.#options.open(
      (length, bytes) => connection.onBytes(length, bytes),
      (error, socket) => {
        const waiting = this.#takeWaiting()
        this.#opening--
        if (error !== null || socket === null) {
          this.gone(connection)
          for (const { handler } of waiting)
            handler.onError(error ?? new Http1Error('UND_ERR_SOCKET', 'no connection'))
        } else if (this.#closed) socket.destroy()
        else {
          connection.attach(socket)
          for (const line of waiting) connection.send(line)
        }
      },
    )
  }

  /** The part of one of the connections that are being opened. */
  #takeWaiting(): readonly LineRequest[] {
    this.#waiting = this.#waiting.filter(({ handler }) => !handler.over)
    return this.#waiting.splice(0, Math.ceil(this.#waiting.length / this.#opening))
  }

  gone(connection: LineConnection): void {
    const at = this.#connections.indexOf(connection)
    if (at >= 0) this.#connections.splice(at, 1)
    if (this.#connections.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  move(requests: readonly LineRequest[]): void {
    for (const { request, handler } of requests) {
      if (handler.over) continue
      if (this.#closed) handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
      else this.#options.carryAlone(request, handler)
    }
  }

  served(ms: number): void {
    this.#guard.sample(ms)
  }

  broken(): void {
    this.#guard.pause(performance.now())
  }

  /** A peer that is gone without closing its connections responds over none of them. */
  silent(): void {
    for (const connection of [...this.#connections])
      if (connection.isOpen && connection.length === 0) connection.destroy()
  }

  idleMs(declaredMs: number | undefined): number {
    return keepIdleMs(this.#options, declaredMs)
  }

  #check(): void {
    const nowMs = performance.now()
    for (const connection of [...this.#connections]) {
      if (connection.length === 0 && connection.isOpen && nowMs >= connection.idleUntilMs)
        connection.destroy()
      const waitedMs = connection.blockedMs(nowMs)
      this.#guard.waited(waitedMs, nowMs)
      if (waitedMs > Math.max(RELEASE_MS, this.#guard.limitMs)) connection.releaseWaiting()
    }
  }

  /** Ends every connection; requests in flight and those that wait fail. */
  async destroy(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    const waiting = this.#waiting
    this.#waiting = []
    for (const connection of [...this.#connections]) connection.destroy()
    for (const { handler } of waiting)
      handler.onError(new Http1Error('UND_ERR_DESTROYED', 'the HTTP client is closed'))
  }
}

/** The bytes of the body as characters, so that head and body are one text. */
function latin1(body: WholeRequest['body'], bytes: number): string {
  if (body === null) return ''
  if (typeof body !== 'string') return Buffer.from(body.buffer, body.byteOffset, bytes).toString('latin1')
  return body.length === bytes ? body : Buffer.from(body).toString('latin1')
}

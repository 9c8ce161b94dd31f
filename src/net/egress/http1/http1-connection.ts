/** An HTTP/1.1 connection that carries one request at a time, and the interface of its owner. */
import type { Socket } from 'node:net'
import { copyBytes } from '../../../base/copy-bytes.ts'
import { type Carrier, Http1Error, type ResponseHandler, type WholeRequest } from './response-handler.ts'
import type { ResponseHead } from './response-head.ts'
import { ResponseParser, type ResponseSink } from './response-parser.ts'

/** A request that is ready to be written. */
export interface PreparedRequest {
  readonly request: WholeRequest
  /** undefined without a body. */
  readonly bodyBytes: number | undefined
  readonly handler: ResponseHandler
  /** Another connection ended before this request was written to it. */
  readonly wasGivenBack: boolean
}

export interface ConnectionOwner {
  /** The connection can carry a next request. */
  idle(connection: Http1Connection): void
  /** The connection is closed, or will be; called once. */
  gone(connection: Http1Connection): void
  /** The connection has ended before the request was written to it; the peer has seen nothing of it. Called after `gone`, once for a request. */
  giveBack(request: PreparedRequest): void
  /** The request was taken back after it had waited long for a first byte. */
  silent(): void
  /** How long it may idle, ms; `declaredMs` is what the peer announced. Zero or less: not at all. */
  idleMs(declaredMs: number | undefined): number
}

/** A read with more of them takes milliseconds. */
const MAX_PIECES_PER_TURN = 1_000
/** A shorter wait says nothing about the peer: clients take back requests for their own reasons, and responses take time. */
export const SILENT_MS = 300
/** A longer request is written in two parts, so that no large body is copied. */
const JOINED_BYTES = 16 * 1024
/** A request up to here is built in memory that its connection keeps. */
const KEPT_BYTES = 2 * 1024

const NOTHING = Buffer.alloc(0)

const ENDED = new Http1Error('UND_ERR_SOCKET', 'the peer closed the connection')
const EARLY_RESPONSE = new Http1Error(
  'UND_ERR_SOCKET',
  'the peer responded before the whole request was written',
)

export class Http1Connection implements Carrier, ResponseSink {
  /** Since when an idle connection has had no request, in ms of the monotonic clock. */
  idleSinceMs = 0
  /** When an idle connection must not be used any more, in ms of the monotonic clock. */
  idleUntilMs = 0
  readonly #owner: ConnectionOwner
  readonly #parser = new ResponseParser(this)
  readonly #resume = () => void this.#socket?.resume()
  #socket: Socket | undefined
  #handler: ResponseHandler | undefined
  #written = false
  /** A request that is written at the end of this turn, and its bytes. */
  #unsent: PreparedRequest | undefined
  #bytes: Buffer = NOTHING
  /** Free again when the response is complete: until then the system may not have taken all of it. */
  #memory: Buffer = NOTHING
  /** When its request was written, in ms of the monotonic clock; 0 from the first byte of the response on. */
  #sentAtMs = 0
  #reusable = false
  #declaredMs: number | undefined
  #gone = false
  #paused = false

  constructor(owner: ConnectionOwner) {
    this.#owner = owner
  }

  /** Takes over a socket that is connected; its bytes arrive through `onBytes`. */
  attach(socket: Socket): void {
    this.#socket = socket
    watchSocket(
      socket,
      () => this.#handleEnd(),
      reason => this.#handleClose(reason),
    )
  }

  /** Whether it has carried a request since then for which no byte has arrived in SILENT_MS. */
  isSilentSince(sinceMs: number, nowMs: number): boolean {
    return this.#sentAtMs > sinceMs && nowMs - this.#sentAtMs >= SILENT_MS
  }

  get open(): boolean {
    return !this.#gone && this.#socket?.writable === true
  }

  /** @param head of the request; it is read first. @returns false when the handler took its request back; the connection is still idle then */
  send(prepared: PreparedRequest, head: Uint8Array): boolean {
    const { request, bodyBytes = 0, handler } = prepared
    const { body } = request
    const isShort = head.length + bodyBytes <= JOINED_BYTES
    const bytes = isShort ? this.#reserve(head.length + bodyBytes) : Buffer.allocUnsafe(head.length)
    const bodyAt = copyBytes(head, bytes, 0)
    this.#handler = handler
    this.#written = false
    handler.onConnect(this)
    if (this.#handler === undefined) return false
    this.#written = true
    this.#sentAtMs = performance.now()
    this.#parser.begin(request.method)
    if (isShort) {
      writeBody(body, bodyBytes, bytes, bodyAt)
      this.#unsent = prepared
      this.#bytes = bytes
      writeAtTurnEnd(this)
    } else {
      const socket = this.#socket!
      socket.cork()
      socket.write(bytes)
      if (body !== null) socket.write(body)
      socket.uncork()
    }
    return true
  }

  #reserve(length: number): Buffer {
    if (length > KEPT_BYTES) return Buffer.allocUnsafe(length)
    if (this.#memory === NOTHING) this.#memory = Buffer.allocUnsafeSlow(KEPT_BYTES)
    // requests of one connection are often of the same length
    return this.#bytes.length === length ? this.#bytes : this.#memory.subarray(0, length)
  }

  /** Called once for each `writeAtTurnEnd`. It must not throw. */
  writeNow(): void {
    const bytes = this.#bytes
    if (bytes.length > KEPT_BYTES) this.#bytes = NOTHING
    // after an error of the socket, the request is given back when it is closed
    if (this.#gone || this.#socket!.destroyed) return
    this.#unsent = undefined
    this.#socket!.write(bytes)
  }

  /** From the socket: the first `length` bytes are new and valid only during the call. @returns false to pause reading */
  onBytes(length: number, bytes: Buffer): boolean {
    // bytes that belong to no request would be taken for the response to the next one
    if (this.#handler === undefined) {
      this.destroy()
      return false
    }
    if (this.#givesBack(EARLY_RESPONSE)) return false
    this.#sentAtMs = 0
    this.#paused = false
    try {
      const used = this.#parser.feed(bytes, length)
      if (used < length) this.#reusable = false
    } catch (error) {
      this.#fail(error as Error)
      return false
    }
    if (this.#parser.done) this.#complete()
    else if (!this.#paused && (length === bytes.length || this.#parser.pieces > MAX_PIECES_PER_TURN)) {
      // more has arrived, up to 2 MB of which libuv would read at once: other work comes between
      setImmediate(this.#resume)
      return false
    }
    return !this.#paused
  }

  head(head: ResponseHead): void {
    if (head.status >= 200) {
      this.#reusable = head.keepAlive
      this.#declaredMs = head.keepAliveMs
    }
    this.#handler?.onHeaders(head.status, head, this.#resume)
  }

  data(chunk: Uint8Array): void {
    if (this.#handler?.onData(chunk) === false) this.#paused = true
  }

  #complete(): void {
    const handler = this.#handler
    if (handler === undefined) return
    this.#handler = undefined
    const socket = this.#socket!
    const idleMs = this.#reusable ? this.#owner.idleMs(this.#declaredMs) : 0
    // a response before the request was written whole leaves bytes on their way that belong to it
    if (idleMs > 0 && socket.writableLength === 0 && this.open) {
      this.idleSinceMs = performance.now()
      this.idleUntilMs = this.idleSinceMs + idleMs
      if (this.#paused) socket.resume()
      this.#paused = false
      // before its reader goes on, which may call the same origin again
      this.#owner.idle(this)
      handler.onComplete()
    } else {
      this.destroy()
      handler.onComplete()
    }
  }

  #fail(error: Error): void {
    const handler = this.#handler
    this.#handler = undefined
    this.destroy()
    handler?.onError(error)
  }

  #handleEnd(): void {
    this.#reusable = false
    if (this.#handler === undefined) return this.destroy()
    if (this.#givesBack(ENDED)) return
    try {
      this.#parser.close()
    } catch (error) {
      return this.#fail(error as Error)
    }
    this.#complete()
  }

  #handleClose(reason: Error): void {
    if (this.#givesBack(reason)) return
    const handler = this.#handler
    this.#handler = undefined
    this.#leave()
    handler?.onError(reason)
  }

  /** Ends the connection of a request that is not written yet. @returns false when there is none */
  #givesBack(reason: Error): boolean {
    const prepared = this.#unsent
    if (prepared === undefined || this.#gone) return false
    // a peer that ends each connection at once
    if (prepared.wasGivenBack) this.#fail(reason)
    else {
      this.#handler = undefined
      this.#sentAtMs = 0
      this.destroy()
      this.#owner.giveBack({ ...prepared, wasGivenBack: true })
    }
    return true
  }

  takeBack(handler: Pick<ResponseHandler, 'over'>): void {
    // after its response the connection may already carry another request
    if (this.#handler !== handler) return
    if (!this.#written) {
      this.#handler = undefined
      return
    }
    const wasSilent = this.#sentAtMs > 0 && performance.now() - this.#sentAtMs >= SILENT_MS
    this.destroy()
    if (wasSilent) this.#owner.silent()
  }

  destroy(): void {
    this.#parser.stop()
    this.#leave()
    this.#socket?.destroy()
  }

  #leave(): void {
    if (this.#gone) return
    this.#gone = true
    this.#owner.gone(this)
  }
}

function writeBody(body: WholeRequest['body'], bodyBytes: number, into: Buffer, at: number): void {
  if (body === null) return
  if (typeof body !== 'string') copyBytes(body, into, at)
  // ASCII is the same in Latin-1, which is written in less time than UTF-8
  else into.write(body, at, bodyBytes === body.length ? 'latin1' : 'utf8')
}

/** @param onClosed receives the error of the socket, or that the peer has closed it */
function watchSocket(socket: Socket, onEnd: () => void, onClosed: (reason: Error) => void): void {
  let failure: Error | undefined
  socket.setNoDelay(true)
  socket.on('error', error => {
    failure = error
  })
  socket.on('end', onEnd)
  socket.on('close', () =>
    onClosed(failure ?? new Http1Error('UND_ERR_SOCKET', 'the peer closed the connection')),
  )
}

let waiting: Http1Connection[] = []
/** Two lists in turns: one is filled while the other is written. */
let written: Http1Connection[] = []

/**
 * A peer on another processor is woken by the first write of a turn and is awake for the others, which costs a call 6 % less than a write of
 * each at once.
 */
function writeAtTurnEnd(connection: Http1Connection): void {
  if (waiting.length === 0) setImmediate(writeAll)
  waiting.push(connection)
}

function writeAll(): void {
  const connections = waiting
  waiting = written
  for (const connection of connections) connection.writeNow()
  connections.length = 0
  written = connections
}

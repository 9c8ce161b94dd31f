/** An HTTP/1.1 connection on which requests wait in line for their responses, and the interface of its owner. It opens no socket. */
import type { Socket } from 'node:net'
import { SILENT_MS } from './connection.ts'
import { Http1Error, type ResponseHandler, type WholeRequest } from './response-handler.ts'
import type { ResponseHead } from './response-head.ts'
import { ResponseParser, type ResponseSink } from './response-parser.ts'
import { type Writer, writeAtTurnEnd } from './turn-end.ts'
import { watchSocket } from './watch-socket.ts'

/** A request that may be sent twice. */
export interface LineRequest {
  readonly request: WholeRequest
  readonly handler: ResponseHandler
  /** Head and body; Latin-1. */
  readonly text: string
}

export interface LineOwner {
  /** The connection is closed, or will be; called once. */
  gone(connection: LineConnection): void
  /** Their responses have not begun, and will not come over this connection. */
  move(requests: readonly LineRequest[]): void
  /** The response to a request that waited behind no other is complete, `ms` after it was sent. */
  served(ms: number): void
  /** Requests waited without success, or bytes came that belong to none: the peer does not serve requests in a line. */
  broken(): void
  /** A request was taken back after it had waited long for a first byte. */
  silent(): void
  /** How long it may idle, ms; zero or less: not at all. */
  idleMs(declaredMs: number | undefined): number
}

interface Entry extends LineRequest {
  isWritten: boolean
  /** Nothing was before it when it was sent: all bytes that arrive are of its response. */
  readonly isAlone: boolean
  /** Bytes have arrived since it is first. */
  isTouched: boolean
  /** Its handler knows the head. */
  hasHead: boolean
}

/** A peer that closes its connections after fewer responses makes too many requests be sent twice. */
const MIN_RESPONSES = 64
const MAX_PIECES_PER_TURN = 1_000
/** May be sent twice without a visible difference: a second DELETE of a resource finds none. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export class LineConnection implements ResponseSink, Writer {
  /** Since when an idle connection has had no request, in ms of the monotonic clock. */
  idleSinceMs = 0
  /** When an idle connection must not be used any more, in ms of the monotonic clock. */
  idleUntilMs = 0
  readonly #owner: LineOwner
  readonly #parser = new ResponseParser(this)
  readonly #resume = () => void this.#socket?.resume()
  #socket: Socket | undefined
  /** The first one is that whose response comes next. */
  readonly #line: Entry[] = []
  /** Since when the first one has been first. */
  #firstSinceMs = 0
  #firstAtCheck: Entry | undefined
  #responses = 0
  #isReusable = true
  #isWriteDue = false
  /** It takes no more requests, and is closed after the response to the last one in its line. */
  #isEnding = false
  #declaredMs: number | undefined
  #isGone = false
  #isPaused = false

  constructor(owner: LineOwner) {
    this.#owner = owner
  }

  /** Takes over a socket that is connected; its bytes arrive through `onBytes`. */
  attach(socket: Socket): void {
    this.#socket = socket
    watchSocket(
      socket,
      () => this.#ended(),
      reason => this.#broke(reason),
    )
    this.#idle(this.#owner.idleMs(undefined))
  }

  get length(): number {
    return this.#line.length
  }

  get isOpen(): boolean {
    return !this.#isGone && !this.#isEnding && this.#socket?.writable === true
  }

  /**
   * Called at regular times. What arrived while this process was busy is read between two calls: it counts only the time of the peer.
   * @returns how long others have waited behind the first request, when it was first at the last call too; otherwise 0
   */
  blockedMs(nowMs: number): number {
    const [first] = this.#line
    const isSame = this.#line.length > 1 && first === this.#firstAtCheck
    this.#firstAtCheck = first
    return isSame ? nowMs - this.#firstSinceMs : 0
  }

  /** Whether it has carried a request since then for which no byte has arrived in SILENT_MS. */
  isSilentSince(sinceMs: number, nowMs: number): boolean {
    const first = this.#line[0]
    if (first === undefined || first.isTouched) return false
    return this.#firstSinceMs > sinceMs && nowMs - this.#firstSinceMs >= SILENT_MS
  }

  /** @returns false when the handler took its request back; nothing has changed then */
  send({ request, handler, text }: LineRequest): boolean {
    const isAlone = this.#line.length === 0
    const entry: Entry = {
      request,
      handler,
      text,
      isWritten: false,
      isAlone,
      isTouched: false,
      hasHead: false,
    }
    let isTakenBack = false
    let isInLine = false
    handler.onConnect(() => {
      isTakenBack = true
      if (isInLine) this.#takeBack(entry)
    })
    if (isTakenBack) return false
    isInLine = true
    this.#line.push(entry)
    if (isAlone) {
      this.#beginFirst()
      this.writeNow()
    } else this.#writeSoon()
    return true
  }

  #writeSoon(): void {
    if (this.#isWriteDue) return
    this.#isWriteDue = true
    writeAtTurnEnd(this)
  }

  /** Writes the requests that have come since the last time at once. */
  writeNow(): void {
    this.#isWriteDue = false
    if (this.#isGone) return
    let text = ''
    for (const entry of this.#line) {
      if (entry.isWritten) continue
      entry.isWritten = true
      text += entry.text
    }
    if (text !== '') this.#socket!.write(text, 'latin1')
  }

  /** From the socket: the first `length` bytes are new and valid only during the call. @returns false to pause reading */
  onBytes(length: number, bytes: Buffer): boolean {
    this.#isPaused = false
    for (let at = 0; at < length; ) {
      const first = this.#line[0]
      if (first?.isWritten !== true) {
        this.#owner.broken()
        this.#broke(new Http1Error('UND_ERR_SOCKET', 'the peer sent data that does not belong to a request'))
        return false
      }
      first.isTouched = true
      try {
        at += this.#parser.feed(at === 0 ? bytes : bytes.subarray(at, length), length - at)
      } catch (error) {
        this.#broke(error as Error)
        return false
      }
      if (this.#isGone) return false
      if (this.#parser.done) this.#complete()
      if (this.#isGone) return false
    }
    if (!this.#isPaused && (length === bytes.length || this.#parser.pieces > MAX_PIECES_PER_TURN)) {
      // more has arrived, up to 2 MB of which libuv would read at once: other work comes between
      setImmediate(this.#resume)
      return false
    }
    return !this.#isPaused
  }

  head(head: ResponseHead): void {
    const first = this.#line[0]
    if (first === undefined) return
    if (head.status >= 200) {
      first.hasHead = true
      this.#isReusable = head.keepAlive && head.framing(first.request.method) !== 'until-close'
      this.#declaredMs = head.keepAliveMs
    }
    first.handler.onHeaders(head.status, head, this.#resume)
    // nothing comes after this response: those behind it need not wait for its body
    if (!this.#isReusable && !this.#isGone) this.#endAfter(1)
  }

  data(chunk: Uint8Array): void {
    if (this.#line[0]?.handler.onData(chunk) === false) this.#isPaused = true
  }

  /** Lets the first request wait alone, when all behind it are safe to send again. */
  releaseWaiting(): void {
    if (this.#line.every(({ request }, at) => at === 0 || SAFE.has(request.method))) this.#endAfter(1)
  }

  /** Closes it; a request in its line fails, or is moved, when the socket reports that. */
  destroy(): void {
    this.#parser.stop()
    this.#leave()
    this.#socket?.destroy()
  }

  #beginFirst(): void {
    this.#firstSinceMs = performance.now()
    this.#parser.begin(this.#line[0]!.request.method)
  }

  #complete(): void {
    const entry = this.#line.shift()
    if (entry === undefined) return
    const next = this.#line[0]
    this.#responses++
    if (entry.isAlone) this.#owner.served(performance.now() - this.#firstSinceMs)
    // a response before the requests were written whole may be an early refusal of them
    const isOver = !this.#isReusable || this.#socket!.writableLength > 0
    if (isOver || (next === undefined && !this.#idle(this.#owner.idleMs(this.#declaredMs)))) this.#end()
    else {
      if (next !== undefined) this.#beginFirst()
      if (this.#isPaused) this.#socket!.resume()
      this.#isPaused = false
    }
    entry.handler.onComplete()
  }

  /** @returns false when it must not idle */
  #idle(idleMs: number): boolean {
    this.idleSinceMs = performance.now()
    this.idleUntilMs = this.idleSinceMs + idleMs
    return idleMs > 0 && !this.#isEnding
  }

  /** The requests from this place on are moved, and no others taken. */
  #endAfter(places: number): void {
    this.#isEnding = true
    this.#move(this.#line.splice(places))
  }

  #end(): void {
    const waiting = this.#line.splice(0)
    this.destroy()
    this.#move(waiting)
  }

  #move(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    if (this.#responses < MIN_RESPONSES) this.#owner.broken()
    this.#owner.move(entries)
  }

  /** A response that has begun fails, as on any connection. Bytes at the place of the next response may still be of the one before. */
  #broke(error: Error): void {
    const waiting = this.#line.splice(0)
    this.destroy()
    const first = waiting[0]
    if (first !== undefined && (first.hasHead || (first.isAlone && first.isTouched))) {
      waiting.shift()
      first.handler.onError(error)
    }
    this.#move(waiting)
  }

  #ended(): void {
    this.#isEnding = true
    this.#isReusable = false
    if (this.#line.length === 0) return this.destroy()
    try {
      this.#parser.close()
    } catch (error) {
      return this.#broke(error as Error)
    }
    this.#complete()
  }

  #takeBack(entry: Entry): void {
    const at = this.#line.indexOf(entry)
    if (at < 0) return
    if (!entry.isWritten) {
      this.#line.splice(at, 1)
      if (at > 0) return
      if (this.#line.length > 0) this.#beginFirst()
      else if (!this.#idle(this.#owner.idleMs(this.#declaredMs))) this.destroy()
      return
    }
    const isSilent = !entry.isTouched && at === 0 && performance.now() - this.#firstSinceMs >= SILENT_MS
    const [, ...behind] = this.#line.splice(at)
    this.#isEnding = true
    if (at === 0) this.destroy()
    this.#owner.move(behind)
    if (isSilent) this.#owner.silent()
  }

  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#owner.gone(this)
  }
}

/** Parses HTTP/1 responses as their bytes arrive (RFC 9112 §6 and §7). */

import { Http1Error } from './response-handler.ts'
import { type Framing, type ResponseHead, readHead } from './response-head.ts'

/** Where the parts of a response go. */
export interface ResponseSink {
  head(head: ResponseHead): void
  /** What one read holds of the body, at once; a copy that may be kept. */
  data(content: Uint8Array): void
}

/** Node's own default for a whole head. */
const MAX_HEAD_BYTES = 16 * 1024
const MAX_TRAILER_BYTES = 8 * 1024
/** A chunk's size with its extensions. */
const MAX_CHUNK_LINE_BYTES = 256
/** RFC 9110 §15.2 sets no number; a peer that sends more of them will not send a final response. */
const MAX_INFORMATIONAL = 16

type State =
  | 'head'
  | 'length'
  | 'chunk-line'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailer'
  | 'until-close'
  | 'done'

export class ResponseParser {
  #state: State = 'done'
  #method = 'GET'
  readonly #sink: ResponseSink
  /** The part of a head or a line that has arrived. */
  #text = ''
  /** Bytes still to come of the body or the chunk. */
  #left = 0
  #trailerBytes = 0
  #informational = 0
  /** The content of the current read: one range of it, or several copied into `#joined`. */
  #from = 0
  #to = 0
  #joined: Buffer | undefined
  #joinedBytes = 0
  #pieces = 0

  constructor(sink: ResponseSink) {
    this.#sink = sink
  }

  /** Starts the response to a request with this method; the state of the previous one is cleared. */
  begin(method: string): void {
    this.#state = 'head'
    this.#method = method
    this.#text = ''
    this.#trailerBytes = 0
    this.#informational = 0
  }

  /** The rest of the response is of no interest. */
  stop(): void {
    this.#state = 'done'
  }

  get done(): boolean {
    return this.#state === 'done'
  }

  /** How many pieces the content of the last read had; many of them take long. */
  get pieces(): number {
    return this.#pieces
  }

  /**
   * @param bytes the first `length` of them are new; they may be overwritten after the call
   * @returns how many belonged to the response: fewer than `length` only when it is complete
   * @throws Http1Error `HPE_…`; the connection is of no use any more
   */
  feed(bytes: Buffer, length: number): number {
    this.#from = 0
    this.#to = 0
    this.#pieces = 0
    try {
      return this.#read(bytes, length)
    } finally {
      // also before an error: what has arrived is passed on
      this.#pass(bytes)
    }
  }

  #read(bytes: Buffer, length: number): number {
    let at = 0
    while (at < length && this.#state !== 'done') {
      switch (this.#state) {
        case 'head':
          at = this.#readHead(bytes, at, length)
          break
        case 'length':
        case 'chunk-data':
          at = this.#readCounted(bytes, at, length)
          break
        case 'until-close':
          this.#take(bytes, at, length)
          at = length
          break
        case 'chunk-line':
          at = this.#readChunkLine(bytes, at, length)
          break
        case 'chunk-end':
          at = this.#readChunkEnd(bytes, at, length)
          break
        case 'trailer':
          at = this.#readTrailer(bytes, at, length)
      }
    }
    return at
  }

  /**
   * The peer has closed its side.
   * @throws Http1Error unless the response may end this way
   */
  close(): void {
    if (this.#state === 'until-close') this.#state = 'done'
    if (this.#state !== 'done') throw new Http1Error('UND_ERR_SOCKET', 'the peer closed the connection')
  }

  #readHead(bytes: Buffer, at: number, length: number): number {
    const before = this.#text.length
    const whole = before === 0 ? endOfHead(bytes, at, length) : -1
    // nearly all heads arrive in one piece
    if (whole >= 0) return this.#enter(readHead(bytes, at, whole), whole)
    const end = Math.min(length, at + MAX_HEAD_BYTES - before)
    this.#text += bytes.toString('latin1', at, end)
    // the empty line may have begun in the piece before
    const found = this.#text.indexOf('\r\n\r\n', Math.max(0, before - 3))
    if (found < 0) {
      if (this.#text.length >= MAX_HEAD_BYTES) throw bad('HPE_HEADER_OVERFLOW')
      return end
    }
    const headBytes = found + 4
    const head = Buffer.from(this.#text.slice(0, headBytes), 'latin1')
    this.#text = ''
    return this.#enter(readHead(head, 0, headBytes), at + headBytes - before)
  }

  /** @returns `end`, of the head */
  #enter(head: ResponseHead, end: number): number {
    if (head.status === 101) throw bad('HPE_INVALID_STATUS') // no upgrade was requested
    if (head.status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) throw bad('HPE_HEADER_OVERFLOW')
      // only the next head follows it (RFC 9110 §15.2)
      if (!head.keepAlive || head.chunked || head.contentLength >= 0) throw bad('HPE_INVALID_STATUS')
    } else this.#enterBody(head.framing(this.#method), head)
    this.#sink.head(head)
    return end
  }

  #enterBody(framing: Framing, head: ResponseHead): void {
    switch (framing) {
      case 'none':
        this.#state = 'done'
        return
      case 'length':
        this.#state = 'length'
        this.#left = head.contentLength
        return
      case 'chunked':
        this.#state = 'chunk-line'
        return
      case 'until-close':
        this.#state = 'until-close'
    }
  }

  #readCounted(bytes: Buffer, at: number, length: number): number {
    const end = Math.min(length, at + this.#left)
    this.#left -= end - at
    if (this.#left === 0) this.#state = this.#state === 'length' ? 'done' : 'chunk-end'
    this.#take(bytes, at, end)
    return end
  }

  /** A read may hold ten thousand chunks of one byte, each of which would be a turn of its reader. */
  #take(bytes: Buffer, from: number, to: number): void {
    this.#pieces++
    if (this.#to === 0) {
      this.#from = from
      this.#to = to
      return
    }
    if (this.#joined === undefined) {
      this.#joined = Buffer.allocUnsafe(bytes.length - this.#from)
      this.#joinedBytes = bytes.copy(this.#joined, 0, this.#from, this.#to)
    }
    this.#joinedBytes += bytes.copy(this.#joined, this.#joinedBytes, from, to)
  }

  #pass(bytes: Buffer): void {
    if (this.#to === 0) return
    const joined = this.#joined
    if (joined === undefined) return this.#sink.data(copy(bytes, this.#from, this.#to))
    this.#joined = undefined
    const content = joined.subarray(0, this.#joinedBytes)
    // a reader that keeps it keeps no more than twice its size
    this.#sink.data(content.length * 2 < joined.length ? Buffer.from(content) : content)
  }

  #readChunkLine(bytes: Buffer, at: number, length: number): number {
    if (this.#text === '') {
      const end = this.#readPlainSize(bytes, at, length)
      if (end > 0) return end
    }
    const next = this.#readLine(bytes, at, length, MAX_CHUNK_LINE_BYTES)
    if (next < 0) return length
    this.#left = chunkSize(this.#text)
    this.#text = ''
    this.#state = this.#left === 0 ? 'trailer' : 'chunk-data'
    return next
  }

  /** A line of digits alone that has arrived whole, in a third of the time. @returns the offset after it; 0 for any other line */
  #readPlainSize(bytes: Buffer, from: number, length: number): number {
    let size = 0
    const end = Math.min(length - 2, from + MAX_PLAIN_DIGITS)
    for (let at = from; at <= end; at++) {
      const byte = bytes[at]!
      const digit = hexDigit(byte)
      if (digit < 0) {
        if (byte !== CR || bytes[at + 1] !== LF || at === from) return 0
        this.#left = size
        this.#state = size === 0 ? 'trailer' : 'chunk-data'
        return at + 2
      }
      size = size * 16 + digit
    }
    return 0
  }

  #readChunkEnd(bytes: Buffer, at: number, length: number): number {
    if (this.#text === '' && at + 1 < length && bytes[at] === CR && bytes[at + 1] === LF) {
      this.#state = 'chunk-line'
      return at + 2
    }
    const next = this.#readLine(bytes, at, length, 2)
    if (next < 0) return length
    if (this.#text !== '\r\n') throw bad('HPE_STRICT')
    this.#text = ''
    this.#state = 'chunk-line'
    return next
  }

  /** Trailers are checked for their form and dropped. */
  #readTrailer(bytes: Buffer, at: number, length: number): number {
    const next = this.#readLine(bytes, at, length, MAX_TRAILER_BYTES - this.#trailerBytes)
    if (next < 0) return length
    const line = this.#text
    this.#text = ''
    this.#trailerBytes += line.length
    if (line === '\r\n') this.#state = 'done'
    else if (!TRAILER.test(line)) throw bad('HPE_INVALID_HEADER_TOKEN')
    return next
  }

  /** Adds to the text until the line's end, which stays on it. @returns the offset after it, or -1 when it has not come yet */
  #readLine(bytes: Buffer, at: number, length: number, maxBytes: number): number {
    const lineEnd = bytes.indexOf(0x0a, at)
    const end = lineEnd < 0 || lineEnd >= length ? length : lineEnd + 1
    if (this.#text.length + end - at > maxBytes) throw bad('HPE_HEADER_OVERFLOW')
    this.#text += bytes.toString('latin1', at, end)
    return end === lineEnd + 1 ? end : -1
  }
}

const EMPTY_LINE = Buffer.from('\r\n\r\n', 'latin1')

/** @returns the offset after the head; -1 when its end is not within the bytes, or too far away */
function endOfHead(bytes: Buffer, from: number, length: number): number {
  const found = bytes.indexOf(EMPTY_LINE, from)
  const end = found + EMPTY_LINE.length
  return found < 0 || end > length || end - from > MAX_HEAD_BYTES ? -1 : end
}

/** Framing has no place after the body (RFC 9110 §6.5.1). */
const TRAILER =
  /^(?!(?:content-length|transfer-encoding):)[!#$%&'*+\-.^_`|~\dA-Za-z]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n$/i
/** RFC 9112 §7.1.1 without the white space that it only tolerates. */
const CHUNK_LINE =
  /^([\da-fA-F]{1,12})(?:;[!#$%&'*+\-.^_`|~\dA-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~\dA-Za-z]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*\r\n$/

const MAX_PLAIN_DIGITS = 7
const CR = 0x0d
const LF = 0x0a

/** @returns -1 for any other byte */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

function chunkSize(line: string): number {
  const size = CHUNK_LINE.exec(line)?.[1]
  if (size === undefined) throw bad('HPE_INVALID_CHUNK_SIZE')
  return Number.parseInt(size, 16)
}

const SLAB_BYTES = 32 * 1024
const SMALL_BYTES = 4 * 1024
/** Fewer are copied one by one: the call of `copy` and its view cost as much as 200. */
const MIN_CALL_BYTES = 128
let slab = new Uint8Array(SLAB_BYTES)
let slabMemory = slab.buffer
let slabUsed = 0

/** Small pieces share a slab, and each is one view of it. */
function copy(bytes: Buffer, from: number, to: number): Uint8Array {
  const length = to - from
  if (length > SMALL_BYTES) return Buffer.from(bytes.subarray(from, to))
  if (slabUsed + length > SLAB_BYTES) {
    slab = new Uint8Array(SLAB_BYTES)
    slabMemory = slab.buffer
    slabUsed = 0
  }
  const at = slabUsed
  if (length >= MIN_CALL_BYTES) bytes.copy(slab, at, from, to)
  else for (let read = from, write = at; read < to; read++) slab[write++] = bytes[read]!
  slabUsed += (length + 7) & ~7
  // `subarray` takes twice as long
  return new Uint8Array(slabMemory, at, length)
}

function bad(code: string): Http1Error {
  return new Http1Error(code, 'the response is not valid HTTP/1.1')
}

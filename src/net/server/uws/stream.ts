/** A streamed response of the uWS listener, with a count of the bytes held for a slow client. `turn.ts` holds the native response. */
import type { ResponseStream } from '../listener.ts'
import type { NativeResponse } from './native.ts'
import type { UwsTurn } from './turn.ts'

/** Size of the native cork buffer: a larger piece goes to the system at once, so its outcome is known. */
const PIECE_BYTES = 16 * 1024
/** What keeping a piece costs beside its bytes: many tiny events must not slip under the bound. */
const PIECE_COST_BYTES = 96
/** A string this long is at most one piece in UTF-8 (3 bytes a character) and need not be measured. */
const SHORT_STRING = PIECE_BYTES / 4

/**
 * With its count of what a client makes us hold: natively the first sign of a client that does not read comes after 4 MB in the
 * kernel, and what follows would be buffered without end.
 */
export class UwsStream implements ResponseStream {
  readonly #turn: UwsTurn
  /** Declared length; -1 for chunked. */
  readonly #total: number
  #queue: Uint8Array[] = []
  #queuedBytes = 0
  /** Upper bound of what uWS itself holds since its last refusal. */
  #nativeBytes = 0
  #sentBytes = 0
  #blocked = false
  #watching = false
  #ending = false
  #onDrain: (() => void) | undefined

  /** @param head '' when the response is complete without a body; nothing written is sent then. */
  constructor(turn: UwsTurn, head: string | Uint8Array, total: number) {
    this.#turn = turn
    this.#total = total
    if (turn.closed) return
    // the line that ends a head of declared length is sent with the first bytes: uWS takes an empty piece for the whole body
    turn.write(native => {
      native.writeStatus(head)
    })
  }

  get bufferedBytes(): number {
    return this.#queuedBytes + this.#nativeBytes
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  write(chunk: string | Uint8Array, isReused = false): boolean {
    const turn = this.#turn
    if (turn.closed || this.#ending) return false
    if (chunk.length === 0) return !this.#blocked
    if (!this.#blocked) turn.write(native => this.#offer(native, chunk, isReused))
    else {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      const held = this.bufferedBytes + (this.#queue.length + 1) * PIECE_COST_BYTES
      if (held + bytes.length > turn.context.limits.maxBufferedBytes) turn.cut('slow_reader')
      else this.#keep(bytes, isReused)
    }
    return !this.#blocked
  }

  end(lastChunk?: string | Uint8Array): void {
    if (lastChunk !== undefined) this.write(lastChunk)
    if (this.#turn.closed) return
    this.#turn.markResponded()
    this.#ending = true
    if (!this.#blocked) this.#finish()
  }

  #keep(bytes: Uint8Array, isReused = false): void {
    this.#queue.push(isReused ? Buffer.from(bytes) : bytes)
    this.#queuedBytes += bytes.length
  }

  /** Hands a chunk to uWS until it refuses; the rest is kept. */
  #offer(native: NativeResponse, chunk: string | Uint8Array, isReused = false): void {
    if (typeof chunk === 'string') {
      if (chunk.length <= SHORT_STRING && this.#total < 0) {
        if (!native.write(chunk)) this.#block(native, Buffer.byteLength(chunk))
        return
      }
      chunk = Buffer.from(chunk)
    }
    let at = 0
    while (at < chunk.length && !this.#blocked && !this.#isComplete) {
      const pieceBytes = this.#total < 0 ? PIECE_BYTES : Math.min(PIECE_BYTES, this.#total - this.#sentBytes)
      const piece = chunk.subarray(at, at + pieceBytes)
      at += this.#total < 0 ? this.#offerChunked(native, piece) : this.#offerSized(native, piece)
    }
    if (this.#blocked && at < chunk.length) this.#keep(chunk.subarray(at), isReused)
  }

  /** A chunked piece is always taken whole; what the system refuses of it stays in uWS. */
  #offerChunked(native: NativeResponse, piece: Uint8Array): number {
    if (!native.write(piece)) this.#block(native, piece.length)
    return piece.length
  }

  /** A piece of a sized body is taken as far as the system takes it. */
  #offerSized(native: NativeResponse, piece: Uint8Array): number {
    const [taken, complete] = native.tryEnd(piece, this.#total)
    if (complete) {
      this.#sentBytes = this.#total
      this.#turn.release()
      return piece.length
    }
    const before = this.#sentBytes
    this.#sentBytes = native.getWriteOffset()
    if (!taken) this.#block(native, 0)
    return this.#sentBytes - before
  }

  get #isComplete(): boolean {
    return this.#total >= 0 && this.#sentBytes >= this.#total
  }

  #block(native: NativeResponse, nativeBytes: number): void {
    this.#blocked = true
    this.#nativeBytes = nativeBytes
    this.#turn.markStalled(true)
    if (this.#watching) return
    this.#watching = true
    native.onWritable(() => {
      this.#flush()
      return true
    })
  }

  /** The system takes bytes again: first what uWS holds, then what we hold. */
  #flush(): void {
    this.#nativeBytes = 0
    this.#blocked = false
    const queue = this.#queue
    this.#queue = []
    this.#queuedBytes = 0
    if (queue.length === 0) this.#turn.drain()
    else {
      this.#turn.write(native => {
        for (const piece of queue) {
          if (this.#blocked) this.#keep(piece)
          else this.#offer(native, piece)
        }
      })
    }
    if (this.#blocked) return
    this.#turn.markStalled(false)
    if (this.#ending) this.#finish()
    else this.#onDrain?.()
  }

  #finish(): void {
    const turn = this.#turn
    if (this.#total >= 0) {
      // All that was declared was sent and released long ago, or the response is short: then it must not look complete.
      turn.destroy()
    } else if (turn.body === 'reading') {
      turn.endAndClose('', '')
    } else {
      turn.write(native => {
        turn.release()
        native.end()
      })
    }
  }
}

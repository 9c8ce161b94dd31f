/** Holds the pieces of a request body until they are read, and pauses the sender while many bytes are held. It does not change the bytes. */
import type { HttpRequest } from './listener.ts'

/** More than this waiting, and the sender is held back (TCP backpressure). */
const HIGH_WATER_BYTES = 64 * 1024

/** Made synchronously in the handler; read once. Without a reader it holds no more than the high-water mark and what was in flight. */
export class BodyQueue implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = []
  readonly #flow: { pause(): void; resume(): void }
  #bytes = 0
  #paused = false
  #ended = false
  #stopped = false
  #read = false
  #wake: (() => void) | undefined

  constructor(request: HttpRequest) {
    this.#flow = request.streamBody({
      data: piece => {
        if (this.#stopped) return
        this.#pieces.push(piece)
        this.#bytes += piece.byteLength
        if (this.#bytes > HIGH_WATER_BYTES && !this.#paused) {
          this.#paused = true
          this.#flow.pause()
        }
        this.#wake?.()
      },
      end: () => {
        this.#ended = true
        this.#wake?.()
      },
    })
  }

  /** True until the first piece is handed over: until then it can be read from its beginning. */
  get unread(): boolean {
    return !this.#read
  }

  /** Drops what is held and lets the rest pass by unread. */
  stop(): void {
    this.#stopped = true
    this.#pieces.length = 0
    this.#bytes = 0
    this.#resume()
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift()
      if (piece !== undefined) {
        this.#read = true
        this.#bytes -= piece.byteLength
        if (this.#bytes <= HIGH_WATER_BYTES / 2) this.#resume()
        yield piece
        continue
      }
      if (this.#stopped) throw new Error('the sender closed the connection')
      if (this.#ended) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#flow.resume()
  }
}

/** A received body as a stream for one reader, with backpressure to the peer. */

/** Held for a reader that is slower than the peer before the connection is paused. */
const HIGH_WATER_BYTES = 64 * 1024

export class BodyStream implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array, undefined> {
  #chunks: Uint8Array[] = []
  #heldBytes = 0
  #paused = false
  #ended = false
  #error: Error | undefined
  #waiting:
    | { resolve(result: IteratorResult<Uint8Array, undefined>): void; reject(error: Error): void }
    | undefined
  readonly #resume: () => void
  readonly #onDestroy: () => void

  constructor(resume: () => void, onDestroy: () => void) {
    this.#resume = resume
    this.#onDestroy = onDestroy
  }

  /** Takes a piece from the peer; false asks for a pause. */
  push(chunk: Uint8Array): boolean {
    const waiting = this.#waiting
    if (waiting !== undefined) {
      this.#waiting = undefined
      waiting.resolve({ done: false, value: chunk })
      return true
    }
    this.#chunks.push(chunk)
    this.#heldBytes += chunk.byteLength
    this.#paused = this.#heldBytes >= HIGH_WATER_BYTES
    return !this.#paused
  }

  end(): void {
    this.#ended = true
    this.#waiting?.resolve(DONE)
    this.#waiting = undefined
  }

  /** The reader gets what has arrived, then the error. */
  fail(error: Error): void {
    if (this.#ended) return
    this.#error = error
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }

  takeWhole(bytes: number): Uint8Array | undefined {
    const [whole] = this.#chunks
    if (!this.#ended || this.#chunks.length !== 1 || whole!.byteLength !== bytes) return undefined
    this.#chunks = []
    this.#heldBytes = 0
    return whole
  }

  destroy(): void {
    this.#chunks = []
    this.#heldBytes = 0
    this.#error = undefined
    this.end()
    this.#onDestroy()
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const chunk = this.#chunks.shift()
    if (chunk !== undefined) {
      this.#heldBytes -= chunk.byteLength
      if (this.#paused && this.#heldBytes < HIGH_WATER_BYTES / 2) {
        this.#paused = false
        this.#resume()
      }
      return { done: false, value: chunk }
    }
    if (this.#error !== undefined) throw this.#error
    if (this.#ended) return DONE
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.destroy()
    return DONE
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

const DONE: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined })

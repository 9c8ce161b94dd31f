/** Collects the pieces of a body that came in more than one. */

const SHORT_BYTES = 4 * 1024
const MAX_SHORT = 64
const BLOCK_BYTES = 64 * 1024
/** A longer body is collected in one buffer as it arrives: joining 8 MB at its end takes 11 ms. */
const MAX_JOINED_BYTES = 512 * 1024

export class BodyParts {
  /** Declared bytes of the whole body, as its head says; 0 when it does not. */
  readonly #declaredBytes: number
  readonly #maxBytes: number
  #chunks: Uint8Array[]
  /** The last chunk, while short ones may follow in it: a million chunks of one byte would take long to join. */
  #block: Buffer | undefined
  #blockUsed = 0
  #whole: Buffer | undefined
  #bytes: number

  /** @param maxBytes that the body may have at all */
  constructor(first: Uint8Array, declaredBytes: number, maxBytes: number) {
    this.#chunks = [first]
    this.#bytes = first.byteLength
    this.#declaredBytes = declaredBytes
    this.#maxBytes = maxBytes
  }

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength
    if (this.#bytes > MAX_JOINED_BYTES) return this.#append(chunk)
    // few short chunks need no block
    if (chunk.byteLength >= SHORT_BYTES || this.#chunks.length < MAX_SHORT) {
      this.#endBlock()
      this.#chunks.push(chunk)
      return
    }
    if (this.#block === undefined || this.#blockUsed + chunk.byteLength > BLOCK_BYTES) {
      this.#endBlock()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    }
    this.#block.set(chunk, this.#blockUsed)
    this.#blockUsed += chunk.byteLength
  }

  joinParts(): Uint8Array {
    return this.#whole?.subarray(0, this.#bytes) ?? this.#join()
  }

  #endBlock(): void {
    if (this.#block !== undefined) this.#chunks.push(this.#block.subarray(0, this.#blockUsed))
    this.#block = undefined
    this.#blockUsed = 0
  }

  #append(chunk: Uint8Array): void {
    const used = this.#bytes - chunk.byteLength
    if (this.#whole === undefined || this.#bytes > this.#whole.length) {
      const doubled = Math.min(2 * this.#bytes, this.#maxBytes)
      const next = Buffer.allocUnsafeSlow(this.#declaredBytes >= this.#bytes ? this.#declaredBytes : doubled)
      if (this.#whole === undefined) this.#join().copy(next)
      else this.#whole.copy(next, 0, 0, used)
      this.#whole = next
      this.#chunks = []
    }
    this.#whole.set(chunk, used)
  }

  #join(): Buffer {
    this.#endBlock()
    return Buffer.concat(this.#chunks)
  }
}

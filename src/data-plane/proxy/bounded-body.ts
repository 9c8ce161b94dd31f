/** A request body that ends with an error when it is longer than the API accepts. */

export class BoundedBody implements AsyncIterable<Uint8Array> {
  /** True once the bound was exceeded. */
  exceeded = false
  readonly #body: AsyncIterable<Uint8Array>
  readonly #maxBytes: number

  constructor(body: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#body = body
    this.#maxBytes = maxBytes
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    let bytes = 0
    for await (const piece of this.#body) {
      bytes += piece.byteLength
      if (bytes > this.#maxBytes) {
        this.exceeded = true
        throw new Error('the body is larger than the API accepts')
      }
      yield piece
    }
  }
}

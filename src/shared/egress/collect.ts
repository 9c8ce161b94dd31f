/** An outgoing call whose response is collected within a bound and decoded, and shown to an observer as it arrives. It sends no request. */

import { Call } from './call.ts'
import { type Decoder, openDecoder } from './decode.ts'
import type { EgressFailure, EgressHeaders, EgressRequest, EgressResponse } from './egress.ts'
import { failure } from './failure.ts'
import { DecodedHeaders, ReceivedHeaders, received } from './headers.ts'
import type { OriginPool } from './origin-pools.ts'

const SHORT_BYTES = 4 * 1024
const MAX_SHORT = 64
const BLOCK_BYTES = 64 * 1024
/** A longer body is collected in one buffer as it arrives: joining 8 MB at its end takes 11 ms. */
const MAX_JOINED_BYTES = 512 * 1024

export class CollectingCall extends Call<EgressResponse> {
  readonly #request: EgressRequest
  #status = 0
  #headers: EgressHeaders = NO_HEADERS
  #chunks: Uint8Array[] = []
  /** The last chunk, while short ones may follow in it: a million chunks of one byte would take long to join. */
  #block: Buffer | undefined
  #blockUsed = 0
  #whole: Buffer | undefined
  /** As the head says; 0 when it does not. */
  #declaredBytes = 0
  #bytes = 0
  #decoder: Decoder | undefined

  constructor(origin: string, pool: OriginPool, request: EgressRequest) {
    super(origin, pool, request)
    this.#request = request
  }

  onHeaders(status: number, wire: EgressHeaders | Buffer[], resume: () => void): boolean {
    // Informational responses (103 Early Hints) come before the real one.
    if (this.over || status < 200) return true
    this.responded = true
    this.#status = status
    const headers = received(wire)
    this.#headers = headers
    const hasBody = this.#request.method !== 'HEAD' && status !== 204 && status !== 304
    const declared = hasBody ? Number(headers.get('content-length')) : 0
    if (declared > this.#request.maxResponseBytes) {
      this.#tooLarge()
      return true
    }
    const encoding = hasBody ? headers.get('content-encoding').toLowerCase() : ''
    const isEncoded = encoding !== '' && encoding !== 'identity'
    if (isEncoded && !this.#decode(encoding, resume)) return true
    if (!isEncoded) this.#declaredBytes = declared
    this.#request.onHead?.(status, this.#headers)
    return true
  }

  onData(chunk: Uint8Array): boolean {
    if (this.over) return true
    if (this.#decoder !== undefined) return this.#decoder.write(chunk)
    this.#accept(chunk)
    return true
  }

  onComplete(): void {
    if (this.over) return
    if (this.#decoder !== undefined) this.#decoder.end()
    else this.#done()
  }

  #decode(encoding: string, resume: () => void): boolean {
    const decoder = openDecoder(encoding, {
      data: chunk => this.#accept(chunk),
      drain: resume,
      end: () => this.#done(),
      error: () =>
        this.fail(failure('protocol', `${this.origin} sent a body that is not valid ${encoding}`, true)),
    })
    if (decoder === undefined) {
      this.fail(
        failure('protocol', `${this.origin} responded with a content encoding that was not requested`, true),
      )
      return false
    }
    this.#decoder = decoder
    this.#headers = new DecodedHeaders(this.#headers)
    return true
  }

  #accept(chunk: Uint8Array): void {
    if (this.over) return
    this.#bytes += chunk.byteLength
    if (this.#bytes > this.#request.maxResponseBytes) return this.#tooLarge()
    this.#keep(chunk)
    this.#request.onChunk?.(chunk)
  }

  #keep(chunk: Uint8Array): void {
    if (this.#bytes > MAX_JOINED_BYTES) return this.#append(chunk)
    // few short chunks need no block
    if (chunk.byteLength >= SHORT_BYTES || this.#chunks.length < MAX_SHORT) {
      this.#endBlock()
      // the literal allocates one element; a push into an empty array would allocate seventeen
      if (this.#chunks.length === 0) this.#chunks = [chunk]
      else this.#chunks.push(chunk)
      return
    }
    if (this.#block === undefined || this.#blockUsed + chunk.byteLength > BLOCK_BYTES) {
      this.#endBlock()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    }
    this.#block.set(chunk, this.#blockUsed)
    this.#blockUsed += chunk.byteLength
  }

  #endBlock(): void {
    if (this.#block !== undefined) this.#chunks.push(this.#block.subarray(0, this.#blockUsed))
    this.#block = undefined
    this.#blockUsed = 0
  }

  #append(chunk: Uint8Array): void {
    const used = this.#bytes - chunk.byteLength
    if (this.#whole === undefined || this.#bytes > this.#whole.length) {
      const doubled = Math.min(2 * this.#bytes, this.#request.maxResponseBytes)
      const next = Buffer.allocUnsafeSlow(this.#declaredBytes >= this.#bytes ? this.#declaredBytes : doubled)
      if (this.#whole === undefined) this.#joined().copy(next)
      else this.#whole.copy(next, 0, 0, used)
      this.#whole = next
      this.#chunks = []
    }
    this.#whole.set(chunk, used)
  }

  #joined(): Buffer {
    this.#endBlock()
    return Buffer.concat(this.#chunks)
  }

  #tooLarge(): void {
    const limit = this.#request.maxResponseBytes
    this.fail(failure('too_large', `${this.origin} responded with more than ${limit} bytes`, true))
  }

  #done(): void {
    if (this.over) return
    this.#endBlock()
    const whole = this.#whole?.subarray(0, this.#bytes)
    const body = whole ?? (this.#chunks.length === 1 ? this.#chunks[0]! : this.#joined())
    this.finish()
    this.resolve({ kind: 'response', status: this.#status, headers: this.#headers, body })
  }

  protected override onFailed(_why: EgressFailure): void {
    this.#chunks = []
    this.#block = undefined
    this.#whole = undefined
    this.#decoder?.destroy()
  }
}

const NO_HEADERS: EgressHeaders = new ReceivedHeaders([])

/** An outgoing call whose response is collected within a bound and decoded, and shown to an observer as it arrives. */

import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { Share } from '../../base/fair-shares.ts'
import { mayGrow } from '../held-bytes.ts'
import { BodyParts } from './body-parts.ts'
import { Call } from './call.ts'
import type { EgressFailure, EgressHeaders, EgressRequest, EgressResponse } from './egress.ts'
import { failure } from './failure.ts'
import { DecodedHeaders, ReceivedHeaders, toHeaders } from './headers.ts'
import { ResponseHead } from './http1/response-head.ts'
import type { OriginPool } from './origin-pool.ts'

export class CollectingCall extends Call<EgressResponse> {
  readonly #request: EgressRequest
  #status = 0
  #headers: EgressHeaders = NO_HEADERS
  /** Most bodies come in one piece. */
  #first: Uint8Array | undefined
  /** The first one and those behind it. */
  #parts: BodyParts | undefined
  /** As the head says; 0 when it does not. */
  #declaredBytes = 0
  #bytes = 0
  /** So many may be kept. */
  #grantedBytes = 0
  #decoder: Decoder | undefined

  constructor(origin: string, pool: OriginPool, runs: Share | undefined, request: EgressRequest) {
    super(origin, pool, runs, request)
    this.#request = request
  }

  onHeaders(status: number, wire: EgressHeaders | Buffer[], resume: () => void): boolean {
    // Informational responses (103 Early Hints) come before the real one.
    if (this.over || status < 200) return true
    this.handleHead()
    this.#status = status
    const headers = toHeaders(wire)
    this.#headers = headers
    const hasBody = this.#request.method !== 'HEAD' && status !== 204 && status !== 304
    const declared = hasBody ? lengthOf(headers) : 0
    if (declared > this.#request.maxResponseBytes) {
      this.#tooLarge()
      return true
    }
    const encoding = hasBody ? headers.get('content-encoding') : ''
    const isEncoded = encoding !== '' && encoding.toLowerCase() !== 'identity'
    if (isEncoded && !this.#decode(encoding.toLowerCase(), resume)) return true
    if (!isEncoded) {
      this.#declaredBytes = declared
      if (!this.#mayHold(declared)) return true
    }
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
    else this.#finish()
  }

  #decode(encoding: string, resume: () => void): boolean {
    const decoder = openDecoder(encoding, {
      data: chunk => this.#accept(chunk),
      drain: resume,
      end: () => this.#finish(),
      error: () =>
        this.fail(failure('encoding', `${this.origin} sent a body that is not valid ${encoding}`, true)),
    })
    if (decoder === undefined) {
      this.fail(
        failure('encoding', `${this.origin} responded with a content encoding that was not requested`, true),
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
    if (!this.#mayHold(this.#bytes)) return
    this.#keep(chunk)
    this.#request.onChunk?.(chunk)
  }

  #keep(chunk: Uint8Array): void {
    if (this.#parts !== undefined) this.#parts.add(chunk)
    else if (this.#first === undefined) this.#first = chunk
    else {
      this.#parts = new BodyParts(this.#first, this.#declaredBytes, this.#request.maxResponseBytes)
      this.#parts.add(chunk)
    }
  }

  /** Fails the call when the budget does not allow so many bytes. */
  #mayHold(bytes: number): boolean {
    if (bytes <= this.#grantedBytes) return true
    if (mayGrow(this.#request.budget, this.#grantedBytes, bytes)) {
      this.#grantedBytes = bytes
      return true
    }
    const message = `the response of ${this.origin} was not kept: the gateway holds as many bytes as HELD_BYTES_MAX allows`
    this.fail(failure('over_budget', message, true))
    return false
  }

  #tooLarge(): void {
    const limit = this.#request.maxResponseBytes
    this.fail(failure('too_large', `${this.origin} responded with more than ${limit} bytes`, true))
  }

  #finish(): void {
    if (this.over) return
    const body = this.#parts?.joinParts() ?? this.#first ?? EMPTY
    this.finish()
    this.resolve({ kind: 'response', status: this.#status, headers: this.#headers, body })
  }

  protected override onFailed(_why: EgressFailure): void {
    this.#first = undefined
    this.#parts = undefined
    this.#decoder?.destroy()
  }
}

/** 0 without a declared length. */
function lengthOf(headers: EgressHeaders): number {
  return headers instanceof ResponseHead
    ? Math.max(0, headers.contentLength)
    : Number(headers.get('content-length'))
}

const EMPTY = new Uint8Array(0)
const NO_HEADERS: EgressHeaders = new ReceivedHeaders([])

interface Decoder {
  /** False when the decoder is behind; `drain` is emitted when it has caught up. */
  write(chunk: Uint8Array): boolean
  end(): void
  destroy(): void
}

interface DecoderSink {
  data(chunk: Uint8Array): void
  drain(): void
  end(): void
  error(): void
}

/** undefined for an encoding that is not understood (several at once included). */
function openDecoder(encoding: string, sink: DecoderSink): Decoder | undefined {
  const open = DECODERS.get(encoding)
  if (open === undefined) return undefined
  const stream = open()
  stream.on('data', sink.data)
  stream.on('drain', sink.drain)
  stream.on('end', sink.end)
  stream.on('error', sink.error)
  return {
    write: chunk => stream.write(chunk),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  }
}

const DECODERS = new Map([
  ['gzip', createUnzip],
  ['x-gzip', createUnzip],
  ['deflate', createUnzip],
  ['br', createBrotliDecompress],
])

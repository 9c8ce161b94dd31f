/** Copies a part of the requests of an API to a second upstream, and counts the copies. */
import type { MirrorRule } from '../../model/schema/upstream-addresses.ts'
import type { Egress, EgressRequest, EgressStreamRequest } from './egress.ts'

/** Copies of one API that run at once in a thread; more are dropped. */
const MAX_IN_FLIGHT = 16
/** For a response, which nothing reads. */
const MAX_RESPONSE_BYTES = 64 * 1024

export interface MirrorCounts {
  sent: number
  /** The second upstream did not respond. */
  failed: number
  /** Not sent: too many at once, or a body that is too long. */
  dropped: number
}

export function emptyMirrorCounts(): MirrorCounts {
  return { sent: 0, failed: 0, dropped: 0 }
}

type Body = NonNullable<EgressStreamRequest['body']>
type Copied = Pick<EgressRequest, 'method' | 'headers'>

export class Mirror {
  readonly #rule: MirrorRule
  readonly #url: string
  readonly #methods: ReadonlySet<string>
  readonly #egress: Egress
  readonly #counts: MirrorCounts
  readonly #random: () => number
  #inFlight = 0

  constructor(rule: MirrorRule, egress: Egress, counts: MirrorCounts, random: () => number = Math.random) {
    this.#rule = rule
    this.#url = rule.url.replace(/\/+$/, '')
    this.#methods = new Set(rule.methods.includes('GET') ? [...rule.methods, 'HEAD'] : rule.methods)
    this.#egress = egress
    this.#counts = counts
    this.#random = random
  }

  /**
   * Copies a request, if it is one of the part that is copied.
   * @param rest of the URL, after the address of the upstream; undefined: it has another address, and is not copied
   * @returns the body to send to the upstream: a copy is made while it is read
   */
  copy(request: Copied & { readonly body?: Body | undefined }, rest: string | undefined): Body | undefined {
    const { body } = request
    if (rest === undefined) return body
    if (!this.#methods.has(request.method) || this.#random() * 100 >= this.#rule.percent) return body
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
      if (body !== undefined && Buffer.byteLength(body) > this.#rule.maxBodyBytes) this.#counts.dropped++
      // after the call itself
      else setImmediate(() => this.#send(request, rest, body))
      return body
    }
    return this.#recordBody(body, whole => this.#send(request, rest, whole))
  }

  /** As the body itself, it can be read from its beginning again as long as nothing of it was read. */
  #recordBody(
    body: AsyncIterable<Uint8Array>,
    onWhole: (whole: Uint8Array) => void,
  ): AsyncIterable<Uint8Array> {
    return { [Symbol.asyncIterator]: () => this.#recordChunks(body, onWhole) }
  }

  async *#recordChunks(body: AsyncIterable<Uint8Array>, onWhole: (whole: Uint8Array) => void) {
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of body) {
      bytes += piece.byteLength
      if (bytes <= this.#rule.maxBodyBytes) pieces.push(Uint8Array.from(piece))
      else pieces.length = 0
      yield piece
    }
    if (bytes > this.#rule.maxBodyBytes) this.#counts.dropped++
    else onWhole(Buffer.concat(pieces))
  }

  #send({ method, headers }: Copied, rest: string, body: string | Uint8Array | undefined): void {
    if (this.#inFlight >= MAX_IN_FLIGHT) {
      this.#counts.dropped++
      return
    }
    this.#inFlight++
    this.#counts.sent++
    const ended = this.#egress.request({
      method,
      url: this.#url + rest,
      headers: withoutCredentials(headers),
      ...(body === undefined ? {} : { body }),
      timeoutMs: this.#rule.timeoutMs,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    })
    void ended.then(outcome => {
      this.#inFlight--
      // a long response was one
      if (outcome.kind === 'failure' && outcome.reason !== 'too_large') this.#counts.failed++
    })
  }
}

/** Headers of a proxied call have no credential; those of a tool may. The length follows from the body. */
const NOT_COPIED: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
  'content-length',
])

function withoutCredentials(headers: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2)
    if (!NOT_COPIED.has(headers[at]!.toLowerCase())) kept.push(headers[at]!, headers[at + 1]!)
  return kept
}

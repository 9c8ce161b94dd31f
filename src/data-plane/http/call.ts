/** One HTTP request at the gateway: ids, credentials, trace and response. */

import type { FairShares, Party } from '../../base/fair-shares.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import { randomHex } from '../../base/random-ids.ts'
import { isRequestId } from '../../base/request-id.ts'
import { type ByteBudget, Hold } from '../../net/held-bytes.ts'
import { put, scratchHeaders } from '../../net/joined-headers.ts'
import type { HttpRequest, HttpResponse, ResponseStream } from '../../net/server/listener.ts'
import { NOSNIFF } from '../../net/server/pages.ts'
import { byteLengthOf, writePieces } from '../../net/server/pieces.ts'
import type { Credentials } from '../pipeline/exchange-parts.ts'
import type { ServerTiming } from './server-timing.ts'
import { propagatedHeaders, readTraceparent, type TraceTexts } from './trace-context.ts'

export const JSON_TYPE = 'application/json'
const NO_HEADERS: readonly string[] = []
/** Names and values of the three that every response has. */
const OWN_HEADERS = 6
const JSON_BODY = ['content-type', JSON_TYPE]

/** Adds request id, trace id and `nosniff` to every response, and CORS headers to all but those of `sendWithOwnCors`. */
export class Call implements ByteBudget, Credentials {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly requestId: string
  traceId: string
  /** Parent span of the caller's `traceparent`. */
  parentSpanId: string | undefined
  /** The caller's flags, so that its sampling decision holds; `01` for a new trace. */
  traceFlags: string
  readonly receivedAtMs: number
  /** For the credentials, where they were verified before the body was read. */
  verified: Credentials['verified']
  /** Set when the caller may see timings; sent as a response header. */
  serverTiming: ServerTiming | undefined
  /** Sent with every response except those of `sendWithOwnCors`; a proxied response adds what its upstream varies on. */
  corsHeaders: readonly string[]
  /** For what is called: sent with every response, refusals included. */
  notices: readonly string[] = NO_HEADERS
  #traceTexts: TraceTexts | undefined
  readonly #heldBytes: FairShares
  /** For the body. */
  #hold: Hold | undefined

  constructor(
    request: HttpRequest,
    response: HttpResponse,
    corsHeaders: readonly string[],
    nowMs: number,
    heldBytes: FairShares,
  ) {
    this.#heldBytes = heldBytes
    this.request = request
    this.response = response
    this.requestId = requestIdOf(request)
    const traceparent = request.header('traceparent')
    const parent = traceparent === '' ? undefined : readTraceparent(traceparent)
    this.traceId = parent?.traceId ?? randomHex(16)
    this.parentSpanId = parent?.parentSpanId
    this.traceFlags = parent?.flags ?? '01'
    this.receivedAtMs = nowMs
    this.corsHeaders = corsHeaders
  }

  get authorization(): string {
    return this.request.header('authorization')
  }

  get apiKey(): string {
    return this.request.header('x-api-key')
  }

  get tenant(): string {
    return this.request.header('x-tenant-id')
  }

  /** For bytes that are kept until the response has left. */
  hold(party: Party): Hold {
    return new Hold(this.#heldBytes, party, this.response)
  }

  /** Asks for bytes of the body: those of callers who are not known yet count together. */
  take(bytes: number): boolean {
    if (this.#hold === undefined) {
      const { verified } = this
      const isKnown = verified !== undefined && 'kind' in verified && verified.kind !== 'refusal'
      const { tenant = '', consumer = '' } = isKnown ? verified : {}
      this.#hold = this.hold({ owner: tenant, part: consumer })
    }
    return this.#hold.take(bytes)
  }

  /** Continues the trace named in the body, unless the headers name one. */
  adoptTrace(texts: TraceTexts): void {
    if (this.request.header('traceparent') !== '') return
    const parent = readTraceparent(texts.traceparent)
    if (parent === undefined) return
    this.traceId = parent.traceId
    this.parentSpanId = parent.parentSpanId
    this.traceFlags = parent.flags
    this.#traceTexts = texts
  }

  /** Headers for backend requests: flat, validated, without `traceparent`, which the stage that calls sets. */
  get traceHeaders(): readonly string[] {
    const { request } = this
    const baggage = request.header('baggage')
    if (this.#traceTexts !== undefined)
      return propagatedHeaders(baggage === '' ? this.#traceTexts : { ...this.#traceTexts, baggage })
    const traceparent = request.header('traceparent')
    if (traceparent === '' && baggage === '') return []
    return propagatedHeaders({ traceparent, tracestate: request.header('tracestate'), baggage })
  }

  /** @param body an object is sent as JSON */
  respond(
    status: number,
    body: string | Uint8Array | object | undefined,
    headers: readonly string[] = [],
  ): void {
    if (body === undefined) return this.response.send(status, this.#with(headers))
    const sent = typeof body === 'string' || body instanceof Uint8Array ? body : writeJson(body)
    this.response.send(status, this.#with(headers, JSON_BODY), sent)
  }

  /** Sends a JSON body that ends with bytes shared by many responses. */
  respondToJoined(status: number, start: string, rest: Uint8Array, headers: readonly string[]): void {
    this.response.send(status, this.#with(headers, JSON_BODY), start, rest)
  }

  /**
   * Sends a JSON body in as many turns as it takes, and not faster than the client reads.
   * @param bytes of pieces that are made as they are read, each of them valid until the next one: reading them twice is not possible
   */
  async respondInPieces(
    status: number,
    pieces: Iterable<string | Uint8Array>,
    headers: readonly string[],
    bytes?: number,
  ): Promise<void> {
    const length = bytes ?? (await byteLengthOf(pieces))
    const stream = this.response.stream(status, this.#with(headers, JSON_BODY), length, true)
    await writePieces(stream, this.response, pieces, bytes !== undefined)
    stream.end()
  }

  /**
   * A preflight response or a public document: `headers` holds the whole cross-origin rule. A second Access-Control-Allow-Origin makes a
   * browser refuse the response (Fetch, "CORS check").
   */
  sendWithOwnCors(status: number, body: string | Uint8Array, headers: readonly string[]): void {
    const own = ['x-request-id', this.requestId, 'x-trace-id', this.traceId, ...NOSNIFF, ...headers]
    this.response.send(status, own, body)
  }

  /** Sends a response whose headers include the content type. */
  respondAs(status: number, body: string | Uint8Array, headers: readonly string[]): void {
    this.response.send(status, this.#with(headers), body)
  }

  /** 202: the response follows on a stream (MCP 2024-11-05, "HTTP with SSE"). */
  handleAcceptance(): void {
    this.response.send(202, this.#with(['content-type', 'text/plain; charset=utf-8']), 'Accepted')
  }

  /** Starts a response whose body is streamed. */
  stream(status: number, headers: readonly string[], contentLength: number | undefined): ResponseStream {
    return this.response.stream(status, this.#with(headers), contentLength)
  }

  /** Starts an event stream (HTML, "Server-sent events"); proxies must not buffer it. */
  eventStream(headers: readonly string[] = []): ResponseStream {
    const own = [
      'content-type',
      'text/event-stream',
      'cache-control',
      'no-cache, no-transform',
      'x-accel-buffering',
      'no',
    ]
    return this.response.stream(200, this.#with([...own, ...headers]))
  }

  /** @param first of the headers @returns a list for the listener, which writes it before it returns */
  #with(headers: readonly string[], first: readonly string[] = NO_HEADERS): readonly string[] {
    const { corsHeaders, notices, serverTiming } = this
    const length = OWN_HEADERS + corsHeaders.length + notices.length + first.length + headers.length
    const all = scratchHeaders(serverTiming === undefined ? length : length + 2)
    all[0] = 'x-request-id'
    all[1] = this.requestId
    all[2] = 'x-trace-id'
    all[3] = this.traceId
    put(all, 4, NOSNIFF)
    let at = put(all, OWN_HEADERS, corsHeaders)
    at = put(all, at, notices)
    at = put(all, at, first)
    at = put(all, at, headers)
    if (serverTiming !== undefined) {
      all[at] = 'server-timing'
      all[at + 1] = serverTiming.render(performance.now())
    }
    return all
  }
}

function requestIdOf(request: HttpRequest): string {
  const given = request.header('x-request-id')
  return given !== '' && isRequestId(given) ? given : randomHex(16)
}

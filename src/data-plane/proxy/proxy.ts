/** Runs proxied calls through the pipeline, builds their requests, and forwards responses. The stage `invoke-proxy` sends them. */

import { Cancellation } from '../../base/cancellation.ts'
import { isAmbiguousPath } from '../../model/passthrough.ts'
import { refuse } from '../../model/refusal.ts'
import type { EgressStreamResponse } from '../../net/egress/egress.ts'
import type { UpstreamRequest } from '../../net/egress/upstreams.ts'
import { joinedHeaders } from '../../net/joined-headers.ts'
import { BodyQueue } from '../../net/server/body-queue.ts'
import type { ResponseStream } from '../../net/server/listener.ts'
import type { Call } from '../http/call.ts'
import { proxiedCors } from '../http/cors.ts'
import { addTiming, callHeaders, type GatewayParts, runCall } from '../http/gateway.ts'
import type { RestTools } from '../http/rest.ts'
import { wantsTiming } from '../http/server-timing.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ProxiedCall } from '../pipeline/transport.ts'
import type { CompiledApi, Snapshot } from '../snapshot/snapshot.ts'
import { type Forwarding, forwardedHeaders, returnedHeaders } from './proxy-headers.ts'

/** From the start of the call to the last byte received, unless the API has another timeout. */
const TIMEOUT_MS = 60_000
/** Up to here the first piece of a body is most often the whole of it. */
const SHORT_BODY_BYTES = 16 * 1024
const AMBIGUOUS_PATH =
  'The path is not valid: this API refuses dot segments with parameters, such as "..;", and reserved characters that are encoded twice.'

export interface ProxyOptions {
  /** Takes up the APIs of a snapshot. */
  readonly load: (snapshot: Snapshot) => void
  /** A short response that has arrived is sent whole; false: piece by piece as any other, for comparison. */
  readonly wholeResponses: boolean
  readonly isTrusted: Forwarding['isTrusted']
  /** Prefixes of APIs whose documents may run scripts in the origin of the gateway. */
  readonly unsandboxed: ReadonlySet<string>
}

export class ApiProxy {
  readonly load: ProxyOptions['load']
  readonly #parts: GatewayParts
  readonly #wholeResponses: boolean
  readonly #rest: RestTools
  readonly #forwarding: Forwarding
  readonly #unsandboxed: ProxyOptions['unsandboxed']

  constructor(
    parts: GatewayParts,
    { load, wholeResponses, isTrusted, unsandboxed }: ProxyOptions,
    rest: RestTools,
  ) {
    this.load = load
    this.#parts = parts
    this.#wholeResponses = wholeResponses
    this.#rest = rest
    this.#unsandboxed = unsandboxed
    const { protocol, host } = new URL(parts.url)
    this.#forwarding = { scheme: protocol.slice(0, -1), host, isTrusted }
  }

  /** @param rest what follows the API's prefix in the normalized path, with its leading slash, or '' */
  async handle(call: Call, snapshot: Snapshot, api: CompiledApi, rest: string): Promise<void> {
    if (api.notices !== undefined) call.notices = api.notices
    if (api.passthrough?.paths !== 'lenient' && isAmbiguousPath(rest))
      return this.#rest.refuse(call, refuse('invalid_request', { message: AMBIGUOUS_PATH }))
    const cancellation = new Cancellation()
    const body = call.request.contentLength === 0 ? undefined : new BodyQueue(call.request)
    call.response.onAbort(() => {
      cancellation.cancel()
      body?.stop()
    })
    const proxied = new Proxied(call, api, rest, body, this.#forwarding, (exchange, response) =>
      this.#respond(call, exchange, api, response),
    )
    const { final } = await runCall(
      this.#parts,
      snapshot,
      call,
      'proxy',
      { action: 'proxy', api, method: call.request.method },
      cancellation,
      { proxied },
    )
    body?.stop()
    // of a response that has begun, the connection ends: it must not look whole
    if (final?.kind !== 'refusal') proxied.sendEnd?.()
    else if (!call.response.closed) this.#rest.refuse(call, final)
  }

  /**
   * Forwards the response except its end: the last bytes are sent after the settle stages, so that no client has the complete response
   * of a call that was not counted.
   * @returns sends the end; undefined when the client has disconnected or the upstream failed
   */
  #respond(
    call: Call,
    exchange: Exchange,
    api: CompiledApi,
    received: EgressStreamResponse,
  ): SendEnd | Promise<SendEnd | undefined> {
    const { status, headers, body } = received
    call.corsHeaders = proxiedCors(call.corsHeaders, headers)
    const own = joinedHeaders(returnedHeaders(received, api, this.#unsandboxed), callHeaders(exchange))
    const declared = headers.get('content-length')
    const length = /^\d{1,15}$/.test(declared) ? Number(declared) : undefined
    // the head of a short response waits for the body and is sent with it; one with timings reports what is known now
    const waits = length !== undefined && length <= SHORT_BODY_BYTES && call.serverTiming === undefined
    const whole = waits && this.#wholeResponses ? body.takeWhole?.(length) : undefined
    if (whole === undefined) return this.#pass(call, exchange, status, own, length, waits, body)
    exchange.responseBytes += whole.byteLength
    return () => call.respondAs(status, whole, own)
  }

  /** As `#respond`, for a body that has not arrived yet. */
  async #pass(
    call: Call,
    exchange: Exchange,
    status: number,
    own: readonly string[],
    length: number | undefined,
    waits: boolean,
    body: EgressStreamResponse['body'],
  ): Promise<SendEnd | undefined> {
    const { response } = call
    let wake: (() => void) | undefined
    const begin = (): ResponseStream => {
      const begun = call.stream(status, own, length)
      begun.onDrain(() => wake?.())
      return begun
    }
    let stream = waits ? undefined : begin()
    exchange.cancellation.onCancel(() => {
      wake?.()
      body.destroy()
    })
    let last: Uint8Array | undefined
    try {
      for await (const chunk of body) {
        if (response.closed) return undefined
        exchange.responseBytes += chunk.byteLength
        if (exchange.responseBytes === length) {
          last = chunk
          continue
        }
        stream ??= begin()
        if (!stream.write(chunk)) await new Promise<void>(resolve => (wake = resolve))
      }
    } catch {
      // the upstream failed within the body: the client must see that the response is incomplete
      response.destroy()
      return undefined
    } finally {
      body.destroy()
    }
    return () => {
      if (response.closed) return
      if (stream === undefined && last !== undefined) return call.respondAs(status, last, own)
      stream ??= begin()
      if (last !== undefined) stream.write(last)
      stream.end()
    }
  }
}

type SendEnd = () => void
type Begin = (exchange: Exchange, response: EgressStreamResponse) => SendEnd | Promise<SendEnd | undefined>

/** One proxied call, as the stage that sends it sees it. */
class Proxied implements ProxiedCall<Exchange> {
  /** Sends the end of the response; undefined without one. */
  sendEnd: SendEnd | undefined
  readonly #call: Call
  readonly #api: CompiledApi
  readonly #rest: string
  readonly #body: BodyQueue | undefined
  readonly #bounded: BoundedBody | undefined
  readonly #forwarding: Forwarding
  readonly #begin: Begin
  #timedFrom: number | undefined

  constructor(
    call: Call,
    api: CompiledApi,
    rest: string,
    body: BodyQueue | undefined,
    forwarding: Forwarding,
    begin: Begin,
  ) {
    this.#call = call
    this.#api = api
    this.#rest = rest
    this.#body = body
    this.#forwarding = forwarding
    this.#begin = begin
    const maxBytes = api.traffic?.maxRequestBytes ?? null
    this.#bounded = maxBytes === null || body === undefined ? undefined : new BoundedBody(body, maxBytes)
  }

  get isTooLarge(): boolean {
    return this.#bounded?.exceeded === true
  }

  header(name: string): string {
    return this.#call.request.header(name)
  }

  request(exchange: Exchange): UpstreamRequest {
    const { request } = this.#call
    const api = this.#api
    const body = this.#body
    this.#timedFrom = wantsTiming(request.header('x-debug-timing')) ? performance.now() : undefined
    return {
      method: request.method,
      url: `${api.upstreamUrl}${this.#rest}${request.query === '' ? '' : `?${request.query}`}`,
      headers: forwardedHeaders(this.#call, api, this.#forwarding, exchange.backendSpanId!),
      timeoutMs: api.traffic?.timeoutMs ?? TIMEOUT_MS,
      cancellation: exchange.cancellation,
      party: exchange.party,
      transport: api.traffic?.connections ?? undefined,
      unread: () => body === undefined || body.unread,
      ...(body === undefined ? undefined : { body: this.#bounded ?? body }),
    }
  }

  respond(exchange: Exchange, response: EgressStreamResponse): Promise<void> | undefined {
    if (this.#timedFrom !== undefined) return this.#respondTimed(exchange, response, this.#timedFrom)
    const begun = this.#begin(exchange, response)
    if (begun instanceof Promise) return this.#keep(begun)
    this.sendEnd = begun
    return undefined
  }

  async #respondTimed(exchange: Exchange, response: EgressStreamResponse, fromMs: number): Promise<void> {
    // the head is sent now, with the timings known so far
    await addTiming(this.#call, exchange, performance.now() - fromMs)
    this.sendEnd = await this.#begin(exchange, response)
  }

  async #keep(begun: Promise<SendEnd | undefined>): Promise<void> {
    this.sendEnd = await begun
  }
}

class BoundedBody implements AsyncIterable<Uint8Array> {
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

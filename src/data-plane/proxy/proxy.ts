/** Loads proxied APIs, runs their calls through the pipeline, and forwards requests and responses. It stores no response: `ApiCache` may. */

import { Cancellation } from '../../base/cancellation.ts'
import { newSpanId } from '../../base/random-ids.ts'
import { isAmbiguousPath } from '../../model/passthrough.ts'
import { type Refusal, refuse } from '../../model/refusal.ts'
import type { CircuitOpen } from '../../net/egress/circuit.ts'
import type { EgressFailure, EgressStreamResponse } from '../../net/egress/egress.ts'
import type { RuledUpstreams } from '../../net/egress/ruled-upstreams.ts'
import type { UpstreamRules } from '../../net/egress/upstream-rules.ts'
import type { UpstreamRequest, Upstreams } from '../../net/egress/upstreams.ts'
import { joinedHeaders } from '../../net/joined-headers.ts'
import { BodyQueue } from '../../net/server/body-queue.ts'
import type { ResponseStream } from '../../net/server/listener.ts'
import type { Call } from '../http/call.ts'
import { proxiedCors } from '../http/cors.ts'
import { addTiming, callHeaders, type GatewayParts, runCall } from '../http/gateway.ts'
import type { RestTools } from '../http/rest.ts'
import { wantsTiming } from '../http/server-timing.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Final } from '../pipeline/outcome.ts'
import type { CompiledApi, Snapshot } from '../snapshot/snapshot.ts'
import type { ApiCache } from './api-cache/api-cache.ts'
import { BoundedBody } from './bounded-body.ts'
import { type Forwarding, forwardedHeaders, forwardedOrigin, returnedHeaders } from './proxy-headers.ts'

/** From the start of the call to the last byte received, unless the API has another timeout. */
const TIMEOUT_MS = 60_000
/** Up to here the first piece of a body is most often the whole of it. */
const SHORT_BODY_BYTES = 16 * 1024
const AMBIGUOUS_PATH =
  'The path is not valid: this API refuses dot segments with parameters, such as "..;", and reserved characters that are encoded twice.'
const EMPTY_RESULT = Object.freeze({ content: [], isError: false })

export interface ProxiedUpstreams {
  /** Of APIs without rules for their upstream. */
  readonly upstreams: Upstreams
  readonly ruled: RuledUpstreams
  /** Takes up the rules of a snapshot. */
  readonly load: (rules: readonly UpstreamRules[]) => void
  readonly cache: ApiCache
  /** A short response that has arrived is sent whole; false: piece by piece as any other, for comparison. */
  readonly wholeResponses: boolean
}

export class ApiProxy {
  readonly #parts: GatewayParts
  readonly #upstreams: Upstreams
  readonly #ruled: RuledUpstreams
  readonly #cache: ApiCache
  readonly #wholeResponses: boolean
  readonly #load: ProxiedUpstreams['load']
  readonly #rest: RestTools
  readonly #forwarding: Forwarding

  constructor(
    parts: GatewayParts,
    { upstreams, ruled, load, cache, wholeResponses }: ProxiedUpstreams,
    rest: RestTools,
    isTrusted: Forwarding['isTrusted'],
  ) {
    this.#parts = parts
    this.#upstreams = upstreams
    this.#ruled = ruled
    this.#load = load
    this.#cache = cache
    this.#wholeResponses = wholeResponses
    this.#rest = rest
    const { protocol, host } = new URL(parts.url)
    this.#forwarding = { scheme: protocol.slice(0, -1), host, isTrusted }
  }

  /** Takes up the APIs of a snapshot. */
  load({ apis }: Snapshot): void {
    this.#cache.retain(apis)
    this.#load(apis.flatMap(({ upstream }) => upstream ?? []))
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
    let end: (() => void) | undefined
    const { final } = await runCall(
      this.#parts,
      snapshot,
      call,
      'proxy',
      { action: 'proxy', api, method: call.request.method },
      cancellation,
      {
        forward: exchange =>
          this.#forward(call, exchange, api, rest, body, sendEnd => {
            end = sendEnd
          }),
      },
    )
    body?.stop()
    end?.()
    if (final?.kind === 'refusal' && !call.response.closed) this.#rest.refuse(call, final)
  }

  async #forward(
    call: Call,
    exchange: Exchange,
    api: CompiledApi,
    rest: string,
    body: BodyQueue | undefined,
    onWhole: (sendEnd: () => void) => void,
  ): Promise<Final> {
    const { request } = call
    exchange.backendSpanId = newSpanId()
    const maxBytes = api.traffic?.maxRequestBytes ?? null
    const bounded = maxBytes === null || body === undefined ? undefined : new BoundedBody(body, maxBytes)
    const timedFrom = wantsTiming(request.header('x-debug-timing')) ? performance.now() : undefined
    const sent = {
      method: request.method,
      url: `${api.upstreamUrl}${rest}${request.query === '' ? '' : `?${request.query}`}`,
      headers: forwardedHeaders(call, api, this.#forwarding, exchange.backendSpanId),
      timeoutMs: api.traffic?.timeoutMs ?? TIMEOUT_MS,
      cancellation: exchange.cancellation,
      transport: api.traffic?.connections ?? undefined,
      unread: () => body === undefined || body.unread,
      ...(body === undefined ? undefined : { body: bounded ?? body }),
    }
    const response = await (api.traffic?.cache
      ? this.#cache.stream({ api, call, exchange, key: this.#cacheKeyOf(call, api, rest) }, sent, one =>
          this.#send(api, one),
        )
      : this.#send(api, sent))
    if (response.kind === 'circuit_open')
      return refuse('upstream_unavailable', { retryAfterSecs: response.retryAfterSecs })
    if (response.kind === 'failure')
      return bounded?.exceeded === true ? refuse('payload_too_large') : failureOf(response.reason)
    // no status of HTTP (RFC 9110 §15): it cannot be sent on
    if (response.status > 599) {
      response.body.destroy()
      return refuse('backend_unreachable')
    }
    // the head is sent now, with the timings known so far
    if (timedFrom !== undefined) await addTiming(call, exchange, performance.now() - timedFrom)
    const sendEnd = await this.#respond(call, exchange, api, response)
    if (sendEnd !== undefined) onWhole(sendEnd)
    const failure = response.status >= 500 ? ({ failure: 'tool_execution_failed' } as const) : {}
    return { kind: 'reply', result: EMPTY_RESULT, backendStatus: response.status, ...failure }
  }

  /** The address of the response in the form that the upstream receives (RFC 9111 §2). */
  #cacheKeyOf(call: Call, api: CompiledApi, rest: string): string {
    const { scheme, host } = forwardedOrigin(call, api, this.#forwarding)
    return `${scheme}://${host}${rest}?${call.request.query}`
  }

  #send(
    api: CompiledApi,
    request: UpstreamRequest,
  ): Promise<EgressStreamResponse | EgressFailure | CircuitOpen> {
    const { upstream } = api
    return upstream === undefined ? this.#upstreams.stream(request) : this.#ruled.of(upstream).stream(request)
  }

  /**
   * Forwards the response except its end: the last bytes are sent after the settle stages, so that no client has the complete response
   * of a call that was not counted.
   * @returns sends the end; undefined when the client has disconnected or the upstream failed
   */
  async #respond(
    call: Call,
    exchange: Exchange,
    api: CompiledApi,
    { status, headers, body }: EgressStreamResponse,
  ): Promise<(() => void) | undefined> {
    call.corsHeaders = proxiedCors(call.corsHeaders, headers)
    const own = joinedHeaders(returnedHeaders(headers, api), callHeaders(exchange))
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
  ): Promise<(() => void) | undefined> {
    const { response } = call
    let wake: (() => void) | undefined
    const begin = (): ResponseStream => {
      const begun = call.stream(status, own, length)
      begun.onDrain(() => wake?.())
      return begun
    }
    let stream = waits ? undefined : begin()
    response.onAbort(() => {
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

function failureOf(reason: string): Refusal {
  if (reason === 'cancelled') return refuse('cancelled')
  return refuse(reason === 'timeout' ? 'backend_timeout' : 'backend_unreachable')
}

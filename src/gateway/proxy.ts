/** Proxied APIs: the public address of an API answers through the pipeline, bodies flowing both ways. It buffers no whole body. */
import type { EgressHeaders } from '../egress/egress.ts'
import type { Upstreams } from '../egress/upstreams.ts'
import { Cancellation } from '../pipeline/cancellation.ts'
import type { CompiledApi, Exchange, Snapshot } from '../pipeline/exchange.ts'
import { type Refusal, refuse } from '../pipeline/refusal.ts'
import type { Final } from '../pipeline/stage.ts'
import { BodyQueue } from './body-queue.ts'
import type { Call } from './call.ts'
import { callHeaders, type GatewayParts, run } from './gateway.ts'
import { type Forwarding, forwardedHeaders, returnedHeaders } from './proxy-headers.ts'
import type { RestTools } from './rest.ts'

/** From the first byte sent to the last byte received. */
const TIMEOUT_MS = 60_000
const EMPTY_RESULT = Object.freeze({ content: [], isError: false })

export class ApiProxy {
  readonly #parts: GatewayParts
  readonly #upstreams: Upstreams
  readonly #rest: RestTools
  readonly #forwarding: Forwarding

  constructor(
    parts: GatewayParts,
    upstreams: Upstreams,
    rest: RestTools,
    isTrusted: Forwarding['isTrusted'],
  ) {
    this.#parts = parts
    this.#upstreams = upstreams
    this.#rest = rest
    this.#forwarding = { scheme: new URL(parts.url).protocol.slice(0, -1), isTrusted }
  }

  /** @param rest what follows the API's prefix in the normalized path, with its leading slash, or '' */
  handle(call: Call, snapshot: Snapshot, api: CompiledApi, rest: string): void {
    const cancellation = new Cancellation()
    const body = new BodyQueue(call.request)
    call.response.onAbort(() => {
      cancellation.cancel()
      body.stop()
    })
    const ended = run(this.#parts, snapshot, call, 'proxy', { action: 'proxy', api }, cancellation, {
      forward: exchange => this.#forward(call, exchange, api, rest, body),
    })
    void Promise.resolve(ended).then(({ final }) => {
      body.stop()
      if (final?.kind === 'refusal' && !call.response.closed) this.#rest.refuse(call, final)
    })
  }

  async #forward(
    call: Call,
    exchange: Exchange,
    api: CompiledApi,
    rest: string,
    body: BodyQueue,
  ): Promise<Final> {
    const { request } = call
    const answer = await this.#upstreams.stream({
      method: request.method,
      url: `${api.upstreamUrl}${rest}${request.query === '' ? '' : `?${request.query}`}`,
      headers: forwardedHeaders(call, api, this.#forwarding),
      timeoutMs: TIMEOUT_MS,
      cancellation: exchange.cancellation,
      unread: () => body.unread,
      ...(request.contentLength === 0 ? undefined : { body }),
    })
    if (answer.kind === 'circuit_open')
      return refuse('upstream_unavailable', { retryAfterSecs: answer.retryAfterSecs })
    if (answer.kind === 'failure') return failureOf(answer.reason)
    await this.#answer(call, answer.status, answer.headers, answer.body, callHeaders(exchange))
    const failure = answer.status >= 500 ? ({ failure: 'tool_execution_failed' } as const) : {}
    return { kind: 'reply', result: EMPTY_RESULT, backendStatus: answer.status, ...failure }
  }

  async #answer(
    call: Call,
    status: number,
    headers: EgressHeaders,
    body: AsyncIterable<Uint8Array> & { destroy(): void },
    rateLimits: readonly string[],
  ): Promise<void> {
    const { response } = call
    const own = [...returnedHeaders(headers), ...rateLimits]
    const length = headers.get('content-length')
    const stream = call.stream(status, own, /^\d{1,15}$/.test(length) ? Number(length) : undefined)
    let wake: (() => void) | undefined
    stream.onDrain(() => wake?.())
    response.onAbort(() => {
      wake?.()
      body.destroy()
    })
    try {
      for await (const chunk of body) {
        if (response.closed) return
        if (!stream.write(chunk)) await new Promise<void>(resolve => (wake = resolve))
      }
      stream.end()
    } catch {
      // the upstream broke off in mid-body: the client must see that the answer is not whole
      response.destroy()
    } finally {
      body.destroy()
    }
  }
}

function failureOf(reason: string): Refusal {
  if (reason === 'cancelled') return refuse('cancelled')
  return refuse(reason === 'timeout' ? 'backend_timeout' : 'backend_unreachable')
}

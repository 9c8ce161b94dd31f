/** Sends a proxied call to its upstream, or responds from the cache, and turns what comes back into an outcome. `ApiProxy` has the HTTP of the caller. */
import { newSpanId } from '../../../base/random-ids.ts'
import { type Refusal, refuse } from '../../../model/refusal.ts'
import type { CircuitOpen } from '../../../net/egress/circuit.ts'
import type { EgressFailure, EgressStreamResponse } from '../../../net/egress/egress.ts'
import type { RuledUpstreams } from '../../../net/egress/ruled-upstreams.ts'
import type { UpstreamRequest, Upstreams } from '../../../net/egress/upstreams.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Final } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { ApiCache } from '../../proxy/api-cache/api-cache.ts'
import type { CompiledApi } from '../../snapshot/snapshot.ts'
import { BUSY } from './backend-failure.ts'

export interface ProxiedUpstreams {
  /** For APIs without rules for their upstream. */
  readonly upstreams: Upstreams
  readonly ruled: RuledUpstreams
  readonly cache: ApiCache
}

const EMPTY_RESULT = Object.freeze({ content: [], isError: false })

export function invokeProxy(parts: ProxiedUpstreams): Stage {
  return {
    id: 'invoke-proxy',
    phase: 'invoke',
    // not async: listings pass here too, and must not wait for another turn of the event loop
    run(exchange) {
      const { operation } = exchange
      if (operation.action !== 'proxy') return undefined
      return exchange.cancellation.cancelled ? refuse('cancelled') : sendCall(exchange, operation.api, parts)
    },
  }
}

async function sendCall(exchange: Exchange, api: CompiledApi, parts: ProxiedUpstreams): Promise<Final> {
  const startedAt = performance.now()
  const proxied = exchange.transport.proxied!
  exchange.backendSpanId = newSpanId()
  try {
    const request = proxied.request(exchange)
    const response = await (api.traffic?.cache
      ? sendThroughCache(parts, exchange, api, request)
      : send(parts, api, request))
    if (response.kind === 'circuit_open')
      return refuse('upstream_unavailable', { retryAfterSecs: response.retryAfterSecs })
    if (response.kind === 'failure') {
      exchange.backendFault = response.message
      return proxied.isTooLarge ? refuse('payload_too_large') : failureOf(response)
    }
    // no status of HTTP (RFC 9110 §15): it cannot be sent on
    if (response.status > 599) {
      response.body.destroy()
      return refuse('backend_unreachable')
    }
    const pending = proxied.respond(exchange, response)
    if (pending !== undefined) await pending
    const failure = response.status >= 500 ? ({ failure: 'tool_execution_failed' } as const) : {}
    return { kind: 'reply', result: EMPTY_RESULT, backendStatus: response.status, ...failure }
  } finally {
    exchange.backendMs = performance.now() - startedAt
  }
}

type Response = EgressStreamResponse | EgressFailure | CircuitOpen

function send(
  { upstreams, ruled }: ProxiedUpstreams,
  api: CompiledApi,
  request: UpstreamRequest,
): Promise<Response> {
  const { upstream } = api
  return upstream === undefined ? upstreams.stream(request) : ruled.of(upstream).stream(request)
}

function sendThroughCache(
  parts: ProxiedUpstreams,
  exchange: Exchange,
  api: CompiledApi,
  request: UpstreamRequest,
): Promise<Response> {
  const proxied = exchange.transport.proxied!
  const header = (name: string): string => proxied.header(name)
  return parts.cache.stream({ api, header, exchange }, request, one => send(parts, api, one))
}

function failureOf({ reason, saturated }: EgressFailure): Refusal {
  if (saturated === true) return BUSY
  if (reason === 'cancelled') return refuse('cancelled')
  return refuse(reason === 'timeout' ? 'backend_timeout' : 'backend_unreachable')
}

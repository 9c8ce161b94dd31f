/** Calls to upstreams of proxied APIs: one more try where nothing was sent, and none at all while an upstream is down. It opens no connection itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BreakerAdmission,
  type BreakerVerdict,
  CircuitBreaker,
  type CircuitOptions,
} from '../async/circuit-breaker.ts'
import type { Egress, EgressFailure, EgressStreamRequest, EgressStreamResponse } from './egress.ts'

export interface UpstreamRequest extends EgressStreamRequest {
  /** True while nothing of the body has been read. */
  readonly unread: () => boolean
}

/** The upstream has failed several times in a row: it is not tried. */
export interface CircuitOpen {
  readonly kind: 'circuit_open'
  readonly retryAfterSecs: number
}

export interface UpstreamsOptions {
  readonly egress: Egress
  readonly circuit?: CircuitOptions
  readonly onRetry?: () => void
  readonly onRefused?: () => void
}

/** May be repeated without doing more than once would (RFC 9110 §9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])
/** An upstream that is just being replaced may listen again. */
const RETRY_AFTER_MS = 30

export class Upstreams {
  readonly #options: UpstreamsOptions
  readonly #breaker: CircuitBreaker

  constructor(options: UpstreamsOptions) {
    this.#options = options
    this.#breaker = new CircuitBreaker(options.circuit)
  }

  get openCircuits(): number {
    return this.#breaker.open
  }

  /** Never rejects. */
  async stream(request: UpstreamRequest): Promise<EgressStreamResponse | EgressFailure | CircuitOpen> {
    const origin = originOf(request.url)
    const admission = this.#breaker.admit(origin, Date.now())
    if (admission.state === 'open') {
      this.#options.onRefused?.()
      return { kind: 'circuit_open', retryAfterSecs: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)) }
    }
    const response = await this.#tryTwice(request, admission)
    this.#breaker.settle(origin, admission, verdictOn(response), Date.now())
    return response
  }

  async #tryTwice(
    request: UpstreamRequest,
    admission: BreakerAdmission,
  ): Promise<EgressStreamResponse | EgressFailure> {
    const { egress, onRetry } = this.#options
    const first = await egress.stream(request)
    if (first.kind === 'response' || !neverArrived(first) || admission.state === 'probe') return first
    if (!IDEMPOTENT.has(request.method) || !request.unread()) return first
    await sleep(RETRY_AFTER_MS)
    if (request.cancellation?.cancelled === true) return first
    onRetry?.()
    return egress.stream(request)
  }
}

function neverArrived({ reason, sent, saturated }: EgressFailure): boolean {
  return reason === 'unreachable' && !sent && saturated !== true
}

const DOWN: ReadonlySet<EgressFailure['reason']> = new Set(['timeout', 'unreachable', 'reset'])

function verdictOn(response: EgressStreamResponse | EgressFailure): BreakerVerdict {
  if (response.kind === 'response') return 'succeeded'
  return DOWN.has(response.reason) && response.saturated !== true ? 'failed' : 'neutral'
}

/** Scheme, host and port of an absolute URL that is known to be one. */
function originOf(url: string): string {
  const end = url.indexOf('/', url.indexOf('//') + 2)
  return end < 0 ? url : url.slice(0, end)
}

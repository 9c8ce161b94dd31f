/** Calls to upstreams of proxied APIs that have no rules for them, with a retry and a circuit breaker. `ruled-upstream.ts` has the others. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BreakerAdmission,
  type BreakerVerdict,
  CircuitBreaker,
  type CircuitOptions,
} from '../../base/async/circuit-breaker.ts'
import { type CircuitOpen, circuitOpen, failsCircuit } from './circuit.ts'
import type { Egress, EgressFailure, EgressStreamRequest, EgressStreamResponse } from './egress.ts'
import { IDEMPOTENT, neverArrived, RETRY_AFTER_MS } from './retries.ts'

export interface UpstreamRequest extends EgressStreamRequest {
  /** True while nothing of the body has been read. */
  readonly unread: () => boolean
}

export interface UpstreamsOptions {
  readonly egress: Egress
  readonly circuit?: CircuitOptions
  readonly onRetry?: () => void
  readonly onRefused?: () => void
}

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
      return circuitOpen(admission.retryAfterMs)
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
    const endsAtMs = performance.now() + request.timeoutMs
    const first = await egress.stream(request)
    if (first.kind === 'response' || !neverArrived(first) || admission.state === 'probe') return first
    if (!IDEMPOTENT.has(request.method) || !request.unread()) return first
    if (performance.now() + RETRY_AFTER_MS >= endsAtMs) return first
    await sleep(RETRY_AFTER_MS)
    const timeoutMs = Math.ceil(endsAtMs - performance.now())
    if (timeoutMs <= 0 || request.cancellation?.cancelled === true) return first
    onRetry?.()
    return egress.stream({ ...request, timeoutMs })
  }
}

function verdictOn(response: EgressStreamResponse | EgressFailure): BreakerVerdict {
  if (response.kind === 'response') return 'succeeded'
  return failsCircuit(response) ? 'failed' : 'neutral'
}

/** A path, a query or a fragment ends it: the address of an upstream may have a query and no path. */
const ORIGIN = /^[^/]*\/\/[^/?#]*/

/** Scheme, host and port of an absolute URL that is known to be one. */
function originOf(url: string): string {
  return ORIGIN.exec(url)?.[0] ?? url
}

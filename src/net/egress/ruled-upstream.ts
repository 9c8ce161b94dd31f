/** Calls of an API's upstream under its rules: choice of address, retries, circuit breaker and copies. */

import { type BreakerVerdict, CircuitBreaker } from '../../base/async/circuit-breaker.ts'
import type { Cancellation } from '../../base/cancellation.ts'
import { Balancer, type Health } from './balancer.ts'
import { type CircuitOpen, circuitOpen, failsCircuit } from './circuit.ts'
import type { Egress, EgressFailure, EgressRequest, EgressResponse, EgressStreamResponse } from './egress.ts'
import { failure } from './failure.ts'
import { emptyMirrorCounts, Mirror, type MirrorCounts } from './mirror.ts'
import { Retries, RetryBudget } from './retries.ts'
import { restOf, type UpstreamRules } from './upstream-rules.ts'
import type { UpstreamRequest } from './upstreams.ts'

export interface RuledObserver {
  readonly onRetry?: () => void
  /** A retry that the budget did not allow. */
  readonly onBudgetSpent?: () => void
  readonly onRefused?: () => void
  /** Addresses that fail their health checks. */
  readonly health?: Health
  readonly mirrored?: MirrorCounts
}

type Sent = Pick<EgressRequest, 'method' | 'url' | 'timeoutMs' | 'cancellation'>
type Received = EgressResponse | EgressStreamResponse

export class RuledUpstream {
  readonly rules: UpstreamRules
  readonly #egress: Egress
  readonly #observer: RuledObserver
  readonly #breaker: CircuitBreaker
  readonly #balancer: Balancer
  readonly #mirror: Mirror | undefined
  /** When an address that fails its health checks is checked again. */
  readonly #unhealthyMs: number
  readonly #failing: ReadonlySet<number>
  readonly #retries: Retries
  readonly #budget: RetryBudget | undefined

  constructor(rules: UpstreamRules, egress: Egress, observer: RuledObserver) {
    const { retry, circuit, addresses, mirror, baseUrl } = rules
    this.rules = rules
    this.#egress = egress
    this.#observer = observer
    const places = addresses?.addresses ?? [{ url: baseUrl, weight: 1 }]
    this.#breaker =
      circuit === null ? new CircuitBreaker() : new CircuitBreaker({ ...circuit, maxCircuits: places.length })
    this.#balancer = new Balancer(rules.key, places, this.#breaker, observer.health ?? NONE)
    this.#unhealthyMs = addresses?.healthCheck?.intervalMs ?? 0
    this.#mirror =
      mirror === null ? undefined : new Mirror(mirror, egress, observer.mirrored ?? emptyMirrorCounts())
    this.#failing = new Set(circuit?.statuses)
    this.#retries = new Retries(retry)
    this.#budget = retry === null ? undefined : new RetryBudget(retry.budgetPercent)
  }

  get openCircuits(): number {
    return this.#breaker.open
  }

  /** Never rejects. */
  stream(request: UpstreamRequest): Promise<EgressStreamResponse | EgressFailure | CircuitOpen> {
    const copied = this.#mirror?.copy(request, restOf(this.rules, request.url))
    const body = copied === undefined ? undefined : { body: copied }
    return this.#call(
      request,
      attempt => this.#egress.stream({ ...request, ...body, ...attempt }),
      request.unread,
      response => response.body.destroy(),
    )
  }

  /** Never rejects. Its body is at hand, so it may be sent again. */
  request(request: EgressRequest): Promise<EgressResponse | EgressFailure | CircuitOpen> {
    this.#mirror?.copy(request, restOf(this.rules, request.url))
    const observed = this.#observeRequest(request)
    return this.#call(
      request,
      attempt => this.#egress.request({ ...request, ...observed, ...attempt }),
      () => true,
      () => {},
    )
  }

  async #call<R extends Received>(
    request: Sent,
    send: (attempt: Pick<Sent, 'timeoutMs' | 'url'>) => PromiseLike<R | EgressFailure>,
    isRepeatable: () => boolean,
    discard: (response: R) => void,
  ): Promise<R | EgressFailure | CircuitOpen> {
    const endsAt = performance.now() + request.timeoutMs
    this.#budget?.earn()
    const rest = restOf(this.rules, request.url)
    let failed: EgressFailure | undefined
    let last: string | undefined
    for (let attempt = 1; ; attempt++) {
      const place = this.#balancer.take(Date.now(), last)
      if (!('url' in place)) {
        if (failed !== undefined) return failed
        this.#observer.onRefused?.()
        return circuitOpen(place.retryAfterMs ?? this.#unhealthyMs)
      }
      last = place.url
      const url = rest === undefined ? request.url : last + rest
      const outcome = await send({ url, timeoutMs: Math.ceil(endsAt - performance.now()) })
      this.#breaker.settle(last, place.admission, this.#verdictOn(outcome), Date.now())
      const delayMs = this.#retries.delayMs(attempt - 1)
      if (attempt >= this.#retries.maxAttempts || performance.now() + delayMs >= endsAt) return outcome
      if (!this.#retries.wants(request.method, outcome) || !isRepeatable()) return outcome
      if (this.#budget?.spend() === false) {
        this.#observer.onBudgetSpent?.()
        return outcome
      }
      if (outcome.kind === 'response') discard(outcome)
      failed = outcome.kind === 'failure' ? outcome : undefined
      await pause(delayMs, request.cancellation)
      if (isCancelled(request.cancellation))
        return failed ?? failure('cancelled', 'the call was cancelled between two attempts', true)
      this.#observer.onRetry?.()
    }
  }

  #verdictOn(outcome: Received | EgressFailure): BreakerVerdict {
    if (outcome.kind === 'response') return this.#failing.has(outcome.status) ? 'failed' : 'succeeded'
    return failsCircuit(outcome) ? 'failed' : 'neutral'
  }

  /** The observers see no response with a status that the rule retries, not even the last one. */
  #observeRequest({ onHead, onChunk }: EgressRequest): Pick<EgressRequest, 'onHead' | 'onChunk'> | undefined {
    const { statuses } = this.#retries
    if (onHead === undefined || onChunk === undefined || statuses.size === 0) return undefined
    let isFinal = true
    return {
      onHead(status, headers) {
        isFinal = !statuses.has(status)
        if (isFinal) onHead(status, headers)
      },
      onChunk(chunk) {
        if (isFinal) onChunk(chunk)
      },
    }
  }
}

const NONE: Health = new Set<string>()

/** Ends early when the caller cancels: its slots must not be held for a delay. */
function pause(ms: number, cancellation: Cancellation | undefined): Promise<void> {
  return new Promise(resolve => {
    let stop: (() => void) | undefined
    const end = (): void => {
      clearTimeout(timer)
      stop?.()
      resolve()
    }
    const timer = setTimeout(end, ms)
    stop = cancellation?.onCancel(end)
  })
}

function isCancelled(cancellation: Cancellation | undefined): boolean {
  return cancellation?.cancelled === true
}

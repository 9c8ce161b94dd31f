/** Chooses among the addresses of an upstream by weight, health and circuit, and names them for health checks. */

import type { BreakerAdmission, CircuitBreaker } from '../../base/async/circuit-breaker.ts'
import type { UpstreamAddress } from '../../model/schema/upstream-addresses.ts'

/** Addresses that fail their health checks, each as `healthKey` names it. */
export interface Health {
  has(key: string): boolean
}

interface Candidate {
  /** Without trailing slash. */
  readonly url: string
  readonly weight: number
  readonly healthKey: string
  /** For the smooth weighted round robin: the highest is next. */
  credit: number
}

export interface Place {
  readonly url: string
  readonly admission: BreakerAdmission
}

export interface NoPlace {
  /** Until a circuit lets a call through; undefined: no address is healthy. */
  readonly retryAfterMs: number | undefined
}

/** @param key of the rules */
export function healthKey(key: string, url: string): string {
  return `${url} ${key}`
}

export class Balancer {
  readonly #candidates: readonly Candidate[]
  readonly #breaker: CircuitBreaker
  readonly #health: Health

  constructor(key: string, addresses: readonly UpstreamAddress[], breaker: CircuitBreaker, health: Health) {
    this.#breaker = breaker
    this.#health = health
    this.#candidates = addresses.map(({ url, weight }) => ({
      url: url.replace(/\/+$/, ''),
      weight,
      healthKey: healthKey(key, url),
      credit: 0,
    }))
  }

  /** @param avoided the address of the attempt before: used again only when no other is available */
  take(nowMs: number, avoided?: string): Place | NoPlace {
    let retryAfterMs: number | undefined
    const left = this.#candidates.filter(({ healthKey: key }) => !this.#health.has(key))
    while (left.length > 0) {
      const others = left.filter(({ url }) => url !== avoided)
      const chosen = next(others.length > 0 ? others : left)
      const admission = this.#breaker.admit(chosen.url, nowMs)
      if (admission.state !== 'open') return { url: chosen.url, admission }
      // it has taken its turn: it gets no turns more when the circuit closes
      retryAfterMs = Math.min(retryAfterMs ?? Number.POSITIVE_INFINITY, admission.retryAfterMs)
      left.splice(left.indexOf(chosen), 1)
    }
    return { retryAfterMs }
  }
}

/** Smooth weighted round robin: turns are spread evenly, and exact over one round of all weights. */
function next(candidates: readonly Candidate[]): Candidate {
  let total = 0
  let best = candidates[0]!
  for (const candidate of candidates) {
    total += candidate.weight
    candidate.credit += candidate.weight
    if (candidate.credit > best.credit) best = candidate
  }
  best.credit -= total
  return best
}

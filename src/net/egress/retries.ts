/** Which calls of upstreams are retried, after which delay, and the budget of retries. */

import { backoffMs } from '../../base/async/backoff.ts'
import type { RetryRule } from '../../model/schema/upstream-rules.ts'
import type { EgressFailure, EgressResponse, EgressStreamResponse } from './egress.ts'

/** May be repeated without doing more than once would (RFC 9110 §9.2.2). */
export const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])
/** Retries that an API has before its calls have earned any. */
const RESERVE = 10
/** An upstream that is just being replaced may listen again. */
export const RETRY_AFTER_MS = 30

/** Calls earn a part of a retry each, so that retries beyond the reserve are never more than a part of the calls. */
export class RetryBudget {
  readonly #perCall: number
  #retries = RESERVE

  constructor(percent: number) {
    this.#perCall = percent / 100
  }

  earn(): void {
    this.#retries = Math.min(RESERVE, this.#retries + this.#perCall)
  }

  /** False when all are spent. */
  spend(): boolean {
    if (this.#retries < 1) return false
    this.#retries--
    return true
  }
}

export class Retries {
  readonly maxAttempts: number
  readonly statuses: ReadonlySet<number>
  readonly #methods: ReadonlySet<string>
  readonly #rule: RetryRule | null
  readonly #random: () => number

  /** @param rule null: one retry of what never arrived, as for upstreams without rules */
  constructor(rule: RetryRule | null, random: () => number = Math.random) {
    this.maxAttempts = rule?.maxAttempts ?? 2
    this.statuses = new Set(rule?.statuses)
    const methods = rule?.methods ?? [...IDEMPOTENT]
    this.#methods = new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)
    this.#rule = rule
    this.#random = random
  }

  /** True for a method that may be sent again, and an outcome that another attempt may improve. */
  wants(method: string, outcome: EgressResponse | EgressStreamResponse | EgressFailure): boolean {
    if (!this.#methods.has(method)) return false
    if (outcome.kind === 'response') return this.statuses.has(outcome.status)
    if (outcome.saturated === true) return false
    // a timeout has used the time of all attempts
    return neverArrived(outcome) || (this.#rule !== null && outcome.reason === 'reset')
  }

  /** @param retries before this one */
  delayMs(retries: number): number {
    if (this.#rule === null) return RETRY_AFTER_MS
    const { firstDelayMs: firstMs, maxDelayMs: maxMs } = this.#rule
    return backoffMs({ firstMs, maxMs }, retries) * (1 - this.#random() / 2)
  }
}

export function neverArrived({ reason, sent, saturated }: EgressFailure): boolean {
  return reason === 'unreachable' && !sent && saturated !== true
}

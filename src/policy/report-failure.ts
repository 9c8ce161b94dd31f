/** Reports failed evaluations to a callback and, at a limited rate, to a log. */
import type { OnPolicyFailure } from './decision.ts'

const LOG_EVERY_MS = 1000

export interface FailureSinks {
  /** Called for each. */
  readonly onFailure?: OnPolicyFailure
  /** A policy that fails fails at every call: its log must not become the next problem. */
  readonly log?: { warn(fields: object, message: string): void }
}

export function failureReporter({ onFailure, log }: FailureSinks): OnPolicyFailure {
  let loggedAt = Number.NEGATIVE_INFINITY
  let silent = 0
  return (failure, detail) => {
    onFailure?.(failure, detail)
    if (log === undefined) return
    const now = performance.now()
    if (now - loggedAt < LOG_EVERY_MS) {
      silent++
      return
    }
    log.warn(
      { failure, detail, unlogged_before: silent },
      'the policy could not be evaluated; access was denied',
    )
    loggedAt = now
    silent = 0
  }
}

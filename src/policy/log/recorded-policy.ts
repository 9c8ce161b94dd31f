/** A policy that reports its decisions to an observer, for callers outside the pipeline. */
import { andThen } from '../../base/and-then.ts'
import type { Decision, DecisionObserver, PolicyInput, PreparedPolicy } from '../engine.ts'

export function recordedPolicy(policy: PreparedPolicy, observer: DecisionObserver): PreparedPolicy {
  function keepDecision(input: PolicyInput, decision: Decision): Decision {
    observer.recordDecision(input, decision, input.context.time)
    return decision
  }
  return {
    engine: policy.engine,
    get revision() {
      return policy.revision
    },
    decide(input, subjectKey, resourceKey) {
      const decision = policy.decide(input, subjectKey, resourceKey)
      return andThen(decision, value => keepDecision(input, value))
    },
    listKey: (subjectKey, input) => policy.listKey(subjectKey, input),
    get cached() {
      return policy.cached
    },
    clearCache: () => policy.clearCache(),
    close: () => policy.close(),
  }
}

/** A policy whose decisions are kept: for whoever asks it without a stage of the pipeline (the control plane). It changes no answer. */
import { andThen } from '../../call/and-then.ts'
import type { Decision, DecisionObserver, PolicyInput, PreparedPolicy } from '../engine.ts'

export function recordedPolicy(policy: PreparedPolicy, observer: DecisionObserver): PreparedPolicy {
  function kept(input: PolicyInput, decision: Decision): Decision {
    observer.decided(input, decision, input.context.time)
    return decision
  }
  return {
    engine: policy.engine,
    get revision() {
      return policy.revision
    },
    decide(input, subjectKey, resourceKey) {
      const decision = policy.decide(input, subjectKey, resourceKey)
      return andThen(decision, value => kept(input, value))
    },
    get cached() {
      return policy.cached
    },
    forget: () => policy.forget(),
    close: () => policy.close(),
  }
}

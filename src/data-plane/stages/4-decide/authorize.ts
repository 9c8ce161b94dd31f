/** Has the policy decide about a call, and refuses it for a denial or for an obligation that cannot be met. */

import { type Refusal, refuse } from '../../../model/refusal.ts'
import type { Decision, DecisionObserver, PolicyInput } from '../../../policy/engine.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { denial } from '../shared/denial.ts'
import { obligationsOf } from '../shared/obligations.ts'
import { policyInput, resourceKeyOf } from '../shared/policy-input.ts'
import { subjectKeyOf } from '../shared/subject-key.ts'

const NO_OBSERVER: DecisionObserver = { recordDecision: () => undefined }

export function authorize(observer: DecisionObserver = NO_OBSERVER): Stage {
  function accept(exchange: Exchange, input: PolicyInput, decision: Decision): Outcome {
    exchange.decision = decision
    const id = observer.recordDecision(
      input,
      decision,
      exchange.receivedAtMs,
      exchange.tool?.tool.inputSchema,
    )
    exchange.decisionId = id
    if (!decision.allow) return denial(decision, exchange.principal!, id)
    return decision.obligations === undefined ? undefined : unmet(exchange, decision, id)
  }
  /** Apart: a function with a closure allocates a scope whenever it is called. */
  function acceptLater(exchange: Exchange, input: PolicyInput, decided: Promise<Decision>): Promise<Outcome> {
    return decided.then(decision => accept(exchange, input, decision))
  }

  return {
    id: 'authorize',
    phase: 'decide',
    run(exchange) {
      // bind-session has checked that the session belongs to the caller
      if (exchange.operation.action === 'session') return undefined
      const input = policyInput(exchange)
      const decided = exchange.snapshot.policy.decide(input, subjectKeyOf(exchange), resourceKeyOf(exchange))
      return decided instanceof Promise
        ? acceptLater(exchange, input, decided)
        : accept(exchange, input, decided)
    },
  }
}

/** An obligation that cannot be met is a denial: the policy allowed the call only under it. */
function unmet({ operation }: Exchange, decision: Decision, id: string | undefined): Outcome {
  const obligations = obligationsOf(decision)
  if (typeof obligations === 'string') return cannot(obligations, decision, id)
  if (operation.action === 'tools.call') return undefined
  // only results of tools are buffered, and only their callers can be asked
  if (obligations.redact !== undefined)
    return cannot('The policy requires redaction, but only results of tools can be redacted.', decision, id)
  return obligations.confirm === undefined && obligations.ask === undefined
    ? undefined
    : refuse('confirmation_unsupported')
}

function cannot(message: string, { revision }: Decision, id: string | undefined): Refusal {
  return refuse('policy_denied', {
    message,
    reasons: [{ code: 'obligation_unmet', message }],
    policyRevision: revision,
    ...(id === undefined ? undefined : { decisionId: id }),
  })
}

/** Asks the policy whether the call may be made and turns a denial into a refusal. It holds no rule of its own. */
import { randomUUID } from 'node:crypto'
import type { Principal } from '../../../model/principal.ts'
import { type Refusal, refuse } from '../../../shared/call/refusal.ts'
import {
  type Decision,
  type DecisionObserver,
  POLICY_RETRY_SECS,
  type PolicyInput,
} from '../../../shared/policy/engine.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { obligationsOf } from '../shared/obligations.ts'
import { policyInput, resourceKeyOf } from '../shared/policy-input.ts'

/** The policy cannot tell callers with the same key apart: visibility key, and the tenant when it was switched. */
export function subjectKeyOf(exchange: Exchange): string {
  const principal = exchange.principal!
  return exchange.tenant === principal.tenant
    ? principal.visibilityKey
    : `${exchange.tenant}\n${principal.visibilityKey}`
}

const NOBODY: DecisionObserver = { decided: () => undefined }

export function authorize(observer: DecisionObserver = NOBODY): Stage {
  function accept(exchange: Exchange, input: PolicyInput, decision: Decision): Outcome {
    exchange.decision = decision
    const id = observer.decided(input, decision, exchange.receivedAtMs)
    if (!decision.allow) return denial(decision, exchange.principal!, id)
    return decision.obligations === undefined ? undefined : unmet(exchange, decision, id)
  }
  return {
    id: 'authorize',
    phase: 'decide',
    run(exchange) {
      // bind-session has made sure that the session is the caller's own; there is nothing left to decide
      if (exchange.operation.action === 'session') return undefined
      const input = policyInput(exchange)
      const decided = exchange.snapshot.policy.decide(input, subjectKeyOf(exchange), resourceKeyOf(exchange))
      return decided instanceof Promise
        ? decided.then(value => accept(exchange, input, value))
        : accept(exchange, input, decided)
    },
  }
}

/** An obligation that cannot be met is a denial: the policy allowed the call under it, and not without. */
function unmet({ operation }: Exchange, decision: Decision, id: string | undefined): Outcome {
  const obligations = obligationsOf(decision)
  if (typeof obligations === 'string') return cannot(obligations, decision, id)
  if (operation.action === 'tools.call') return undefined
  // only the answer of a tool is held in hand, and only its caller can be asked
  if (obligations.redact !== undefined)
    return cannot('The policy redacts the answer, and only answers of tools can be redacted.', decision, id)
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

/** A denial that more scopes would lift says so (RFC 6750 §3.1); one that no scope lifts does not, or clients loop into a login. */
export function denial(decision: Decision, principal: Principal, decisionId: string = randomUUID()): Refusal {
  const shared = { reasons: decision.reasons, decisionId, policyRevision: decision.revision }
  if (decision.unavailable === true)
    return refuse('policy_unavailable', { ...shared, retryAfterSecs: POLICY_RETRY_SECS })
  const missing = decision.reasons.flatMap(reason => reason.scopes ?? [])
  const onlyScopes = missing.length > 0 && decision.reasons.every(reason => (reason.scopes ?? []).length > 0)
  const message = decision.reasons.map(reason => reason.message).join(' ')
  if (!onlyScopes) return refuse('policy_denied', message === '' ? shared : { ...shared, message })
  return refuse('insufficient_scope', {
    ...shared,
    message,
    scopes: [...new Set([...principal.scopes, ...missing])].sort(),
  })
}

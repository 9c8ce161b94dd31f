/** Asks the policy whether the call may be made and turns a denial into a refusal. It holds no rule of its own. */
import { randomUUID } from 'node:crypto'
import type { Principal } from '../model/principal.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { type Refusal, refuse } from '../pipeline/refusal.ts'
import type { Outcome, Stage } from '../pipeline/stage.ts'
import type { Decision } from '../policy/engine.ts'
import { policyInput, resourceKeyOf } from './policy-input.ts'

/** The policy cannot tell callers with the same key apart: visibility key, and the tenant when it was switched. */
export function subjectKeyOf(exchange: Exchange): string {
  const principal = exchange.principal!
  return exchange.tenant === principal.tenant
    ? principal.visibilityKey
    : `${exchange.tenant}\n${principal.visibilityKey}`
}

export function authorize(): Stage {
  function accept(exchange: Exchange, decision: Decision): Outcome {
    exchange.decision = decision
    return decision.allow ? undefined : denial(decision, exchange.principal!)
  }
  return {
    id: 'authorize',
    phase: 'decide',
    run(exchange) {
      // bind-session has made sure that the session is the caller's own; there is nothing left to decide
      if (exchange.operation.action === 'session') return undefined
      const decided = exchange.snapshot.policy.decide(
        policyInput(exchange),
        subjectKeyOf(exchange),
        resourceKeyOf(exchange),
      )
      return decided instanceof Promise
        ? decided.then(value => accept(exchange, value))
        : accept(exchange, decided)
    },
  }
}

/** A denial that more scopes would lift says so (RFC 6750 §3.1); one that no scope lifts does not, or clients loop into a login. */
export function denial(decision: Decision, principal: Principal): Refusal {
  const decisionId = randomUUID()
  const shared = { reasons: decision.reasons, decisionId }
  if (decision.unavailable === true) return refuse('policy_unavailable', shared)
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

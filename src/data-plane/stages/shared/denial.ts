/** The refusal for a decision that does not allow a call. */
import { randomUUID } from 'node:crypto'
import type { Principal } from '../../../model/principal.ts'
import { type Refusal, refuse } from '../../../model/refusal.ts'
import { type Decision, POLICY_RETRY_SECS } from '../../../policy/engine.ts'

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

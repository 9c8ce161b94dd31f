/** Reads the result of an engine as a Decision; names why an engine could not decide, and holds the denial for it. */
import { isObject } from '../base/json/is-object.ts'
import type { DenialReason } from '../model/refusal.ts'
import type { Decision } from './engine.ts'

/** Why an engine could not decide; closed, because it is a metric label. */
export type PolicyFailure =
  | 'undefined'
  | 'malformed'
  | 'trap'
  | 'overtime'
  | 'too_large'
  | 'unreachable'
  | 'closed'

/** Called for every evaluation that failed. `detail` is for logs. */
export type OnPolicyFailure = (failure: PolicyFailure, detail: string) => void

/** A denial must have a reason; this one stands where a policy gave none. */
const NO_REASON: readonly DenialReason[] = Object.freeze([
  Object.freeze({ code: 'denied', message: 'The policy does not allow this request.' }),
])

const UNAVAILABLE: readonly DenialReason[] = Object.freeze([
  Object.freeze({
    code: 'policy_unavailable',
    message: 'The policy could not be evaluated, so access is denied.',
  }),
])

/** Fail closed (architecture, Policy). */
export function policyUnavailable(revision: string): Decision {
  return Object.freeze({ allow: false, reasons: UNAVAILABLE, revision, unavailable: true })
}

/**
 * Checks the decision document `{allow, reasons, obligations}`.
 * @returns undefined when it is not a valid decision: the gateway does not guess its meaning.
 */
export function decisionOf(document: unknown, revision: string): Decision | undefined {
  if (!isObject(document) || typeof document.allow !== 'boolean') return undefined
  const reasons = reasonsOf(document.reasons)
  const { obligations } = document
  if (reasons === undefined || (obligations !== undefined && !isObject(obligations))) return undefined
  return Object.freeze({
    allow: document.allow,
    reasons: document.allow || reasons.length > 0 ? reasons : NO_REASON,
    ...(obligations === undefined || Object.keys(obligations).length === 0 ? undefined : { obligations }),
    revision,
  })
}

function reasonsOf(value: unknown): readonly DenialReason[] | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value)) return undefined
  const reasons: DenialReason[] = []
  for (const one of value as unknown[]) {
    if (!isObject(one) || typeof one.code !== 'string' || typeof one.message !== 'string') return undefined
    const { scopes } = one
    if (
      scopes !== undefined &&
      !(Array.isArray(scopes) && scopes.every(scope => typeof scope === 'string'))
    ) {
      return undefined
    }
    reasons.push(
      Object.freeze({
        code: one.code,
        message: one.message,
        ...(scopes === undefined ? undefined : { scopes: Object.freeze(scopes as string[]) }),
      }),
    )
  }
  return Object.freeze(reasons)
}

/** Explains a decision of a policy: the rules with the codes of its reasons, and scopes that would allow the request. */
import type { DenialReason } from '../../model/refusal.ts'
import type { BundleRule } from '../bundle.ts'
import type { Decision, PolicyInput, PreparedPolicy } from '../engine.ts'
import { subjectKeyOf } from '../subject-key.ts'

export interface Explanation {
  readonly allow: boolean
  readonly reasons: readonly (DenialReason & { readonly rules: readonly BundleRule[] })[]
  readonly obligations?: NonNullable<Decision['obligations']>
  /** The scopes the caller lacks that together make it an allow; undefined when no scopes do. */
  readonly missingScopes: readonly string[] | undefined
}

/** Each round may uncover a rule that another one hid. */
const MAX_ROUNDS = 8

/** Asks the policy, and asks it again with the scopes its reasons name. */
export async function explain(
  policy: PreparedPolicy,
  rules: readonly BundleRule[],
  input: PolicyInput,
): Promise<Explanation> {
  const decision = await policy.decide(input, subjectKeyOf(input), 0)
  const reasons = decision.reasons.map(reason => ({
    ...reason,
    rules: rules.filter(rule => rule.code === reason.code),
  }))
  const missingScopes = decision.allow ? [] : await scopesThatAllow(policy, input)
  const { allow, obligations } = decision
  return { allow, reasons, missingScopes, ...(obligations === undefined ? undefined : { obligations }) }
}

async function scopesThatAllow(policy: PreparedPolicy, input: PolicyInput): Promise<string[] | undefined> {
  const added = new Set<string>()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const decision = await ask(policy, input, added)
    if (decision.allow) return fewest(policy, input, [...added].sort())
    const before = added.size
    for (const reason of decision.reasons) for (const scope of reason.scopes ?? []) added.add(scope)
    if (added.size === before) return undefined
  }
  return undefined
}

/** Leaves out again what turns out not to be needed (a reason names all scopes of an operation, also those the caller's roles bring). */
async function fewest(
  policy: PreparedPolicy,
  input: PolicyInput,
  scopes: readonly string[],
): Promise<string[]> {
  let needed = [...scopes]
  for (const scope of scopes) {
    const without = needed.filter(other => other !== scope)
    if ((await ask(policy, input, new Set(without))).allow) needed = without
  }
  return needed
}

function ask(policy: PreparedPolicy, input: PolicyInput, added: ReadonlySet<string>) {
  const { properties } = input.subject
  const scopes = [...new Set([...properties.scopes, ...added])]
  const asked = { ...input, subject: { ...input.subject, properties: { ...properties, scopes } } }
  return policy.decide(asked, subjectKeyOf(asked), 0)
}

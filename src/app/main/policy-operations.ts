/** The policy operations of the admin API: state, search and explanation of decisions, promotion. It decides about no call. */
import type { PolicyOperations } from '../../data-plane/http/admin/admin-policy.ts'
import { NO_CANDIDATE } from '../../policy/live/candidate.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import { explain } from '../../policy/log/explain.ts'
import type { DecisionRecorder } from '../../policy/log/recorder.ts'
import type { AppContext } from './app-context.ts'
import type { PlanePolicy, PolicyOwner } from './policy-served.ts'

export interface PolicyOperationsParts {
  readonly context: AppContext
  readonly recorder: DecisionRecorder
  readonly plane: PlanePolicy
  /** undefined with a policy server, which keeps its own bundles. */
  readonly live: LivePolicy | undefined
  readonly owner: PolicyOwner | undefined
}

export function policyOperations({
  context,
  recorder,
  plane,
  live,
  owner,
}: PolicyOperationsParts): PolicyOperations {
  const { engine } = context.settings.policy
  return {
    async status() {
      const owned = await owner?.status()
      const { revision, cached } = plane.current()
      const rules = live?.rulesOf(revision.split('+')[0]!)
      return { engine, revision, remembered: cached, ...owned, ...(rules === undefined ? {} : { rules }) }
    },
    search: (query, limit, cursor) => recorder.search(query, limit, cursor),
    async explain(id) {
      const entry = await recorder.find(id)
      if (entry === undefined) return undefined
      const policy = plane.current()
      const rules = live?.rulesOf(entry.revision.split('+')[0]!) ?? []
      const asked = await explain(policy, rules, entry.input)
      return {
        id,
        at: new Date(entry.at).toISOString(),
        revision: entry.revision,
        allow: entry.allow,
        masked: entry.masked ?? false,
        input: entry.input,
        reasons: entry.reasons.map(reason => ({
          ...reason,
          rules: rules.filter(rule => rule.code === reason.code),
        })),
        /** The same input evaluated now; differs if the policy has changed or arguments were masked. */
        now: {
          revision: policy.revision,
          allow: asked.allow,
          missing_scopes: asked.missingScopes ?? null,
          ...(asked.obligations === undefined ? {} : { obligations: asked.obligations }),
        },
      }
    },
    promote: async () => (owner === undefined ? NO_CANDIDATE : owner.promote()),
  }
}

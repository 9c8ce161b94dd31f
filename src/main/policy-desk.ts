/** What operators are told about the policy of this gateway: its state, and why a decision came out as it did. It changes nothing but by a promotion. */
import type { PolicyDesk } from '../gateway/admin-policy.ts'
import { explain } from '../policy/log/explain.ts'
import type { DecisionRecorder } from '../policy/log/recorder.ts'
import type { Ground } from './ground.ts'
import type { Candidate } from './policy-candidate.ts'
import type { Served } from './policy-served.ts'

export interface DeskParts extends Pick<Served, 'plane' | 'live' | 'tenants'> {
  readonly ground: Ground
  readonly recorder: DecisionRecorder
  readonly candidate: Candidate | undefined
}

export function policyDesk({ ground, recorder, candidate, plane, live, tenants }: DeskParts): PolicyDesk {
  const { engine, maxFlips } = ground.settings.policy
  return {
    status() {
      const status = live?.status
      return {
        engine,
        revision: plane.current().revision,
        remembered: plane.current().remembered,
        ...(status === undefined
          ? {}
          : {
              since: new Date(status.since).toISOString(),
              swaps: status.swaps,
              rejected: status.rejected,
              ...(status.fault === undefined ? {} : { fault: status.fault }),
            }),
        ...(tenants === undefined ? {} : { tenants: tenants.status }),
        ...(candidate === undefined
          ? {}
          : { candidate: { ...candidate.status, max_flips: maxFlips, fault: candidate.fault } }),
      }
    },
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
        /** The same question now; it may come out otherwise when the policy has changed or arguments were masked. */
        now: {
          revision: policy.revision,
          allow: asked.allow,
          missing_scopes: asked.missingScopes ?? null,
          ...(asked.obligations === undefined ? {} : { obligations: asked.obligations }),
        },
      }
    },
    promote: async () =>
      candidate === undefined ? 'There is no candidate: set POLICY_SHADOW.' : candidate.promote(),
  }
}

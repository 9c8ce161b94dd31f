/** The stages with which a call is simulated, and the reasons why the policy hides a tool. */
import type { SimulationParts } from '../../../data-plane/http/admin/admin-simulate.ts'
import { simulate } from '../../../data-plane/pipeline/simulate.ts'
import type { Stage } from '../../../data-plane/pipeline/stage.ts'
import type { Quota } from '../../../data-plane/quota/quota.ts'
import { peekQuota } from '../../../data-plane/stages/3-limit/peek-quota.ts'
import { authorize } from '../../../data-plane/stages/4-decide/authorize.ts'
import { listingInput } from '../../../data-plane/stages/shared/policy-input.ts'
import { subjectKeyOf } from '../../../data-plane/stages/shared/subject-key.ts'

/** Stages that read and refuse, and change nothing outside of the exchange. */
const AS_THEY_ARE: ReadonlySet<string> = new Set([
  'bind-session',
  'resolve-tool',
  'require-subscription',
  'refuse-unknown-tool',
  'match-headers',
  'validate-arguments',
  'list-tools',
])

/** @param stages of the pipeline */
export function simulationOf(
  stages: readonly Stage[],
  quota: Quota,
): Pick<SimulationParts, 'simulate' | 'hiddenBecause'> {
  const known: Stage = { id: 'authenticate', phase: 'identify', run: () => undefined }
  const simulated = new Map(
    [...stages.filter(({ id }) => AS_THEY_ARE.has(id)), known, peekQuota(quota), authorize()].map(stage => [
      stage.id,
      stage,
    ]),
  )
  return {
    simulate: exchange => simulate(stages, simulated, exchange),
    async hiddenBecause(exchange, entry) {
      const { policy } = exchange.snapshot
      const decision = await policy.decide(listingInput(exchange, entry), subjectKeyOf(exchange), entry.index)
      return decision.allow ? undefined : decision.reasons
    },
  }
}

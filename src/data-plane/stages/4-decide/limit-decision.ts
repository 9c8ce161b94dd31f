/** Carries out the obligation `limit`: counts a call against the rate of the policy, or refuses the call. */

import { andThen } from '../../../base/and-then.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { boundedName } from '../../quota/counter-key.ts'
import { POLICY_LIMIT_KEY, type Quota, type QuotaGrant, type QuotaRefusal } from '../../quota/quota.ts'
import { countedName, entitlementOf } from '../shared/entitlement.ts'
import { obligationsOf } from '../shared/obligations.ts'
import { quotaRefusal } from '../shared/quota-refusal.ts'

export function limitDecision(quota: Quota): Stage {
  return {
    id: 'limit-decision',
    phase: 'decide',
    run(exchange) {
      const { decision } = exchange
      if (decision?.obligations === undefined) return undefined
      const obligations = obligationsOf(decision)
      if (typeof obligations === 'string' || obligations.limit === undefined) return undefined
      const taken = quota.take({
        key: keyOf(exchange),
        limits: { perMinute: obligations.limit.perMinute },
        nowMs: exchange.receivedAtMs,
      })
      return andThen(taken, accept)
    },
  }
}

function accept(taken: QuotaGrant | QuotaRefusal): Outcome {
  if (!taken.granted) return quotaRefusal(taken)
  // nothing is counted in flight here
  taken.release()
  return undefined
}

/** One counter for each caller and thing. */
function keyOf(exchange: Exchange): string {
  const { operation, tenant, tool } = exchange
  const principal = exchange.principal!
  const name = countedName(principal, entitlementOf(exchange, principal))
  const thing =
    tool !== undefined ? tool.tool.name : operation.action === 'proxy' ? operation.api.id : operation.action
  return boundedName(POLICY_LIMIT_KEY, JSON.stringify([tenant ?? null, name, thing]))
}

/** A stage that refuses calls whose caller has used up a daily or monthly quota, without taking a unit. */
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { Quota } from '../../quota/quota.ts'
import { entitlementOf } from '../shared/entitlement.ts'
import { quotaRefusal } from '../shared/quota-refusal.ts'
import { consumes, quotaKeyOf } from './take-quota.ts'

export function peekQuota(quota: Pick<Quota, 'statisticsOf'>): Stage {
  return {
    id: 'take-quota',
    phase: 'limit',
    async run(exchange: Exchange): Promise<Outcome> {
      const principal = exchange.principal!
      if (!consumes(exchange) || principal.kind === 'anonymous') return undefined
      const entitlement = entitlementOf(exchange, principal)
      const row = await quota.statisticsOf(quotaKeyOf(principal, entitlement))
      if (row === undefined) return undefined
      const { perDay = 0, perMonth = 0 } = entitlement.limits
      for (const [kind, used, limit] of [
        ['day', row.dailyCount, perDay],
        ['month', row.monthlyCount, perMonth],
      ] as const)
        if (limit > 0 && used >= limit)
          return quotaRefusal({
            granted: false,
            kind,
            used,
            limit,
            retryAfterSecs: 1,
            standing: { limit, remaining: 0, resetAtSecs: 0 },
          })
      return undefined
    },
  }
}

/** Refuses blocked consumers, and calls without an approved subscription to an API that requires one. It counts nothing. */
import { refuse } from '../../../shared/call/refusal.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { entitlementOf } from '../shared/entitlement.ts'

export function requireSubscription(): Stage {
  return {
    id: 'require-subscription',
    phase: 'identify',
    run(exchange) {
      const { operation, snapshot, tool } = exchange
      const principal = exchange.principal!
      if (snapshot.isBlocked(principal.tenant, principal.consumer)) return refuse('consumer_blocked')
      const apiId = operation.action === 'proxy' ? operation.api.id : tool?.tool.apiId
      if (apiId === undefined) return undefined
      const authRequired =
        operation.action === 'proxy'
          ? operation.api.authRequired
          : snapshot.apiOf(apiId)?.authRequired === true
      if (!authRequired || entitlementOf(exchange, principal).subscriptionId !== undefined) return undefined
      return refuse('subscription_required')
    },
  }
}

/**
 * Refuses calls because of a suspended or deleted tenant, a blocked consumer, a key of another API, or a subscription that is missing or
 * not served.
 */
import { refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { entitlementOf } from '../shared/entitlement.ts'

export function requireSubscription(): Stage {
  return {
    id: 'require-subscription',
    phase: 'identify',
    run(exchange) {
      const { operation, snapshot, tool, tenant } = exchange
      const principal = exchange.principal!
      if (snapshot.isBlocked(principal.tenant, principal.consumer)) return refuse('consumer_blocked')
      const { subscriptionId, apiIds, subscriber } = principal
      // a tenant that is deleted is not in the snapshot
      if (
        subscriber !== undefined &&
        (snapshot.isSuspended(subscriber) || snapshot.tenantIdOf(subscriber) === undefined)
      )
        return refuse('tenant_suspended')
      if (subscriptionId !== undefined && apiIds !== undefined) {
        const fault = snapshot.subscriptionFault(principal, apiIds[0] ?? '', exchange.receivedAtMs)
        if (fault !== undefined) return refuse(`subscription_${fault}`)
      }
      if (operation.action === 'proxy') {
        const { api } = operation
        if (snapshot.isSuspended(tenant) || snapshot.isSuspended(api.tenant))
          return refuse('tenant_suspended')
        // any caller may use an API without authentication, so a key of another API may, too
        return api.authRequired ? ofApi(exchange, api.id, true) : undefined
      }
      if (!isCall(operation)) return undefined
      if (snapshot.isSuspended(tenant)) return refuse('tenant_suspended')
      // refused once it is counted
      if (tool === undefined) return undefined
      const { apiId } = tool.tool
      return ofApi(exchange, apiId, apiId !== undefined && snapshot.apiOf(apiId)?.authRequired === true)
    },
  }
}

function ofApi(exchange: Exchange, apiId: string | undefined, authRequired: boolean): Outcome {
  const principal = exchange.principal!
  if (principal.apiIds !== undefined && (apiId === undefined || !principal.apiIds.includes(apiId)))
    return refuse('key_of_other_api')
  if (!authRequired || entitlementOf(exchange, principal).subscriptionId !== undefined) return undefined
  const fault =
    apiId === undefined
      ? undefined
      : exchange.snapshot.subscriptionFault(principal, apiId, exchange.receivedAtMs)
  return refuse(fault === undefined ? 'subscription_required' : `subscription_${fault}`)
}

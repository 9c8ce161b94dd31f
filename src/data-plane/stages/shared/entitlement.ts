/** Finds the entitlement that applies to an exchange, and the API that the exchange belongs to. */
import type { Principal } from '../../../model/principal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { CompiledApi, Entitlement } from '../../snapshot/snapshot.ts'

/**
 * The subscription to the API that a tool or path belongs to decides, else the consumer's own plan (docs/reference/http.md, Quotas per consumer). Several stages ask;
 * the result is kept, so no stage may call it before the tool is resolved.
 */
export function entitlementOf(exchange: Exchange, principal: Principal): Entitlement {
  if (exchange.entitlement === undefined) exchange.entitlement = foundEntitlement(exchange, principal)
  return exchange.entitlement
}

/** The name that a caller's calls are counted under: a user of any client, where the limits are of users. */
export function countedName({ subject, consumer }: Principal, { per }: Entitlement): string {
  return per === 'user' ? `user:${subject}` : consumer
}

function foundEntitlement(exchange: Exchange, principal: Principal): Entitlement {
  const { operation } = exchange
  const apiId = operation.action === 'proxy' ? operation.api.id : exchange.tool?.tool.apiId
  return exchange.snapshot.entitlementOf(principal, apiId, exchange.receivedAtMs)
}

/** The API that a proxied path or a tool belongs to. */
export function apiOf({ operation, tool, snapshot }: Exchange): CompiledApi | undefined {
  if (operation.action === 'proxy') return operation.api
  return tool?.tool.apiId === undefined ? undefined : snapshot.apiOf(tool.tool.apiId)
}

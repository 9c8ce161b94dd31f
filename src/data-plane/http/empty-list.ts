/** Explains in a text why a caller sees no tool at an address. The text names no tool. */
import type { Exchange } from '../pipeline/exchange.ts'

export function emptyReason({ snapshot, tenant, principal, listing }: Exchange): string {
  if (listing !== undefined && listing.tools.length > 0)
    return 'This credential may use tools, but this address offers none of them. Check the tool set and the tags in the address.'
  if (snapshot.isSuspended(tenant))
    return 'The tenant is suspended. Ask the operator of the gateway to activate the tenant.'
  const tools = [...snapshot.toolsOf(tenant).values()]
  if (tools.length === 0) {
    return principal?.tenant == null
      ? 'The credential belongs to no tenant, and no tool set in the namespace "platform" has tools. Use a credential that belongs to a tenant.'
      : "No tool set with tools is loaded for the credential's tenant. The operator finds the reason in the status of the ToolSet."
  }
  const apiIds = principal?.apiIds
  if (
    apiIds !== undefined &&
    !tools.some(({ tool }) => tool.apiId !== undefined && apiIds.includes(tool.apiId))
  )
    return 'This key gives access only to APIs without tools. Use a key for another API, or a token.'
  return 'The policy does not allow this credential to use any of the tools. The credential may lack a role, a scope or an approved subscription.'
}

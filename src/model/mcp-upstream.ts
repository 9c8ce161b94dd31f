/** The faults of the fields by which gateways reach the MCP server of an API, and the name of the tenant's secret. */
import type { McpUpstream } from './schema/mcp-upstream.ts'
import { OAUTH_TYPES } from './tool.ts'

/** A tenant names keys of this secret only, so that it never gets the secret of another tenant or of the platform. */
export function secretOfTenant(tenantName: string): string {
  return `tenant-${tenantName}`
}

/** What is wrong, with the name of its field; undefined: nothing. */
export function mcpUpstreamFault({
  session,
  authentication,
}: McpUpstream): { readonly field: string; readonly message: string } | undefined {
  const { type, secret, header, tokenUrl, clientId, clientAuthentication } = authentication
  const isOAuth = OAUTH_TYPES.some(one => one === type)
  const at = (name: string, message: string) => ({ field: `mcp.authentication.${name}`, message })
  if (isOAuth && tokenUrl === null) return at('token_url', `must be given for type ${type}.`)
  if (isOAuth && clientId === null) return at('client_id', `must be given for type ${type}.`)
  if (!isOAuth && (tokenUrl !== null || clientId !== null))
    return at(tokenUrl === null ? 'client_id' : 'token_url', `must be null for type ${type}.`)
  const isPublic = isOAuth && clientAuthentication === 'none'
  if (isPublic && type === 'oauth2_client_credentials')
    return at('client_authentication', 'must be "basic" or "post": this grant type requires a client secret.')
  if (type !== 'none' && !isPublic && secret === null) return at('secret', `must be given for type ${type}.`)
  if (type === 'none' && secret !== null) return at('secret', 'must be null for type "none".')
  if (header !== null && type !== 'apiKey') return at('header', 'must be null unless type is "apiKey".')
  if (session === 'shared' && type === 'token_exchange')
    return {
      field: 'mcp.session',
      message: 'must be "per-caller": with type "token_exchange", each caller has a separate token.',
    }
  return undefined
}

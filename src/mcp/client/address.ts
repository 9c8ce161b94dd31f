/** The address of an MCP server, from the binding and the credential of a tool, and the headers that it adds to a request. */
import type { BackendAuthentication, McpBinding } from '../../model/tool.ts'
import { credentialOf } from '../../net/egress/backend-credential.ts'
import type { ServerAddress } from '../protocol.ts'

export function serverAddress(
  { url, transport, headers }: Pick<McpBinding, 'url' | 'transport' | 'headers'>,
  authentication: BackendAuthentication,
): ServerAddress {
  const credential = credentialOf(authentication)
  const own = credential === undefined ? [] : [credential.name.toLowerCase(), credential.value]
  return { url, transport, headers: [...headers, ...own] }
}

/** Headers beside those of one request, which may hold the token of their call. */
export function addressHeaders(
  { headers, bearer }: ServerAddress,
  own: readonly string[],
): readonly string[] {
  if (bearer === undefined || bearer.token === '' || own.includes('authorization')) return headers
  return [...headers, 'authorization', `Bearer ${bearer.token}`]
}

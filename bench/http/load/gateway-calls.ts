/** Calls of the kinds of clients that the built gateway has, beside one without a session: requests, each with its credentials. */
import { CALL, CALL_RPC, FORWARDED_GET, type LoadRequest, over } from './requests.ts'
import type { Toolgate } from './toolgate.ts'

const SESSION_VERSION = '2025-11-25'
const MODERN_VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol'
const client = { name: 'bench', version: '1' }

type Gateway = Pick<Toolgate, 'url' | 'token' | 'apiKey'>

const bearer = ({ token }: Gateway): { readonly authorization: string } => ({
  authorization: `Bearer ${token}`,
})

export const callWithoutSession = (gateway: Gateway): LoadRequest => over(CALL_RPC, bearer(gateway))

export const proxiedGet = ({ apiKey }: Pick<Gateway, 'apiKey'>): LoadRequest =>
  over(FORWARDED_GET, { 'x-api-key': apiKey }, '/t/acme/bench')

/** Opens the session. */
export async function callInSession(gateway: Gateway): Promise<LoadRequest> {
  const params = { protocolVersion: SESSION_VERSION, capabilities: {}, clientInfo: client }
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: { ...CALL_RPC.headers, ...bearer(gateway) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  })
  await response.text()
  const id = response.headers.get('mcp-session-id')
  if (id === null) throw new Error(`the response to initialize has status ${response.status} and no session`)
  return over(CALL_RPC, {
    ...bearer(gateway),
    'mcp-session-id': id,
    'mcp-protocol-version': SESSION_VERSION,
  })
}

export function modernCall(gateway: Gateway): LoadRequest {
  const _meta = {
    [`${META}/protocolVersion`]: MODERN_VERSION,
    [`${META}/clientInfo`]: client,
    [`${META}/clientCapabilities`]: {},
  }
  const headers = {
    'mcp-protocol-version': MODERN_VERSION,
    'mcp-method': 'tools/call',
    'mcp-name': CALL.name,
  }
  const request = over(CALL_RPC, { ...bearer(gateway), ...headers })
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...CALL, _meta } }
  return { ...request, body: JSON.stringify(message) }
}

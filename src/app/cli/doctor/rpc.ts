/** Sends JSON-RPC requests to the MCP endpoint, and builds their headers. */
import { ask, type FetchedResponse } from './ask.ts'
import type { Visit } from './visit.ts'

let lastId = 0

/** @param method of a request; one that begins with `notifications/` gets no id */
export function sendRpc(
  visit: Visit,
  method: string,
  params: object = {},
  withToken = true,
): Promise<FetchedResponse> {
  const isNotification = method.startsWith('notifications/')
  return ask(visit.url, {
    headers: headersOf(visit, withToken),
    body: { jsonrpc: '2.0', ...(isNotification ? {} : { id: ++lastId }), method, params },
  })
}

export function initializeSession(visit: Visit, withToken: boolean): Promise<FetchedResponse> {
  const { protocolVersion, clientInfo } = visit.client
  return sendRpc(visit, 'initialize', { protocolVersion, capabilities: {}, clientInfo }, withToken)
}

export function headersOf(visit: Visit, withToken = true): Record<string, string> {
  return {
    accept: 'application/json, text/event-stream',
    ...(withToken && visit.token !== undefined ? { authorization: `Bearer ${visit.token}` } : {}),
    ...(visit.sessionId === undefined ? {} : { 'mcp-session-id': visit.sessionId }),
    ...(visit.protocolVersion === undefined ? {} : { 'mcp-protocol-version': visit.protocolVersion }),
  }
}

/** Calls a tool as a client would, over REST or MCP, and returns the exchange as it was. It draws nothing. */
import { request } from '../../api/client.ts'

export type Protocol = 'rest' | 'mcp'

export interface Exchange {
  readonly protocol: Protocol
  readonly status: number
  readonly ms: number
  readonly requestId: string | null
  /** `X-RateLimit-*`, `Server-Timing` and others of the response. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: unknown
  /** Of progress notifications, with MCP. */
  readonly events: readonly unknown[]
}

const SHOWN = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-policy-revision',
  'retry-after',
  'server-timing',
  'x-trace-id',
]
const PROTOCOL_VERSION = '2025-11-25'

export async function runCall(
  protocol: Protocol,
  tool: string,
  args: object,
  tenant: string | undefined,
): Promise<Exchange> {
  const tenantHeader = tenant === undefined ? {} : { 'x-tenant-id': tenant }
  const path = protocol === 'rest' ? 'gateway/mcp/tools/call' : 'gateway/mcp'
  const params = { name: tool, arguments: args, _meta: { progressToken: 'playground' } }
  const body =
    protocol === 'rest'
      ? { name: tool, arguments: args }
      : { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const headers = {
    ...tenantHeader,
    'x-debug-timing': 'true',
    ...(protocol === 'rest'
      ? {}
      : {
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': PROTOCOL_VERSION,
          ...(await openSession(tenantHeader)),
        }),
  }
  const begin = performance.now()
  const response = await request(path, { method: 'POST', body, headers, anyStatus: true })
  const { value, events } = await readBody(response)
  return {
    protocol,
    status: response.status,
    ms: performance.now() - begin,
    requestId: response.headers.get('x-request-id'),
    headers: SHOWN.flatMap(name => {
      const text = response.headers.get(name)
      return text === null ? [] : [[name, text] as const]
    }),
    body: value,
    events,
  }
}

/** @returns the header of the session */
async function openSession(tenantHeader: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const params = {
    protocolVersion: PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: 'toolgate-console', version: '1' },
  }
  const headers = { ...tenantHeader, accept: 'application/json, text/event-stream' }
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
  const response = await request('gateway/mcp', { method: 'POST', body: initialize, headers })
  await response.text()
  const id = response.headers.get('mcp-session-id')
  const session = id === null ? {} : { 'mcp-session-id': id }
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
  await request('gateway/mcp', { method: 'POST', body: initialized, headers: { ...headers, ...session } })
  return session
}

async function readBody(
  response: Response,
): Promise<{ readonly value: unknown; readonly events: readonly unknown[] }> {
  const text = await response.text()
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return { value: parse(text), events: [] }
  const messages = [...text.matchAll(/^data: ?(.*)$/gm)]
    .map(match => parse(match[1]!))
    .filter(value => value !== '')
  return { value: messages.at(-1), events: messages.slice(0, -1) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

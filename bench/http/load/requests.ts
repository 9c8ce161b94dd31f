/** What a load run sends, and how it knows a correct response. */

export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** 200 when absent. */
  readonly status?: number
  /** What every response must contain. */
  readonly holds: string
  /** Tokens that a closed loop sends in turns, each in place of the one in `headers`. */
  readonly tokens?: readonly string[]
}

/** The response of the backend. */
export const PRODUCT = JSON.stringify({
  id: 'P-1001',
  name: 'Espresso beans, 1 kg',
  price: 18.5,
  currency: 'EUR',
  stock: 42,
  tags: ['coffee', 'beans'],
})

const rpc = (method: string, params?: object, id = 1): object => ({ jsonrpc: '2.0', id, method, params })
export const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }
/** Path of the MCP server beside the backend, and its tool at the gateway. */
export const MCP_SERVER = '/mcp-server'
export const CALL_MCP = { name: 'mcp_getProduct', arguments: { productId: 'P-1001' } }
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const post = (
  path: string,
  body: object,
  holds: string,
  headers: Record<string, string> = {},
): LoadRequest => ({
  method: 'POST',
  path,
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
  holds,
})

export const BARE = post('/mcp', rpc('tools/call', CALL), 'P-1001')
export const HEALTH: LoadRequest = { method: 'GET', path: '/health', holds: '"ok"' }
export const PING = post('/mcp', rpc('ping'), '"result":{}')
export const LIST = post('/mcp', rpc('tools/list'), 'shop_getProduct')
export const CALL_RPC = post('/mcp', rpc('tools/call', CALL), 'P-1001')
export const CALL_RPC_MCP = post('/mcp', rpc('tools/call', CALL_MCP), 'P-1001')
export const CALL_REST = post('/mcp/tools/call', CALL, 'P-1001')
export const BATCH = post(
  '/mcp',
  Array.from({ length: 10 }, (_, at) => rpc('tools/call', CALL, at + 1)),
  '"id":10',
  { 'mcp-protocol-version': '2025-03-26' },
)
/** Through a plain proxy. */
export const FORWARDED = post('/products/P-1001', CALL, 'P-1001')
export const FORWARDED_GET: LoadRequest = { method: 'GET', path: '/products/P-1001', holds: 'P-1001' }

/** The request below another path, with more headers. */
export function over(
  request: LoadRequest,
  headers: Readonly<Record<string, string>>,
  prefix = '',
): LoadRequest {
  return { ...request, path: prefix + request.path, headers: { ...request.headers, ...headers } }
}

/** The kinds of work a gateway can be profiled with, and how a right answer is known. It sends nothing. */

export const WORK = ['call', 'rest', 'list', 'ping', 'proxy'] as const
export type Work = (typeof WORK)[number]

export interface WorkRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What every answer must hold. */
  readonly holds: string
}

/** Path below the gateway of the API that is proxied. */
export const API_PATH = '/bench'

const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

/** @param token of a caller without limits @param apiKey of a subscription without limits to the proxied API */
export function requestOf(work: Work, token: string, apiKey: string): WorkRequest {
  const post = (path: string, body: object, holds: string): WorkRequest => ({
    method: 'POST',
    path,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
    holds,
  })
  const rpc = (method: string, params?: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
  switch (work) {
    case 'call':
      return post('/mcp', rpc('tools/call', CALL), 'P-1001')
    case 'rest':
      return post('/mcp/tools/call', CALL, 'P-1001')
    case 'list':
      return post('/mcp', rpc('tools/list'), 'shop_getProduct')
    case 'ping':
      return post('/mcp', rpc('ping'), '"result":{}')
    case 'proxy':
      return {
        method: 'GET',
        path: `/t/acme${API_PATH}/products/P-1001`,
        headers: { 'x-api-key': apiKey },
        body: '',
        holds: 'P-1001',
      }
  }
}

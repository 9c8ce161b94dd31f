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

const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

/** What the requests need of the deployment they are sent to. */
export interface WorkPlace {
  /** Of a caller without limits. */
  readonly token: string
  /** Path below the gateway of the API that is proxied. */
  readonly apiPath: string
  /** Of a subscription to it without limits. */
  readonly apiKey: string
}

export function requestOf(work: Work, { token, apiPath, apiKey }: WorkPlace): WorkRequest {
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
        path: `${apiPath}/products/P-1001`,
        headers: { 'x-api-key': apiKey },
        body: '',
        holds: 'P-1001',
      }
  }
}

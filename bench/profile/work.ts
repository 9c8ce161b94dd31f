/** The requests a gateway can be profiled with, and the text that each correct response contains. */

export const WORK = ['call', 'rest', 'list', 'ping', 'proxy'] as const
export type Work = (typeof WORK)[number]

export interface WorkRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Every response must contain it. */
  readonly expectedText: string
}

const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

/** Credentials and paths of the deployment that the requests are sent to. */
export interface WorkTarget {
  /** Token of a consumer without limits. */
  readonly token: string
  /** Path of the proxied API on the gateway. */
  readonly apiPath: string
  /** API key of a subscription to that API without limits. */
  readonly apiKey: string
}

export function workRequest(work: Work, { token, apiPath, apiKey }: WorkTarget): WorkRequest {
  const post = (path: string, body: object, expectedText: string): WorkRequest => ({
    method: 'POST',
    path,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
    expectedText,
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
        expectedText: 'P-1001',
      }
  }
}

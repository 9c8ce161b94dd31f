/** The upstream of the load runs: it responds with one product, over MCP as a tool's result. It also opens ports for bare servers, and measures nothing. */
import { loadNative, type NativeApp, type NativeModule } from '../../../src/net/server/uws/native.ts'
import { MCP_SERVER, PRODUCT } from './requests.ts'

/** @throws Error that says why the native listener does not load here */
export function native(): NativeModule {
  const loaded = loadNative()
  if ('native' in loaded) return loaded.native
  throw new Error(`the load runs need uWebSockets.js: ${loaded.reason}`)
}

/** On a free port, or where `shared` on one that several processes listen on; uWS never shares a port it has chosen. @returns the port */
export function listen(app: NativeApp, port = 0, shared = false): number {
  let socket: unknown
  // uWS: 0 shares the port, 1 demands it alone
  app.listen('127.0.0.1', port, shared ? 0 : 1, taken => {
    socket = taken
  })
  if (socket === false) throw new Error(`port ${port} is taken`)
  return native().us_socket_local_port(socket)
}

/** Reads what comes, discards it, responds. It is the reference of calls without backend as well. */
export function productApp(product: string | Uint8Array = PRODUCT): NativeApp {
  const app = native().App()
  serveMcp(app, product)
  for (const method of ['get', 'post'] as const)
    app[method]('/*', response => {
      const respond = (): void =>
        void response.writeStatus('200 OK\r\ncontent-type: application/json').end(product)
      if (method === 'get') return respond()
      response.onAborted(() => {})
      response.onData((_chunk, last) => {
        if (last) respond()
      })
    })
  return app
}

/** An MCP server of 2026-07-28 whose one tool returns the product. */
function serveMcp(app: NativeApp, product: string | Uint8Array): void {
  const text = typeof product === 'string' ? product : Buffer.from(product).toString()
  const inputSchema = { type: 'object', properties: { productId: { type: 'string' } } }
  const annotations = { readOnlyHint: true }
  const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'public' }
  const results: Readonly<Record<string, object>> = {
    'server/discover': { ...complete, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    'tools/list': { ...complete, tools: [{ name: 'getProduct', inputSchema, annotations }] },
    'tools/call': { resultType: 'complete', content: [{ type: 'text', text }] },
  }
  app.post(MCP_SERVER, response => {
    const chunks: Buffer[] = []
    response.onAborted(() => {})
    response.onData((chunk, last) => {
      // uWS reuses the memory of a chunk
      chunks.push(Buffer.from(Buffer.from(chunk)))
      if (!last) return
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString())
      response
        .writeStatus('200 OK\r\ncontent-type: application/json')
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }))
    })
  })
}

/** @returns its address */
export function startBackend(): string {
  return `http://127.0.0.1:${listen(productApp())}`
}

/** An HTTP server on a free port of loopback, for the backends that commands start. */
import { createServer, type RequestListener } from 'node:http'
import { openPlainServer, type PlainServer } from '../../net/server/plain-server.ts'

export interface LoopbackServer extends PlainServer {
  readonly url: string
}

export async function startLoopbackServer(listener: RequestListener): Promise<LoopbackServer> {
  // no timeout: the gateway decides when a connection closes
  const server = createServer({ keepAliveTimeout: 0 }, listener)
  const opened = await openPlainServer(server, { host: '127.0.0.1', port: 0 })
  return { url: `http://127.0.0.1:${opened.port}`, ...opened }
}

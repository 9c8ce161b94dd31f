/** The backend of the demo, on loopback, which echoes the request. It stores nothing. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Upstream {
  readonly url: string
  close(): Promise<void>
}

export async function startUpstream(): Promise<Upstream> {
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        hello: 'from the upstream',
        method: request.method,
        path: request.url,
        // the gateway must not forward the caller's credentials
        saw_a_key: request.headers['x-api-key'] !== undefined || request.headers.authorization !== undefined,
      }),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

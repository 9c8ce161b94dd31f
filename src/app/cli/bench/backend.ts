/** The backend of a profiled load, on loopback: reads each request and responds with the same product. It stores nothing. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Backend {
  readonly url: string
  close(): Promise<void>
}

const PRODUCT = JSON.stringify({
  id: 'P-1001',
  name: 'Espresso beans, 1 kg',
  price: 18.5,
  currency: 'EUR',
  stock: 42,
  tags: ['coffee', 'beans'],
})
const HEADERS = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(PRODUCT)) }

export async function startBackend(): Promise<Backend> {
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => response.writeHead(200, HEADERS).end(PRODUCT))
  })
  // no timeout: the gateway decides when a connection closes
  server.keepAliveTimeout = 0
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

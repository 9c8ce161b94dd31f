/** The backend of a profiled load, on loopback: reads each request and responds with the same product. */
import { type LoopbackServer, startLoopbackServer } from '../../src/app/cli/loopback-server.ts'

const PRODUCT = JSON.stringify({
  id: 'P-1001',
  name: 'Espresso beans, 1 kg',
  price: 18.5,
  currency: 'EUR',
  stock: 42,
  tags: ['coffee', 'beans'],
})
const HEADERS = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(PRODUCT)) }

export function startBackend(): Promise<LoopbackServer> {
  return startLoopbackServer((request, response) => {
    request.resume()
    request.once('end', () => response.writeHead(200, HEADERS).end(PRODUCT))
  })
}

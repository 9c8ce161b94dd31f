/** The backend of the demo, on loopback, which responds with the method and the path of the request. */
import { type LoopbackServer, startLoopbackServer } from '../loopback-server.ts'

export function startUpstream(): Promise<LoopbackServer> {
  return startLoopbackServer((request, response) => {
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
}

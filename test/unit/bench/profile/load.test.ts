/** The load of a profile against servers that respond correctly, wrongly and not at all. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { type Load, startLoad } from '../../../../bench/profile/load.ts'
import { workRequest } from '../../../../bench/profile/work.ts'

const REQUEST = workRequest('call', { token: 't0ken', apiPath: '/t/acme/bench', apiKey: 'tgk_1' })

let server: Server
let load: Load | undefined
afterEach(async () => {
  load?.stop()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

async function drive(respond: RequestListener, connections = 4): Promise<Load> {
  server = createServer(respond)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  load = startLoad({ url, request: REQUEST, connections })
  return load
}

it('sends the whole request over and over, one at a time on each connection', async () => {
  const bodies = new Set<string>()
  const inFlight = new Map<unknown, number>()
  let max = 0
  const running = await drive((request, response) => {
    const here = (inFlight.get(request.socket) ?? 0) + 1
    inFlight.set(request.socket, here)
    max = Math.max(max, here)
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      bodies.add(`${request.method} ${request.url} ${request.headers.authorization} ${body}`)
      inFlight.set(request.socket, here - 1)
      // in pieces and without a length, as a proxied response may come
      response.write('{"id":')
      response.end('"P-1001"}')
    })
  })
  await vi.waitUntil(() => running.responses() > 50, { timeout: 20_000 })
  expect([...bodies]).toEqual([`POST /mcp Bearer t0ken ${REQUEST.body}`])
  expect([inFlight.size, max]).toEqual([4, 1])
  running.stop()
  await running.ended
})

it('goes on where a server closes after each response', async () => {
  const running = await drive((request, response) => {
    request.resume()
    response.writeHead(200, { connection: 'close' }).end('P-1001')
  }, 1)
  await vi.waitUntil(() => running.responses() > 3, { timeout: 20_000 })
})

it.each([
  ['another status', (status: number) => [status, 'P-1001'] as const, 503, /expected 200 .*got 503 P-1001/],
  [
    'another body',
    (status: number) => [status, '{"isError":true}'] as const,
    200,
    /got 200 \{"isError":true\}/,
  ],
])('ends at the first response with %s, and says so', async (_, respond, status, message) => {
  const [code, body] = respond(status)
  const running = await drive((request, response) => {
    request.resume()
    response.writeHead(code).end(body)
  })
  await expect(running.ended).rejects.toThrow(message)
  expect(running.responses()).toBe(0)
})

it('ends when the server hangs up', async () => {
  const running = await drive(request => request.socket.destroy())
  await expect(running.ended).rejects.toThrow(
    /closed a connection of the load test unexpectedly|ECONNRESET|EPIPE/,
  )
})

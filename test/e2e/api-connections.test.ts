/** `connections` of an API's rules, over the wire: HTTP/2 for proxied calls and tools, pipelining for tools. */
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Http2Backend, http2Backend } from '../contract/egress/http2-backend.ts'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const CALLS = 30
let world: TwoTenants
let http2: Http2Backend
let multiplexed: RuledApi
let pipelined: RuledApi
const inFlight = new Map<Socket, number>()
let maxInFlight = 0
const http1 = createServer((request, response) => {
  const { socket } = request
  inFlight.set(socket, (inFlight.get(socket) ?? 0) + 1)
  maxInFlight = Math.max(maxInFlight, inFlight.get(socket)!)
  setTimeout(() => {
    inFlight.set(socket, inFlight.get(socket)! - 1)
    response.end('things')
  }, 20)
})

beforeAll(async () => {
  world = await twoTenants()
  await new Promise<void>(resolve => http1.listen(0, '127.0.0.1', resolve))
  http2 = await http2Backend({ isTls: false, maxStreams: 100 }, stream => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' })
    stream.pipe(stream)
  })
  multiplexed = await publishRuled(world, 'multiplexed', http2.url, { connections: { http2: true } })
  const url = `http://127.0.0.1:${(http1.address() as AddressInfo).port}`
  pipelined = await publishRuled(world, 'pipelined', url, { connections: { pipelining: 4 } })
})
afterAll(async () => {
  await world?.stop()
  await http2?.close()
  http1.close()
})

const repeat = <R>(call: () => Promise<R>): Promise<R[]> => Promise.all(Array.from({ length: CALLS }, call))

it('carries proxied calls, with their bodies, and tool calls over one HTTP/2 connection', async () => {
  const proxied = await repeat(() => multiplexed.call('/things', { method: 'POST', body: 'abc' }))
  expect(proxied.map(({ status, text }) => [status, text])).toEqual(Array(CALLS).fill([200, 'abc']))
  const tools = await repeat(() => multiplexed.callTool('list', {}))
  expect(tools.map(({ status }) => status)).toEqual(Array(CALLS).fill(200))
  expect(http2.connections()).toBe(1)
  expect(http2.requests.length).toBe(2 * CALLS)
})

it('pipelines tool calls, not proxied calls', async () => {
  const proxied = await repeat(() => pipelined.call('/things'))
  expect(proxied.map(({ status }) => status)).toEqual(Array(CALLS).fill(200))
  expect(maxInFlight).toBe(1)
  const tools = await repeat(() => pipelined.callTool('list', {}))
  expect(tools.every(({ text }) => text.includes('things'))).toBe(true)
  expect(maxInFlight).toBeGreaterThan(1)
  expect(maxInFlight).toBeLessThanOrEqual(4)
})

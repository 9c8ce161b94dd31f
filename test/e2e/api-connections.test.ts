/** `connections` of an API's rules, over the wire: HTTP/2 for proxied calls and tools. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Http2Backend, http2Backend } from '../contract/egress/http2-backend.ts'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const CALLS = 30
let world: TwoTenants
let http2: Http2Backend
let multiplexed: RuledApi

beforeAll(async () => {
  world = await twoTenants()
  http2 = await http2Backend({ isTls: false, maxStreams: 100 }, stream => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' })
    stream.pipe(stream)
  })
  multiplexed = await publishRuled(world, 'multiplexed', http2.url, { connections: { http2: true } })
})
afterAll(async () => {
  await world?.stop()
  await http2?.close()
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

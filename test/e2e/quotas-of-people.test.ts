/** The default plan counts people: one user with many registered clients has one quota, in calls, headers, statistics and reset. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Deployment, deploy, rpc } from '../fixtures/deployment.ts'
import { registeredToken } from '../fixtures/registered-client.ts'

const CLIENTS = 6
/** Of the default plan, a minute. */
const LIMIT = 5
const CALL = { name: 'shop_getProduct', arguments: { productId: 'P-1001' } }

let gateway: Deployment
let admin: string
let tokens: readonly string[]

beforeAll(async () => {
  gateway = await deploy({ REGISTRATION_RATE_PER_MIN: '0' })
  admin = await gateway.token('demo-admin')
  const registered: string[] = []
  for (let at = 0; at < CLIENTS; at++) registered.push(await registeredToken(gateway, 'developer'))
  tokens = registered
}, 120_000)
afterAll(() => gateway?.stop())

const asAdmin = async (method: string, path: string) => {
  const response = await fetch(`${gateway.url}/admin/quotas${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}` },
  })
  return response.json()
}
const call = (token: string) => gateway.post('/mcp/tools/call', CALL, token)

it('five calls of all clients together are served, and each further one is refused, over REST and JSON-RPC', async () => {
  expect(new Set(tokens).size).toBe(CLIENTS)
  const replies = []
  for (const token of tokens) replies.push(await call(token))
  expect(replies.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), 429])
  expect(replies.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual([
    '4',
    '3',
    '2',
    '1',
    '0',
    '0',
  ])
  for (const token of tokens) {
    expect((await call(token)).status).toBe(429)
    const { json } = await gateway.post('/mcp', rpc('tools/call', CALL), token)
    expect(json.result._meta['toolgate.dev/error'].error).toBe('quota_exceeded')
  }
})

it('another user has another quota, and so has a client that calls for itself', async () => {
  expect((await call(await registeredToken(gateway, 'admin'))).status).toBe(200)
  expect((await call(await gateway.token('demo-agent'))).status).toBe(200)
})

it('statistics show the user with the limits of the default plan, and a reset is of the user', async () => {
  const shown = (await asAdmin('GET', '/user:developer')) as { counters: object[] }
  expect(shown).toMatchObject({
    counters: [
      {
        tenant: 'acme',
        plan: null,
        limits_known: true,
        minute: { count: LIMIT, limit: LIMIT },
        day: { count: LIMIT },
      },
    ],
  })
  expect(await asAdmin('POST', '/user:developer/reset')).toMatchObject({
    consumer_id: 'user:developer',
    daily_count: 0,
    daily_limit: 10_000,
  })
})

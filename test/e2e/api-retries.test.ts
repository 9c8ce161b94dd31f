/** Retries of one API, over the wire: what is retried, how often, within which time, and never a body that was streamed. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import {
  hangs,
  resets,
  type ScriptedBackend,
  sends,
  sendsGarbage,
  startScriptedBackend,
} from '../fixtures/scripted-backend.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const POST = { method: 'POST', body: 'abc' }

// the first delay is 1,000 to 2,000 ms, the second 2,000 to 4,000 ms: two attempts fit at any delay, with 900 ms for the second, and a third never does
const SHORT_MS = 2_900

let world: TwoTenants
let backend: ScriptedBackend
let retried: RuledApi
let posts: RuledApi
let plain: RuledApi
let short: RuledApi
let spent: RuledApi

beforeAll(async () => {
  world = await twoTenants()
  backend = await startScriptedBackend()
  // the circuit stays closed, so that each test begins with the same upstream
  const circuit_breaker = { opens_after: 1000 }
  const retry = { max_attempts: 3, statuses: [503], first_delay_ms: 5, max_delay_ms: 20, budget_percent: 100 }
  const publish = (name: string, rules: object | null) => publishRuled(world, name, backend.url, rules)
  retried = await publish('retried', { retry, circuit_breaker })
  posts = await publish('posts', { retry: { ...retry, methods: ['GET', 'POST'] }, circuit_breaker })
  plain = await publish('plain', null)
  short = await publish('short', {
    timeout_ms: SHORT_MS,
    retry: { ...retry, max_attempts: 5, first_delay_ms: 2_000, max_delay_ms: 4_000 },
    circuit_breaker,
  })
  spent = await publish('spent', { retry: { ...retry, budget_percent: 1 }, circuit_breaker })
})
beforeEach(() => {
  backend.seen.length = 0
  backend.script(sends(200))
})
afterAll(async () => {
  await world?.stop()
  await backend?.close()
})

describe.each([
  ['a proxied call', (api: RuledApi) => api.call('/things')],
  ['a tool call', (api: RuledApi) => api.callTool('list', {})],
])('%s', (_, call) => {
  it('that is reset twice has the third response', async () => {
    backend.script(resets, resets, sends(200, 'third'))
    const { status, text } = await call(retried)
    expect([status, text.includes('third'), backend.seen.length]).toEqual([200, true, 3])
  })

  it('is attempted as often as the rule says', async () => {
    backend.script(sends(503, 'still busy'))
    const { text } = await call(retried)
    expect([text.includes('still busy'), backend.seen.length]).toEqual([true, 3])
  })

  it('is not retried for other statuses, nor for a response that is not HTTP', async () => {
    backend.script(sends(500, 'no'))
    await call(retried)
    backend.script(sendsGarbage)
    await call(retried)
    expect(backend.seen).toHaveLength(2)
  })

  it('of an API without the rule is not retried', async () => {
    backend.script(resets, sends(200))
    await call(plain)
    expect(backend.seen).toHaveLength(1)
  })
})

it('a method that is not idempotent is retried only where the rule names it', async () => {
  backend.script(sends(503))
  await retried.callTool('add', { body: { a: 1 } })
  expect(backend.seen).toHaveLength(1)
  backend.script(sends(503), sends(200, 'added'))
  const { text } = await posts.callTool('add', { body: { a: 1 } })
  expect(text).toContain('added')
  expect(backend.seen.map(({ body }) => body)).toEqual(['{"a":1}', '{"a":1}', '{"a":1}'])
})

it('a body that was streamed is never sent again', async () => {
  backend.script(sends(503, 'busy'), sends(200))
  expect((await posts.call('', POST)).status).toBe(503)
  backend.script(resets, sends(200))
  expect((await posts.call('', POST)).status).toBe(502)
  expect(backend.seen).toHaveLength(2)
})

it('the timeout covers all attempts and their delays', async () => {
  backend.script(sends(503, 'busy'))
  const since = performance.now()
  expect((await short.call()).status).toBe(503)
  expect(backend.seen).toHaveLength(2)
  backend.script(resets, hangs)
  expect((await short.call()).status).toBe(504)
  expect(performance.now() - since).toBeGreaterThanOrEqual(SHORT_MS)
})

it('retries stay within the budget, however many calls fail', async () => {
  backend.script(sends(503))
  for (let at = 0; at < 40; at++) await spent.call()
  // ten in reserve, and one per hundred calls
  expect(backend.seen.length).toBe(40 + 10)
})

it.each([
  [{ max_attempts: 9 }, 'max_attempts'],
  [{ statuses: [404] }, 'statuses[0]'],
  [{ first_delay_ms: 100, max_delay_ms: 50 }, 'first_delay_ms'],
  [{ methods: [] }, 'methods'],
  [{ attempts: 2 }, ''],
])('%j is refused', async (retry, field) => {
  const body = { name: 'no', path: '/no', upstream_url: backend.url, traffic: { retry } }
  const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
  expect([reply.status, reply.json.error.details[0].field]).toEqual([
    400,
    expect.stringContaining(`traffic.retry${field === '' ? '' : '.'}${field}`),
  ])
})

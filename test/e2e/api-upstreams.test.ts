/** Several addresses of one upstream, over the wire: even turns by weight, health checks, ejection of one that fails, and 503 when none is left. */
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import {
  type Behaviour,
  hangs,
  resets,
  type ScriptedBackend,
  sends,
  sendsAfter,
  startScriptedBackend,
} from '../fixtures/scripted-backend.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const SOON = { timeout: 20_000, interval: 20 }
const CHECK = '/healthz'
const CHECKED_EVERY_MS = 500

let world: TwoTenants
let backends: ScriptedBackend[]
/** What each says to health checks. */
const checks: Behaviour[] = []
let weighted: RuledApi
let checked: RuledApi
let ejecting: RuledApi
let guarded: RuledApi

/** Health checks are responded to apart from the script of the calls. */
function respond(at: number, behaviour: Behaviour): void {
  backends[at]!.script((request, response, body) =>
    (request.url === CHECK ? checks[at]! : behaviour)(request, response, body),
  )
}
const requestsOf = ({ seen }: ScriptedBackend) => seen.filter(({ url }) => url !== CHECK)
const callsOf = (backend: ScriptedBackend) => requestsOf(backend).length

beforeAll(async () => {
  world = await twoTenants()
  backends = await Promise.all([0, 0, 0].map(() => startScriptedBackend()))
  for (let at = 0; at < 3; at++) {
    checks[at] = sends(200)
    respond(at, sends(200))
  }
  const [a, b, c] = backends.map(({ url }) => url)
  const gone = 'http://127.0.0.1:9'
  const addresses = [
    { url: a, weight: 3 },
    { url: `${b}/`, weight: 2 },
    { url: c, weight: 1 },
  ]
  const retry = { max_attempts: 3, first_delay_ms: 1, budget_percent: 100 }
  const circuit_breaker = { opens_after: 1, open_ms: 60_000, max_open_ms: 60_000 }
  // as long as it may be: a check on a busy machine takes its time
  const health_check = {
    path: CHECK,
    interval_ms: CHECKED_EVERY_MS,
    timeout_ms: CHECKED_EVERY_MS,
    unhealthy_after: 2,
  }
  weighted = await publishRuled(world, 'weighted', gone, { upstreams: { addresses } })
  checked = await publishRuled(world, 'checked', gone, { upstreams: { addresses, health_check } })
  ejecting = await publishRuled(world, 'ejecting', gone, { upstreams: { addresses }, retry, circuit_breaker })
  // the metadata service of a cloud is never reachable
  const blocked = [{ url: 'http://169.254.169.254' }]
  guarded = await publishRuled(world, 'guarded', a!, { upstreams: { addresses: blocked } })
})
beforeEach(() => {
  for (const { seen } of backends) seen.length = 0
})
afterAll(async () => {
  await world?.stop()
  await Promise.all((backends ?? []).map(backend => backend.close()))
})

it('calls are spread by weight, exactly and in even turns, with path and query', async () => {
  for (let at = 0; at < 60; at++) expect((await weighted.call(`/p${at}?q=1`)).status).toBe(200)
  expect(backends.map(callsOf)).toEqual([30, 20, 10])
  expect(requestsOf(backends[2]!)[0]!.url).toMatch(/^\/p\d+\?q=1$/)
  // the heaviest never waits for more than two others
  const turns = requestsOf(backends[0]!).map(({ url }) => Number(/\d+/.exec(url)![0]))
  expect(Math.max(...turns.slice(1).map((turn, at) => turn - turns[at]!))).toBeLessThanOrEqual(3)
})

it('tools are spread in the same way', async () => {
  for (let at = 0; at < 12; at++) await weighted.callTool('list', {})
  expect(backends.map(callsOf)).toEqual([6, 4, 2])
  expect(requestsOf(backends[0]!)[0]!.url).toBe('/things')
})

it('an address that fails its health checks gets no calls until it passes one', async () => {
  checks[0] = sends(500)
  const counted = async () => {
    for (const { seen } of backends) seen.length = 0
    for (let at = 0; at < 6; at++) expect((await checked.call()).status).toBe(200)
    return backends.map(callsOf)
  }
  await vi.waitUntil(async () => (await counted())[0] === 0, SOON)
  expect(await counted()).toEqual([0, 4, 2])
  checks[0] = sends(204)
  await vi.waitUntil(async () => (await counted())[0]! > 0, SOON)
})

it('checks that hang or are slow fail; with no address left calls get 503 with Retry-After, and recover', async () => {
  checks[0] = hangs
  checks[1] = resets
  checks[2] = sendsAfter(2000)
  await vi.waitUntil(async () => (await checked.call()).status === 503, SOON)
  const refused = await checked.call()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await checked.callTool('list', {})).status).toBe(503)
  for (let at = 0; at < 3; at++) checks[at] = sends(200)
  await vi.waitUntil(async () => (await checked.call()).status === 200, SOON)
})

it('each address is checked about once per interval', async () => {
  for (const { seen } of backends) seen.length = 0
  const beganAtMs = performance.now()
  await new Promise(resolve => setTimeout(resolve, 3000))
  const intervals = (performance.now() - beganAtMs) / CHECKED_EVERY_MS
  for (const backend of backends) {
    const count = backend.seen.filter(({ url }) => url === CHECK).length
    expect(count).toBeGreaterThanOrEqual(1)
    expect(count).toBeLessThanOrEqual(Math.ceil(intervals) + 1)
  }
})

it('a call whose address resets is retried at another, and the circuit leaves the first out', async () => {
  respond(0, resets)
  for (let at = 0; at < 12; at++) expect((await ejecting.call()).status).toBe(200)
  expect(callsOf(backends[0]!)).toBe(1)
  respond(1, resets)
  respond(2, resets)
  const statuses = []
  for (let at = 0; at < 4; at++) statuses.push((await ejecting.call()).status)
  expect(statuses.at(-1)).toBe(503)
  for (let at = 0; at < 3; at++) respond(at, sends(200))
})

it('an address that the egress rules block is not called', async () => {
  const refused = await guarded.call()
  expect([refused.status, refused.text.includes('169.254')]).toEqual([502, false])
})

it.each([
  [{ addresses: [] }, 'addresses'],
  [{ addresses: [{ url: 'ftp://a.example' }] }, 'addresses[0].url'],
  [{ addresses: [{ url: 'http://a.example?x=1' }] }, 'addresses[0].url'],
  [{ addresses: [{ url: 'http://a.example', weight: 0 }] }, 'addresses[0].weight'],
  [{ addresses: [{ url: 'http://a.example' }, { url: 'http://a.example' }] }, 'addresses'],
  [
    { addresses: [{ url: 'http://a.example' }], health_check: { interval_ms: 100 } },
    'health_check.interval_ms',
  ],
  [{ addresses: [{ url: 'http://a.example' }], health_check: { path: 'up' } }, 'health_check.path'],
])('%j is refused', async (upstreams, field) => {
  const body = { name: 'no', path: '/no', upstream_url: 'http://127.0.0.1:9', traffic: { upstreams } }
  const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
  expect([reply.status, reply.json.error.details[0].field]).toEqual([400, `traffic.upstreams.${field}`])
})

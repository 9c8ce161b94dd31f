/** The circuit breaker of one API with its own settings, over the wire: when it opens, for how long, and that others are not affected. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import { resets, type ScriptedBackend, sends, startScriptedBackend } from '../fixtures/scripted-backend.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

/** Long enough for calls on a machine that stalls for a second. */
const OPEN_MS = 3000

let world: TwoTenants
let backend: ScriptedBackend
let strict: RuledApi
let lenient: RuledApi
let plain: RuledApi

beforeAll(async () => {
  world = await twoTenants()
  backend = await startScriptedBackend()
  const rule = { opens_after: 2, open_ms: OPEN_MS, max_open_ms: 60_000, statuses: [500] }
  strict = await publishRuled(world, 'strict', backend.url, { circuit_breaker: rule })
  const often = { ...rule, opens_after: 20, statuses: [] }
  lenient = await publishRuled(world, 'lenient', backend.url, { circuit_breaker: often })
  plain = await publishRuled(world, 'plain', backend.url, null)
})
afterAll(async () => {
  await world?.stop()
  await backend?.close()
})

/** Whole seconds of a time that began after `sinceMs`. */
function remaining(ms: number, sinceMs: number): RegExp {
  const leastMs = Math.max(1, ms - (performance.now() - sinceMs))
  const secs = []
  for (let one = Math.ceil(leastMs / 1000); one <= Math.ceil(ms / 1000); one++) secs.push(one)
  return new RegExp(`^(?:${secs.join('|')})$`)
}

it('opens after as many failures as the rule says, by its statuses too, for proxied calls and tools alike', async () => {
  backend.script(sends(500))
  expect((await strict.call()).status).toBe(500)
  const failedAtMs = performance.now()
  await strict.callTool('list', {})
  expect(backend.seen).toHaveLength(2)
  backend.script(sends(200))
  const refused = await strict.call()
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toMatch(remaining(OPEN_MS, failedAtMs))
  const tool = await strict.callTool('list', {})
  expect(tool.status).toBe(503)
  expect(tool.text).toContain('several times in a row')
  expect(backend.seen).toHaveLength(2)
})

it('does not concern other APIs of the same upstream', async () => {
  const statuses = [await lenient.call(), await plain.call()].map(({ status }) => status)
  expect(statuses).toEqual([200, 200])
})

it('closes with a probe that succeeds, and opens again with one that fails', async () => {
  backend.script(resets)
  const soon = { timeout: 20_000, interval: 50 }
  let probedAtMs = 0
  const isProbe = async () => {
    probedAtMs = performance.now()
    return (await strict.call()).status === 502
  }
  await vi.waitUntil(isProbe, soon)
  const refused = await strict.call()
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toMatch(remaining(2 * OPEN_MS, probedAtMs))
  backend.script(sends(200))
  await vi.waitUntil(async () => (await strict.call()).status === 200, soon)
})

it('a count that is higher lets more failures pass', async () => {
  backend.script(resets)
  for (let at = 0; at < 19; at++) expect((await lenient.call()).status).toBe(502)
  backend.script(sends(200))
  expect((await lenient.call()).status).toBe(200)
})

it.each([
  [{ opens_after: 0 }, 'opens_after'],
  [{ open_ms: 5000, max_open_ms: 1000 }, 'open_ms'],
  [{ statuses: [200] }, 'statuses[0]'],
])('%j is refused', async (rule, field) => {
  const traffic = { circuit_breaker: rule }
  const body = { name: 'no', path: '/no', upstream_url: backend.url, traffic }
  const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
  const faults = reply.json.error.details.map((one: { field: string }) => one.field)
  expect([reply.status, faults]).toEqual([400, [`traffic.circuit_breaker.${field}`]])
})

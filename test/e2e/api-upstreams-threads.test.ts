/** Health of addresses in a gateway of several threads: one thread checks, and all of them leave out what it found. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { fresh } from '../fixtures/fresh-connection.ts'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import { type ScriptedBackend, sends, startScriptedBackend } from '../fixtures/scripted-backend.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

const CHECK = '/healthz'
const CHECKED_MS = 3000

let world: TwoTenants
let failing: ScriptedBackend
let healthy: ScriptedBackend
let api: RuledApi
let status = 200

beforeAll(async () => {
  world = await twoTenants({ WORKERS: '3' })
  failing = await startScriptedBackend()
  healthy = await startScriptedBackend()
  failing.script((request, response, body) =>
    sends(request.url === CHECK ? status : 200)(request, response, body),
  )
  const addresses = [failing, healthy].map(({ url }) => ({ url }))
  const health_check = { path: CHECK, interval_ms: 500, timeout_ms: 400, unhealthy_after: 1 }
  api = await publishRuled(world, 'threads', 'http://127.0.0.1:9', { upstreams: { addresses, health_check } })
}, 120_000)
afterAll(async () => {
  await world?.stop()
  await failing?.close()
  await healthy?.close()
})

/** Each over its own connection, so that every thread serves some. @returns how many reached the address that fails */
async function reached(calls: number): Promise<number> {
  const before = failing.seen.filter(({ url }) => url !== CHECK).length
  const all = Array.from({ length: calls }, () => fresh(api.url, { method: 'GET', token: world.root }))
  for (const { status: got } of await Promise.all(all)) expect(got).toBe(200)
  return failing.seen.filter(({ url }) => url !== CHECK).length - before
}

it('every thread leaves out an address that fails its checks, and takes it back', async () => {
  await vi.waitUntil(async () => (await reached(30)) > 5, { timeout: 30_000, interval: 50 })
  status = 500
  await vi.waitUntil(async () => (await reached(30)) === 0, { timeout: 30_000, interval: 50 })
  expect(await reached(60)).toBe(0)
  status = 200
  await vi.waitUntil(async () => (await reached(30)) > 5, { timeout: 30_000, interval: 50 })
})

it('one thread checks for all of them', async () => {
  healthy.seen.length = 0
  await new Promise(resolve => setTimeout(resolve, CHECKED_MS))
  const checks = healthy.seen.filter(({ url }) => url === CHECK).length
  expect(checks).toBeGreaterThanOrEqual(1)
  // three threads would check eighteen times
  expect(checks).toBeLessThanOrEqual(9)
})

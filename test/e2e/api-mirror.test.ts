/** Mirrored requests of one API, over the wire: what is copied, and that a second upstream that fails or hangs is not noticed by callers. */
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
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

const SOON = { timeout: 10_000, interval: 10 }

let world: TwoTenants
let backend: ScriptedBackend
let second: ScriptedBackend
let all: RuledApi
let half: RuledApi

beforeAll(async () => {
  world = await twoTenants()
  backend = await startScriptedBackend()
  second = await startScriptedBackend()
  const mirror = { url: `${second.url}/shadow`, percent: 100, methods: ['GET', 'POST'], max_body_bytes: 100 }
  const request_headers = { set: { 'x-team': 'orders' }, remove: [] }
  all = await publishRuled(world, 'all', backend.url, { mirror, request_headers })
  half = await publishRuled(world, 'half', backend.url, { mirror: { url: second.url, percent: 50 } })
})
beforeEach(() => {
  backend.seen.length = 0
  second.seen.length = 0
  backend.script(sends(200, 'first'))
  second.script(sends(200, 'second'))
})
afterAll(async () => {
  await world?.stop()
  await backend?.close()
  await second?.close()
})

it('copies method, path, query, headers and body, without credentials', async () => {
  const headers = { 'x-other': 'kept', cookie: 'a=b', 'x-api-key': 'tgk_secret' }
  const read = await all.call('/p?q=1', { headers: { 'x-other': 'kept', cookie: 'a=b' } })
  expect([read.status, read.text]).toEqual([200, 'first'])
  await all.call('/p', { method: 'POST', body: '{"a":1}', headers: { ...headers, 'x-api-key': '' } })
  await all.callTool('add', { body: { b: 2 } })
  await vi.waitUntil(() => second.seen.length === 3, SOON)
  const copies = second.seen.map(({ method, url, body }) => `${method} ${url} ${body}`)
  expect(copies.sort()).toEqual([
    'GET /shadow/p?q=1 ',
    'POST /shadow/p {"a":1}',
    'POST /shadow/things {"b":2}',
  ])
  const copied = second.seen.find(({ url }) => url === '/shadow/p?q=1')!
  expect(copied.headers).toMatchObject({ 'x-other': 'kept', 'x-team': 'orders', 'x-tenant-id': 'beta' })
  for (const { headers: sent } of second.seen) {
    for (const name of ['authorization', 'cookie', 'x-api-key']) expect(sent).not.toHaveProperty(name)
    expect(JSON.stringify(sent)).not.toContain(world.root)
  }
})

it('copies the part of the calls that the rule names', async () => {
  for (let at = 0; at < 100; at++) await half.call()
  await vi.waitUntil(() => second.seen.length > 10, SOON)
  expect(second.seen.length).toBeLessThan(90)
})

it('does not copy other methods and longer bodies', async () => {
  await all.call('', { method: 'PUT', body: 'x' })
  await all.call('', { method: 'POST', body: 'x'.repeat(101) })
  await all.call('', { method: 'POST', body: 'x'.repeat(100) })
  await vi.waitUntil(() => second.seen.length > 0, SOON)
  expect(second.seen.map(({ body }) => body.length)).toEqual([100])
  expect(backend.seen.map(({ body }) => body.length)).toEqual([1, 101, 100])
})

it.each([
  ['resets', resets],
  ['sends garbage', sendsGarbage],
  ['fails', sends(500)],
])('a second upstream that %s is not noticed', async (_, behaviour) => {
  second.script(behaviour)
  for (let at = 0; at < 5; at++) expect((await all.call()).text).toBe('first')
})

it('one that hangs delays no call, and gets a bounded number of copies', async () => {
  second.script(hangs)
  const since = performance.now()
  for (let at = 0; at < 40; at++) expect((await all.call()).text).toBe('first')
  expect(performance.now() - since).toBeLessThan(20_000)
  expect(backend.seen).toHaveLength(40)
  expect(second.seen.length).toBeLessThanOrEqual(16 * Math.ceil((performance.now() - since) / 5000))
})

it('one that cannot be reached is not noticed', async () => {
  const mirror = { url: 'http://127.0.0.1:9', percent: 100 }
  const gone = await publishRuled(world, 'gone', backend.url, { mirror })
  expect((await gone.call()).text).toBe('first')
  const blocked = { url: 'http://169.254.169.254', percent: 100 }
  const guarded = await publishRuled(world, 'guarded', backend.url, { mirror: blocked })
  expect((await guarded.call()).text).toBe('first')
})

it.each([
  [{ url: 'http://a.example' }, 'percent'],
  [{ url: 'http://a.example', percent: 0 }, 'percent'],
  [{ url: 'a.example', percent: 1 }, 'url'],
  [{ url: 'http://a.example', percent: 1, max_body_bytes: 2 ** 21 }, 'max_body_bytes'],
])('%j is refused', async (mirror, field) => {
  const body = { name: 'no', path: '/no', upstream_url: backend.url, traffic: { mirror } }
  const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
  expect([reply.status, reply.json.error.details[0].field]).toEqual([400, `traffic.mirror.${field}`])
})

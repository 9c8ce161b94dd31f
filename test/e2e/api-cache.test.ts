/** The cache of one API, over the wire: what is used again, for whom, for how long, and what ends it. */
import { createHash } from 'node:crypto'
import { get as getOver } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { publishRuled, type RuledApi } from '../fixtures/ruled-apis.ts'
import {
  type Behaviour,
  resets,
  type ScriptedBackend,
  sends,
  startScriptedBackend,
} from '../fixtures/scripted-backend.ts'
import { type TwoTenants, twoTenants } from '../fixtures/two-tenants.ts'

let world: TwoTenants
let backend: ScriptedBackend
let own: RuledApi
let shared: RuledApi
let preset: RuledApi
let other: string
/** Another one in each test. */
let path: string

beforeAll(async () => {
  world = await twoTenants()
  backend = await startScriptedBackend()
  const publish = (name: string, cache: object | null) => publishRuled(world, name, backend.url, { cache })
  own = await publish('own', {})
  shared = await publish('shared', { scope: 'public', max_response_bytes: 1000 })
  preset = await publish('preset', { default_age_secs: 3, max_age_secs: 3 })
  other = await world.token({ id: 'other', roles: ['cpi-admin'] })
})
beforeEach(context => {
  path = `/${createHash('sha256').update(context.task.id).digest('hex')}`
  backend.seen.length = 0
})
afterAll(async () => {
  await world?.stop()
  await backend?.close()
})

/** Responds with a number that differs each time. */
function counts(headers: Record<string, string>): Behaviour {
  let count = 0
  return (_, response) => response.writeHead(200, headers).end(`number ${++count}`)
}
const get = (api: RuledApi, headers: Record<string, string> = {}, at = path) => api.call(at, { headers })
async function texts(api: RuledApi, ...requests: readonly Record<string, string>[]) {
  const all: string[] = []
  for (const headers of requests) all.push((await get(api, headers)).text.replace('number ', ''))
  return all.join(' ')
}

it('a fresh response is used again, with its age', async () => {
  backend.script(counts({ 'cache-control': 'max-age=60', age: '5', 'x-kept': 'yes' }))
  const first = await get(own)
  expect([first.headers.get('age'), first.headers.get('cache-status')]).toEqual(['5', null])
  const second = await get(own)
  expect([second.status, second.text, second.headers.get('x-kept')]).toEqual([200, 'number 1', 'yes'])
  expect(Number(second.headers.get('age'))).toBeGreaterThanOrEqual(5)
  expect(second.headers.get('cache-status')).toMatch(/^toolgate; hit; ttl=\d+$/)
  expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect((await get(own, {}, `${path}?q=1`)).text).toBe('number 2')
  expect(backend.seen).toHaveLength(2)
})

it('one caller never gets the response of another, unless the rule says public and the upstream too', async () => {
  const asOther = { authorization: `Bearer ${other}` }
  backend.script(counts({ 'cache-control': 'public, max-age=60' }))
  expect(await texts(own, {}, asOther, {}, asOther)).toBe('1 2 1 2')
  expect(await texts(shared, {}, asOther, {})).toBe('3 3 3')
})

it.each([
  ['max-age=60', 'a call with a credential'],
  ['private, max-age=60', 'private'],
])('%s is not shared: %s', async control => {
  backend.script(counts({ 'cache-control': control }))
  expect(await texts(shared, {}, {})).toBe('1 2')
})

describe('not kept', () => {
  it.each([
    ['no-store', { 'cache-control': 'no-store, max-age=60' }],
    ['no time and no validator', {}],
    ['a cookie', { 'cache-control': 'max-age=60', 'set-cookie': 'a=b' }],
    ['Vary: *', { 'cache-control': 'max-age=60', vary: '*' }],
    ['Vary on what the gateway sets', { 'cache-control': 'max-age=60', vary: 'X-Forwarded-For' }],
    ['an end in the past', { expires: 'Thu, 01 Jan 1970 00:00:00 GMT' }],
    ['an end that is not a date', { expires: '0' }],
    ['an age beyond its time', { 'cache-control': 'max-age=60', age: '61' }],
  ])('%s', async (_, headers) => {
    backend.script(counts(headers as never))
    expect(await texts(own, {}, {})).toBe('1 2')
  })

  it('a status other than 200', async () => {
    backend.script(sends(404, 'none', { 'cache-control': 'max-age=60' }))
    await get(own)
    await get(own)
    expect(backend.seen).toHaveLength(2)
  })

  it('a response that ends early', async () => {
    backend.script(
      (_, response) => {
        response.writeHead(200, { 'cache-control': 'max-age=60', 'content-length': '100000' })
        response.write('x'.repeat(50_000))
        setTimeout(() => response.destroy(), 50)
      },
      counts({ 'cache-control': 'max-age=60' }),
    )
    await expect(get(own)).rejects.toThrow()
    expect((await get(own)).text).toBe('number 1')
  })

  it('a response longer than the rule allows, which arrives whole', async () => {
    const long = 'x'.repeat(1001)
    backend.script(sends(200, long, { 'cache-control': 'public, max-age=60' }))
    expect((await get(shared)).text).toBe(long)
    expect((await get(shared)).text).toBe(long)
    expect(backend.seen).toHaveLength(2)
  })
})

it('variants are kept apart by what the response varies on', async () => {
  backend.script(counts({ 'cache-control': 'max-age=60', vary: 'Accept-Language, Authorization' }))
  const [de, en] = [{ 'accept-language': 'de' }, { 'accept-language': 'en' }]
  expect(await texts(own, de, en, de, en)).toBe('1 2 1 2')
})

it('a response that varies on the origin of the page is for that origin', async () => {
  backend.script(counts({ 'cache-control': 'public, max-age=60', vary: 'Origin' }))
  const [one, two] = [{ origin: 'https://one.example' }, { origin: 'https://two.example' }]
  expect(await texts(own, one, two, one, {}, two)).toBe('1 2 1 3 2')
  expect(await texts(shared, one, two, one)).toBe('4 5 4')
  expect(backend.seen.map(({ headers }) => headers.origin)).toContain(two.origin)
})

describe('what reaches the upstream is in the key, or the same for all', () => {
  /** Headers by which frameworks choose a response, an address or a language, and an unknown one. */
  const NAMES =
    'host accept accept-charset accept-encoding accept-language origin referer user-agent dnt priority range pragma cookie forwarded via from ' +
    'x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-port x-forwarded-prefix x-forwarded-scheme x-host x-original-url x-rewrite-url ' +
    'x-http-method-override x-real-ip x-requested-with x-api-version x-unknown cf-connecting-ip sec-ch-ua sec-fetch-site ' +
    'content-type content-language if-none-match if-modified-since if-match traceparent tracestate baggage x-request-id cache-control'
  /** They name the call in a fixed form (W3C Trace Context, `isRequestId`), and the upstream is asked once for all. */
  const IDS = new Set(['traceparent', 'x-request-id'])
  const VALUES: Record<string, readonly [string, string]> = {
    traceparent: [`00-${'a'.repeat(32)}-${'a'.repeat(16)}-01`, `00-${'b'.repeat(32)}-${'b'.repeat(16)}-01`],
    host: ['192.0.2.66', 'evil.localhost:1'],
    tracestate: ['canary=1', 'canary=2'],
    baggage: ['canary=1', 'canary=2'],
    range: ['bytes=0-1', 'bytes=0-2'],
  }
  const valuesOf = (name: string) => VALUES[name] ?? (['canary-1', 'canary-2'] as const)

  function send(at: string, headers: Record<string, string>, localAddress = '127.0.0.1'): Promise<string> {
    return new Promise((resolve, reject) => {
      // the local address is one of IPv4, and `localhost` has others
      getOver(shared.url + at, { headers, localAddress, family: 4 }, response =>
        resolve(textOf(response)),
      ).on('error', reject)
    })
  }

  it.each(NAMES.split(' '))('%s', async name => {
    backend.script(counts({ 'cache-control': 'public, max-age=60' }))
    const [one, two] = valuesOf(name)
    const texts = [await send(path, { [name]: one }), await send(path, { [name]: two })]
    const sent = backend.seen.map(({ headers }) => headers)
    expect(sent.length).toBeGreaterThan(0)
    if (texts[0] !== texts[1]) return
    // used again: the upstream must not have seen what the first caller chose
    expect(sent).toHaveLength(1)
    const chosen = Object.entries(sent[0]!).filter(
      ([header, value]) => !IDS.has(header) && [String(value)].flat().some(text => text.includes(one)),
    )
    expect(chosen).toEqual([])
  })

  it('the address of the client', async () => {
    backend.script(counts({ 'cache-control': 'public, max-age=60' }))
    expect([await send(path, {}), await send(path, {}, '127.0.0.2')]).toEqual(['number 1', 'number 1'])
    expect(JSON.stringify(backend.seen[0]!.headers)).not.toContain('"x-forwarded-for"')
    expect(backend.seen[0]!.headers['x-forwarded-host']).toBe(new URL(world.gateway.url).host)
  })

  it('browsers of several makes share a response', async () => {
    backend.script(counts({ 'cache-control': 'public, max-age=60' }))
    const agents = [
      { 'user-agent': 'a', 'sec-ch-ua': 'a' },
      { 'user-agent': 'b', referer: 'https://x.example/' },
    ]
    expect(await texts(shared, ...agents)).toBe('1 1')
  })
})

it('requests say how fresh a response must be', async () => {
  backend.script(counts({ 'cache-control': 'max-age=60' }))
  expect(await texts(own, {}, { 'cache-control': 'no-cache' }, {})).toBe('1 2 2')
  expect(await texts(own, { 'cache-control': 'no-store' }, {})).toBe('3 2')
  expect(await texts(own, { 'cache-control': 'min-fresh=120' }, {})).toBe('4 4')
  expect(await texts(own, { range: 'bytes=0-1' }, {})).toBe('5 4')
})

it('a stale response is confirmed by the upstream, with the tag of the gateway', async () => {
  const headers = { 'cache-control': 'no-cache', etag: '"v1"' }
  backend.script(sends(200, 'body', headers), sends(304, '', { etag: '"v1"', 'x-new': '1' }))
  await get(own)
  const confirmed = await get(own)
  expect([confirmed.status, confirmed.text, confirmed.headers.get('x-new')]).toEqual([200, 'body', '1'])
  expect(confirmed.headers.get('cache-status')).toContain('fwd-status=304')
  expect(backend.seen[1]!.headers['if-none-match']).toBe('"v1"')
  backend.script(sends(200, 'changed', { ...headers, etag: '"v2"' }))
  expect((await get(own)).text).toBe('changed')
})

it('a client that has the response already gets 304', async () => {
  backend.script(counts({ 'cache-control': 'max-age=60', etag: 'W/"v1"' }))
  await get(own)
  // fetch adds no-cache to a request with a condition, unless another directive is set
  const asked = { 'cache-control': 'max-age=60' }
  const same = await get(own, { ...asked, 'if-none-match': '"v0", "v1"' })
  expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', 'W/"v1"'])
  expect((await get(own, { ...asked, 'if-none-match': '"v2"' })).text).toBe('number 1')
})

it('an upstream that fails gets no stale response in its place', async () => {
  backend.script(sends(200, 'body', { 'cache-control': 'no-cache', etag: '"v1"' }), resets)
  await get(own)
  expect((await get(own)).status).toBe(502)
})

it('a change at the address ends what was kept of it', async () => {
  backend.script(counts({ 'cache-control': 'max-age=60' }))
  await get(own)
  expect((await own.call(path, { method: 'PUT', body: 'x' })).text).toBe('number 2')
  expect((await get(own)).text).toBe('number 3')
})

it('the rule gives a time where the response names none, and bounds every time', async () => {
  backend.script(counts({}))
  expect(await texts(preset, {}, {})).toBe('1 1')
  backend.script(counts({ 'cache-control': 'max-age=60' }))
  const long = async () => (await get(preset, {}, `${path}/long`)).text
  expect([await long(), await long()]).toEqual(['number 1', 'number 1'])
  await new Promise(resolve => setTimeout(resolve, 3100))
  expect(await texts(preset, {})).toBe('2')
  expect(await long()).toBe('number 3')
})

it('a change of the API and an order of an administrator end all that was kept', async () => {
  backend.script(counts({ 'cache-control': 'public, max-age=600' }))
  expect(await texts(shared, {}, {})).toBe('1 1')
  const cleared = await world.call('POST', '/admin/cache/clear', world.root)
  expect(cleared.json.cleared.responses).toBeGreaterThanOrEqual(1)
  expect(await texts(shared, {}, {})).toBe('2 2')
  const rules = { traffic: { cache: { scope: 'public' }, timeout_ms: 5000 } }
  const changed = await world.api('PATCH', `/tenants/${world.beta}/apis/${shared.id}`, world.root, rules)
  expect(changed.status, changed.text).toBe(200)
  await vi.waitUntil(async () => (await texts(shared, {})) === '3', { timeout: 15_000, interval: 20 })
})

it.each([
  [{ scope: 'all' }, 'scope'],
  [{ max_age_secs: 100_000 }, 'max_age_secs'],
  [{ default_age_secs: 100, max_age_secs: 10 }, 'default_age_secs'],
  [{ max_response_bytes: 2 ** 21 }, 'max_response_bytes'],
])('%j is refused', async (cache, field) => {
  const body = { name: 'no', path: '/no', upstream_url: backend.url, traffic: { cache } }
  const reply = await world.api('POST', `/tenants/${world.beta}/apis`, world.root, body)
  expect([reply.status, reply.json.error.details[0].field]).toEqual([400, `traffic.cache.${field}`])
})

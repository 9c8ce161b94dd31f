/** Which responses the cache of an API keeps when an address is changed or the cache is cleared: none of it that the upstream began before. */
import { expect, it } from 'vitest'
import { ApiCache } from '../../../../../src/data-plane/proxy/api-cache/api-cache.ts'
import type { CompiledApi } from '../../../../../src/data-plane/snapshot/snapshot.ts'
import type { EgressStreamResponse } from '../../../../../src/net/egress/egress.ts'
import { exchange } from '../../../../fixtures/exchange.ts'

const HEADERS = { 'cache-control': 'max-age=60', etag: '"v1"' }
const cacheRule = { scope: 'public', defaultAgeSecs: null, maxAgeSecs: 60, maxResponseBytes: 1000 }
const api = { id: 'api', index: 1, tenant: 'acme', traffic: { cache: cacheRule } } as unknown as CompiledApi

function response(status: number, body: Promise<string>, headers: Record<string, string> = HEADERS) {
  return {
    kind: 'response',
    status,
    headers: {
      raw: Object.entries(headers).flat(),
      get: name => headers[name as keyof typeof headers] ?? '',
    },
    body: {
      async *[Symbol.asyncIterator]() {
        yield Buffer.from(await body)
      },
      destroy() {},
    },
  } satisfies EgressStreamResponse
}

function aCache() {
  const cache = new ApiCache(() => 0)
  cache.retain([api])
  const send = (method: string, reply: EgressStreamResponse, key = '/a') =>
    cache.stream(
      { api, header: () => '', exchange: exchange() },
      { method, url: key, headers: [] } as never,
      async () => reply,
    )
  const textOf = async (outcome: Awaited<ReturnType<typeof send>>): Promise<string> => {
    let text = ''
    for await (const piece of (outcome as EgressStreamResponse).body) text += Buffer.from(piece).toString()
    return text
  }
  const at = (text: string) => response(200, Promise.resolve(text))
  return {
    cache,
    send,
    textOf,
    put: (key?: string) => send('PUT', at('changed'), key),
    get: async (text: string) => textOf(await send('GET', at(text))),
  }
}

/** A response whose body ends when `finish` is called. */
function slow() {
  let finish!: (text: string) => void
  const body = new Promise<string>(resolve => {
    finish = resolve
  })
  return { reply: response(200, body), finish }
}

it('a response that is older than any lifetime is not used again (RFC 9111, section 1.2.2)', async () => {
  const { send, textOf } = aCache()
  const old = { 'cache-control': 'max-age=60', age: '9999999999' }
  const get = async (text: string) => textOf(await send('GET', response(200, Promise.resolve(text), old)))
  expect([await get('first'), await get('second')]).toEqual(['first', 'second'])
})

it.each<[string, (of: ReturnType<typeof aCache>) => unknown, string]>([
  ['a change at the address', ({ put }) => put(), 'new'],
  ['an order to clear the cache', ({ cache }) => cache.clear(), 'new'],
  ['a change at another address', ({ put }) => put('/b'), 'old'],
])('a response that began before %s', async (_, change, kept) => {
  const of = aCache()
  const { reply, finish } = slow()
  const text = of.send('GET', reply).then(of.textOf)
  await change(of)
  finish('old')
  expect(await text).toBe('old')
  expect(await of.get('new')).toBe(kept)
  // what began after the change is kept
  expect(await of.get('newer')).toBe(kept)
})

it('a confirmation that the upstream began before a change does not store the old response again', async () => {
  const of = aCache()
  const stale = { 'cache-control': 'no-cache', etag: '"v1"' }
  await of.textOf(await of.send('GET', response(200, Promise.resolve('old'), stale)))
  let respond!: (reply: EgressStreamResponse) => void
  const later = new Promise<EgressStreamResponse>(resolve => {
    respond = resolve
  })
  const text = of.send('GET', later as never).then(of.textOf)
  await of.put()
  respond(response(304, Promise.resolve('')))
  expect(await text).toBe('old')
  expect(await of.get('new')).toBe('new')
})

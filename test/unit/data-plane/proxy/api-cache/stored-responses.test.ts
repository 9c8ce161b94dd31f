/** Stored responses: bounds per tenant and in all, callers and variants, and the removal of those of an API. It does not decide which may be stored. */
import { expect, it } from 'vitest'
import { StoredResponses } from '../../../../../src/data-plane/proxy/api-cache/stored-responses.ts'
import type { CompiledApi } from '../../../../../src/data-plane/snapshot/snapshot.ts'

const MIB = 1024 * 1024

function anApi(tenant: string): CompiledApi {
  return { id: `api-${tenant}`, index: 1, tenant, prefix: '/t', upstreamUrl: '' } as CompiledApi
}

function keep(stored: StoredResponses, api: CompiledApi, key: string, bytes: number, caller = ''): void {
  const response = { status: 200, headers: [], receivedAtMs: 0, ageSecs: 0, freshSecs: 60 }
  stored.keep(api, key, caller, { ...response, body: new Uint8Array(bytes) })
}

it('a tenant keeps at most 8 MiB, the least recently used go first', () => {
  const stored = new StoredResponses()
  const api = anApi('a')
  for (let at = 0; at < 7; at++) keep(stored, api, `/${at}`, MIB)
  expect(stored.find(api, '/0', '')).toBeDefined()
  for (let at = 7; at < 9; at++) keep(stored, api, `/${at}`, MIB)
  const found = Array.from({ length: 9 }, (_, at) => stored.find(api, `/${at}`, '') !== undefined)
  expect(found).toEqual([true, false, false, true, true, true, true, true, true])
  expect(stored.bytes).toBeLessThanOrEqual(8 * MIB)
})

it('many small responses count with what they take beside their bodies', () => {
  const stored = new StoredResponses()
  const api = anApi('a')
  for (let at = 0; at < 30_000; at++) keep(stored, api, `/${at}`, 0)
  expect(stored.bytes).toBeLessThanOrEqual(8 * MIB)
  // each is an object with several others, a key and headers
  expect(stored.clear()).toBeLessThan((8 * MIB) / 400)
  stored.keep(api, '/', '', {
    status: 200,
    headers: ['x-long', 'x'.repeat(MIB)],
    receivedAtMs: 0,
    ageSecs: 0,
    freshSecs: 60,
    body: new Uint8Array(0),
  })
  expect(stored.bytes).toBeGreaterThanOrEqual(MIB)
})

it('in all at most 64 MiB are kept; a tenant with few responses keeps them', () => {
  const stored = new StoredResponses()
  const small = anApi('small')
  keep(stored, small, '/', 1000)
  for (let tenant = 0; tenant < 12; tenant++) {
    const api = anApi(`large-${tenant}`)
    for (let at = 0; at < 7; at++) keep(stored, api, `/${at}`, MIB)
  }
  expect(stored.bytes).toBeLessThanOrEqual(64 * MIB)
  expect(stored.find(small, '/', '')).toBeDefined()
})

it('variants of an address are apart, and end together', () => {
  const stored = new StoredResponses()
  const api = anApi('a')
  keep(stored, api, '/', 1, 'one')
  keep(stored, api, '/', 2, 'two')
  expect([stored.find(api, '/', 'one')!.body.length, stored.find(api, '/', 'two')!.body.length]).toEqual([
    1, 2,
  ])
  expect(stored.find(api, '/', '')).toBeUndefined()
  stored.invalidate(api, '/')
  expect([stored.find(api, '/', 'one'), stored.bytes]).toEqual([undefined, 0])
})

it('responses of an API that has changed are removed, and their bytes with them', () => {
  const stored = new StoredResponses()
  const [kept, gone] = [anApi('a'), anApi('a')]
  keep(stored, kept, '/', 100)
  keep(stored, gone, '/', 100)
  const before = stored.bytes
  stored.retain(new Set([kept]))
  expect(stored.find(gone, '/', '')).toBeUndefined()
  expect(stored.bytes).toBe(before / 2)
  expect(stored.clear()).toBe(1)
  expect(stored.bytes).toBe(0)
})

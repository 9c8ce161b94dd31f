/** Addresses of an upstream in response headers, as the client of a proxied API receives them. */
import { describe, expect, it } from 'vitest'
import { mapAddresses } from '../../../../src/data-plane/proxy/returned-addresses.ts'
import type { CompiledApi } from '../../../../src/data-plane/snapshot/snapshot.ts'

const api = {
  prefix: '/t/acme/shop',
  upstreamUrl: 'http://10.0.0.7:8080/base',
  traffic: { upstreams: { addresses: [{ url: 'http://10.0.0.8:8080/other' }] } },
} as unknown as CompiledApi

/** As the upstream names it, and as the client calls it. */
const ADDRESSES: readonly (readonly [string, string])[] = [
  ['http://10.0.0.7:8080/base/items/1', '/t/acme/shop/items/1'],
  ['HTTP://10.0.0.7:8080/base/items/1?a=b%20c#d', '/t/acme/shop/items/1?a=b%20c#d'],
  ['http://10.0.0.7:8080/base', '/t/acme/shop'],
  ['http://10.0.0.7:8080/base?page=2', '/t/acme/shop?page=2'],
  ['//10.0.0.7:8080/base/x', '/t/acme/shop/x'],
  ['http://user:secret@10.0.0.7:8080/base/x', '/t/acme/shop/x'],
  ['http://10.0.0.8:8080/other/x', '/t/acme/shop/x'],
  ['/base/items/1', '/t/acme/shop/items/1'],
  ['/base/group%2Fproject', '/t/acme/shop/group%2Fproject'],
  ['/other/x', '/t/acme/shop/x'],
  ['/t/acme/shop/items/1', '/t/acme/shop/items/1'],
  ['items/2', 'items/2'],
  ['?page=2', '?page=2'],
  ['#part', '#part'],
  ['', ''],
  ['/basement/x', '/basement/x'],
  ['http://10.0.0.7:8080/basement', 'http://10.0.0.7:8080/basement'],
  ['http://10.0.0.7:9090/base/x', 'http://10.0.0.7:9090/base/x'],
  ['https://login.example/base', 'https://login.example/base'],
  ['http://[::', 'http://[::'],
  ['mailto:a@example.com', 'mailto:a@example.com'],
]

describe.each(ADDRESSES)('the address %s', (given, mapped) => {
  it.each(['location', 'content-location'])(`is %s: ${mapped}`, name => {
    expect(mapAddresses(name, given, api)).toBe(mapped)
  })

  it(`is the target of a link: ${mapped}`, () => {
    const links = (address: string) =>
      `<${address}>; rel="next"; title="a <${given}> b", <${address}>; rel=last`
    expect(mapAddresses('link', links(given), api)).toBe(
      `<${mapped}>; rel="next"; title="a <${given}> b", <${mapped}>; rel=last`,
    )
  })

  it.each(['', '"', "'"])(`is refreshed to, in %s: ${mapped}`, quote => {
    const refresh = (address: string) => `5; URL=${quote}${address}${quote}`
    expect(mapAddresses('refresh', refresh(given), api)).toBe(refresh(mapped))
  })

  it('is unchanged in another header', () => {
    expect(mapAddresses('x-next', given, api)).toBe(given)
  })
})

describe('an upstream without a path', () => {
  const bare = { ...api, upstreamUrl: 'http://10.0.0.7', traffic: undefined }

  it.each([
    ['http://10.0.0.7/items', '/t/acme/shop/items'],
    ['http://10.0.0.7:80', '/t/acme/shop/'],
    ['/items', '/t/acme/shop/items'],
    ['/', '/t/acme/shop/'],
  ])('has %s mapped to %s', (given, mapped) => {
    expect(mapAddresses('location', given, bare)).toBe(mapped)
  })
})

describe('a cookie', () => {
  it.each([
    ['a=1; Path=/base/admin; Secure', 'a=1; Secure; Path=/t/acme/shop/admin'],
    ['a=1; Path=/base', 'a=1; Path=/t/acme/shop'],
    ['a=1; Path=/', 'a=1; Path=/t/acme/shop'],
    ['a=1; path=/t/acme/shop/admin', 'a=1; Path=/t/acme/shop/admin'],
    ['a=1; Path=elsewhere; Domain=10.0.0.7', 'a=1; Path=/t/acme/shop'],
    ['a=1', 'a=1; Path=/t/acme/shop'],
  ])('%s is for %s', (given, mapped) => {
    expect(mapAddresses('set-cookie', given, api)).toBe(mapped)
  })
})

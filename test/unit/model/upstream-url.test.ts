/** What addresses of upstreams name, in every spelling, and which references in responses stay within them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isUnixUrl,
  originOf,
  readUnixUrl,
  resolveWithin,
  socketPathFault,
  socketPathOf,
  unixOrigin,
} from '../../../src/model/upstream-url.ts'

const SHOP = 'http+unix://%2Frun%2Fshop.sock'

describe('the origin of an address', () => {
  it.each([
    ['http://A.example:80/x?y#z', 'http://a.example'],
    ['https://a.example:8443', 'https://a.example:8443'],
    [SHOP, SHOP],
    [`${SHOP}/a/b?c`, SHOP],
    ['HTTP+Unix://%2frun/', 'http+unix://%2Frun'],
    ['http+unix://%2frun%2F%73hop.sock/', SHOP],
    ['http+unix://%2Frun%2Fa%20b%2B%C3%A9.sock', 'http+unix://%2Frun%2Fa%20b%2B%C3%A9.sock'],
  ])('of %s is %s', (url, origin) => {
    expect(originOf(url)).toBe(origin)
  })

  it.each([
    '',
    'x',
    'file:///run/shop.sock',
    'data:,x',
    'unix:/run/shop.sock',
    'http+unix:///run',
    `${SHOP}:80`,
  ])('is missing for %j', url => {
    expect(originOf(url)).toBeUndefined()
  })

  it('gives the path of the socket back, whatever it holds', () => {
    const segment = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .map(text => text.replaceAll('/', '_'))
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), segments => {
        const path = `/${segments.join('/')}`
        fc.pre(socketPathFault(path) === undefined)
        const origin = unixOrigin(path)
        expect(isUnixUrl(origin)).toBe(true)
        expect(readUnixUrl(`${origin}/base?q`)).toEqual({ origin })
        expect(originOf(origin)).toBe(origin)
        expect(socketPathOf(origin)).toBe(path)
      }),
    )
    expect(socketPathOf('http://a.example')).toBeUndefined()
  })
})

describe('the path of a socket', () => {
  it.each([
    ['', 'is not absolute'],
    ['run/x', 'is not absolute'],
    ['/', 'empty segment'],
    ['/run//x', 'empty segment'],
    ['/run/x/', 'empty segment'],
    ['/run/../x', '".."'],
    ['/run/.', '"."'],
    ['/run/x\0', 'NUL'],
    ['/run/\n', 'control character'],
    [`/${'x'.repeat(107)}`, 'has 108 bytes, and the system allows 107'],
    [`/${'é'.repeat(54)}`, 'has 109 bytes'],
  ])('%j is refused: %s', (path, reason) => {
    expect(socketPathFault(path)).toContain(reason)
    expect(readUnixUrl(unixOrigin(path))).toBeTypeOf('string')
  })

  it('may be as long as the system allows, and hold dots and spaces', () => {
    for (const path of [`/${'x'.repeat(106)}`, '/run/.hidden', '/run/...', '/run/a b', '/run/a:b@c?d#e'])
      expect(socketPathFault(path), path).toBeUndefined()
  })
})

describe('a reference in a response', () => {
  it.each([
    ['/jobs/1?x=1', `${SHOP}/base/v1`, `${SHOP}/jobs/1?x=1`],
    ['1', `${SHOP}/jobs/`, `${SHOP}/jobs/1`],
    ['../../../x', `${SHOP}/a/b`, `${SHOP}/x`],
    [`${SHOP}/jobs/1`, `${SHOP}/a`, `${SHOP}/jobs/1`],
    // the upstream was called with Host: localhost
    ['http://localhost/jobs/1?a=b', `${SHOP}/a`, `${SHOP}/jobs/1?a=b`],
    ['/jobs/1', 'https://a.example/b', 'https://a.example/jobs/1'],
  ])('%s of %s is %s', (reference, base, url) => {
    expect(resolveWithin(reference, base)).toBe(url)
  })

  it.each([
    ['http+unix://%2Frun%2Fdocker.sock/v1', `${SHOP}/a`],
    ['//%2Frun%2Fdocker.sock/v1', `${SHOP}/a`],
    ['data:,x', `${SHOP}/a`],
    ['file:///etc/passwd', `${SHOP}/a`],
    ['http://localhost:8080/x', `${SHOP}/a`],
    ['https://localhost/x', `${SHOP}/a`],
    ['http://192.0.2.1/', `${SHOP}/a`],
    [`${SHOP}/x`, 'http://localhost/a'],
    ['http://b.example/x', 'http://a.example/y'],
    ['http://a.example:81/x', 'http://a.example/y'],
    ['http://[', SHOP],
  ])('%s leads away from %s', (reference, base) => {
    expect(resolveWithin(reference, base)).toBeUndefined()
  })
})

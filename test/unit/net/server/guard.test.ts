/** The guard by itself: what it lets through, what it refuses, and in which order it judges. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkHead, type RequestHead, statusOfRefusal } from '../../../../src/net/server/guard.ts'
import {
  DEFAULT_LISTENER_LIMITS as LIMITS,
  type ListenerRefusal,
} from '../../../../src/net/server/listener.ts'

function request(rest: Partial<RequestHead> & { readonly headers?: readonly string[] }): RequestHead {
  const { headers = [], ...given } = rest
  return { method: 'GET', path: '/', query: '', rawHeaders: ['host', 'a', ...headers], ...given }
}

const check = (head: RequestHead, allowChunked = false): number | ListenerRefusal =>
  checkHead(head, LIMITS, allowChunked)

describe('checkHead', () => {
  it('gives the declared length of a body', () => {
    expect(check(request({}))).toBe(0)
    expect(check(request({ method: 'POST' }))).toBe(0)
    expect(check(request({ method: 'POST', headers: ['content-length', '0'] }))).toBe(0)
    expect(check(request({ method: 'PUT', headers: ['content-length', '000123456'] }))).toBe(123_456)
    expect(check(request({ method: 'PATCH', headers: ['transfer-encoding', 'chunked'] }), true)).toBe(-1)
  })

  it.each([
    'a',
    'A.b-c_d',
    'localhost:8080',
    '10.0.0.1',
    '[::1]',
    '[::1]:443',
    'a%20b',
    'xn--bcher-kva.example',
  ])('takes the host %s', host => expect(check(request({ rawHeaders: ['host', host] }))).toBe(0))

  it.each([
    '',
    ' ',
    'a b',
    'a/b',
    'a@b',
    'a?b',
    'a#b',
    'a:b',
    'a:123456',
    '[::1',
    '::1]',
    'a,\tb',
    'a\\b',
    'a"b',
    'é',
  ])('refuses the host %j', host => expect(check(request({ rawHeaders: ['host', host] }))).toBe('host'))

  it('takes a sound host again, and no unsound one for it', () => {
    expect(check(request({ rawHeaders: ['host', 'again'] }))).toBe(0)
    expect(check(request({ rawHeaders: ['host', 'again'] }))).toBe(0)
    expect(check(request({ rawHeaders: ['host', 'again '] }))).toBe('host')
    expect(check(request({ rawHeaders: ['host', 'again', 'host', 'again'] }))).toBe('host')
    expect(check(request({ rawHeaders: [] }))).toBe('host')
  })

  it('refuses every body that could be framed in two ways', () => {
    const post = (...headers: string[]) => check(request({ method: 'POST', headers }), true)
    expect(post('content-length', '1', 'content-length', '1')).toBe('content_length')
    expect(post('transfer-encoding', 'chunked', 'transfer-encoding', 'chunked')).toBe('transfer_encoding')
    expect(post('content-length', '1', 'transfer-encoding', 'chunked')).toBe('transfer_encoding')
    for (const coding of ['', 'gzip', 'Chunked', 'chunked ', 'gzip, chunked', 'identity']) {
      expect(post('transfer-encoding', coding)).toBe('transfer_encoding')
    }
    expect(check(request({ method: 'POST', headers: ['transfer-encoding', 'chunked'] }))).toBe(
      'transfer_encoding',
    )
  })

  it('takes a length of digits alone', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), text => {
        const verdict = check(request({ method: 'POST', headers: ['content-length', text] }))
        expect(verdict).toBe(/^[0-9]{1,9}$/.test(text) ? Number(text) : 'content_length')
      }),
      { numRuns: 2_000 },
    )
  })

  it('refuses a body on a method that has none, and methods it does not know', () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
      expect(check(request({ method, headers: ['content-length', '1'] }))).toBe('unexpected_body')
      expect(check(request({ method, headers: ['transfer-encoding', 'chunked'] }), true)).toBe(
        'unexpected_body',
      )
      expect(check(request({ method, headers: ['content-length', '0'] }))).toBe(0)
    }
    for (const method of ['', 'get', 'TRACE', 'CONNECT', 'PRI', 'constructor']) {
      expect(check(request({ method }))).toBe('method')
    }
  })

  it('takes header names that are tokens alone', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 6 }), name => {
        const isToken = /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)
        const verdict = check(request({ headers: [name, 'x'] }))
        if (name === 'host') expect(verdict).toBe('host')
        else expect(verdict).toBe(isToken ? 0 : 'header_name')
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes targets of visible ASCII from the root', () => {
    for (const path of ['/', '//', '/%2F/..', "/a-._~!$&'()*+,;=:@b", '/"<>\\^`{|}']) {
      expect(check(request({ path }))).toBe(0)
    }
    for (const path of ['', 'a', '*', 'http://a/', '/a b', '/a#b', '/\x7f', '/é', '/\ufffd', '/\n']) {
      expect(check(request({ path }))).toBe('url')
    }
    expect(check(request({ query: 'a=ü' }))).toBe('url')
    expect(check(request({ query: 'a=b?c&%00' }))).toBe(0)
  })

  it('bounds URL and headers, and judges size only of a head that is framed soundly', () => {
    expect(check(request({ path: `/${'a'.repeat(8191)}` }))).toBe(0)
    expect(check(request({ path: `/${'a'.repeat(4095)}`, query: 'b'.repeat(4096) }))).toBe(0)
    expect(check(request({ path: `/${'a'.repeat(4096)}`, query: 'b'.repeat(4096) }))).toBe('url_too_long')
    expect(check(request({ headers: ['x', 'a'.repeat(16_384 - 6)] }))).toBe(0)
    expect(check(request({ headers: ['x', 'a'.repeat(16_384 - 5)] }))).toBe('headers_too_large')
    const many = Array.from({ length: 63 }, (_, n) => [`x-${n}`, '']).flat()
    expect(check(request({ headers: many }))).toBe(0)
    expect(check(request({ headers: [...many, 'y', ''] }))).toBe('headers_too_large')
    expect(check(request({ path: `/${'a'.repeat(9000)}`, rawHeaders: ['host', 'a', 'host', 'a'] }))).toBe(
      'host',
    )
  })

  it('responds only to what was too big, and to an invalid Host (RFC 9112 §3.2)', () => {
    expect(statusOfRefusal('url_too_long')).toBe(414)
    expect(statusOfRefusal('headers_too_large')).toBe(431)
    expect(statusOfRefusal('host')).toBe(400)
    for (const refusal of ['content_length', 'transfer_encoding', 'method', 'url'] as const) {
      expect(statusOfRefusal(refusal)).toBeUndefined()
    }
  })
})

/** Path normalization by tables: the examples of RFC 3986, and what must be refused. Each holds for the kernel and for its twin. */
import { describe, expect, test } from 'vitest'
import {
  MAX_PATH_BYTES,
  PATH_BACKSLASH,
  PATH_BAD_CHARACTER,
  PATH_BAD_ESCAPE,
  PATH_CONTROL,
  PATH_ENCODED_SLASH,
  PATH_INVALID_UTF8,
  PATH_NOT_ABSOLUTE,
  PATH_NOT_ASCII,
  PATH_NUL,
  PATH_TOO_LONG,
} from '../../../../src/data-plane/kernel/abi.ts'
import { bothEngines, engineOf } from './engines.ts'

const LONG = 'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(3)

/** RFC 3986 §5.4: the references of its tables, merged with the base path /b/c/d;p (§5.2.3). */
const REFERENCES: readonly (readonly [string, string])[] = [
  ['/b/c/g', '/b/c/g'],
  ['/b/c/./g', '/b/c/g'],
  ['/b/c/g/', '/b/c/g/'],
  ['/b/c/g;x', '/b/c/g;x'],
  ['/b/c/.', '/b/c/'],
  ['/b/c/./', '/b/c/'],
  ['/b/c/..', '/b/'],
  ['/b/c/../', '/b/'],
  ['/b/c/../g', '/b/g'],
  ['/b/c/../..', '/'],
  ['/b/c/../../', '/'],
  ['/b/c/../../g', '/g'],
  ['/b/c/../../../g', '/g'],
  ['/b/c/../../../../g', '/g'],
  ['/./g', '/g'],
  ['/../g', '/g'],
  ['/b/c/g.', '/b/c/g.'],
  ['/b/c/.g', '/b/c/.g'],
  ['/b/c/g..', '/b/c/g..'],
  ['/b/c/..g', '/b/c/..g'],
  ['/b/c/./../g', '/b/g'],
  ['/b/c/./g/.', '/b/c/g/'],
  ['/b/c/g/./h', '/b/c/g/h'],
  ['/b/c/g/../h', '/b/c/h'],
  ['/b/c/g;x=1/./y', '/b/c/g;x=1/y'],
  ['/b/c/g;x=1/../y', '/b/c/y'],
  // §5.2.4's worked example, and §6.2.2's
  ['/a/b/c/./../../g', '/a/g'],
  ['/./b/../b/%63/%7bfoo%7d', '/b/c/%7Bfoo%7D'],
]

const REWRITTEN: readonly (readonly [string, string])[] = [
  ['/', '/'],
  ['//', '/'],
  ['///', '/'],
  ['//a///b//', '/a/b/'],
  ['/a//../b', '/b'],
  ['/a/b//../', '/a/'],
  ['/.', '/'],
  ['/..', '/'],
  ['/../..', '/'],
  ['/...', '/...'],
  ['/.../..', '/'],
  ['/.well-known/x', '/.well-known/x'],
  ['/%2e', '/'],
  ['/a/%2E%2e/b', '/b'],
  ['/a/.%2e/b', '/b'],
  ['/%7Euser/%41%62', '/~user/Ab'],
  ['/a%20b/%c3%a9', '/a%20b/%C3%A9'],
  ['/%E2%82%AC/%f0%9f%98%80', '/%E2%82%AC/%F0%9F%98%80'],
  ['/%252e%252e/%252F', '/%252e%252e/%252F'],
  ['/%3f%23%25', '/%3F%23%25'],
  ['/a|b/[x]/{y}', '/a%7Cb/%5Bx%5D/%7By%7D'],
  ['/"<>^`', '/%22%3C%3E%5E%60'],
  ["/!$&'()*+,;=:@-._~", "/!$&'()*+,;=:@-._~"],
  [`/${LONG}/../${LONG}/./x`, `/${LONG}/x`],
  [`/${LONG}//${LONG}`, `/${LONG}/${LONG}`],
  [`/${'../'.repeat(2000)}a`, '/a'],
  [`/${'a/'.repeat(1000)}${'../'.repeat(999)}b`, '/a/b'],
]

const REFUSED: readonly (readonly [string, number, number])[] = [
  ['', PATH_NOT_ABSOLUTE, 0],
  ['a/b', PATH_NOT_ABSOLUTE, 0],
  ['*', PATH_NOT_ABSOLUTE, 0],
  ['\\a', PATH_NOT_ABSOLUTE, 0],
  ['http://x/', PATH_NOT_ABSOLUTE, 0],
  ['/a%2Fb', PATH_ENCODED_SLASH, 2],
  ['/a/..%2f..%2fetc', PATH_ENCODED_SLASH, 5],
  ['/a\\..\\b', PATH_BACKSLASH, 2],
  ['/a%5cb', PATH_BACKSLASH, 2],
  ['/a%00', PATH_NUL, 2],
  ['/a\0.json', PATH_NUL, 2],
  ['/a%0d%0aSet-Cookie:', PATH_CONTROL, 2],
  ['/a\r\nb', PATH_CONTROL, 2],
  ['/\x7f', PATH_CONTROL, 1],
  ['/%7F', PATH_CONTROL, 1],
  ['/%C2%85', PATH_CONTROL, 1],
  ['/a%', PATH_BAD_ESCAPE, 2],
  ['/a%4', PATH_BAD_ESCAPE, 2],
  ['/a%zz', PATH_BAD_ESCAPE, 2],
  ['/a%4g', PATH_BAD_ESCAPE, 2],
  ['/a%%41', PATH_BAD_ESCAPE, 2],
  ['/a%u0041', PATH_BAD_ESCAPE, 2],
  // Overlong, surrogate, above U+10FFFF, continuation alone, cut short (RFC 3629 §10)
  ['/%C0%AF', PATH_INVALID_UTF8, 1],
  ['/%c0%ae%c0%ae/', PATH_INVALID_UTF8, 1],
  ['/%E0%80%AF', PATH_INVALID_UTF8, 1],
  ['/%F0%80%80%AF', PATH_INVALID_UTF8, 1],
  ['/%ED%A0%80', PATH_INVALID_UTF8, 1],
  ['/%F4%90%80%80', PATH_INVALID_UTF8, 1],
  ['/%F8%88%80%80%80', PATH_INVALID_UTF8, 1],
  ['/%80', PATH_INVALID_UTF8, 1],
  ['/%FF', PATH_INVALID_UTF8, 1],
  ['/%C3', PATH_INVALID_UTF8, 1],
  ['/%C3%', PATH_INVALID_UTF8, 1],
  ['/%C3%28', PATH_INVALID_UTF8, 1],
  ['/%E2%82/', PATH_INVALID_UTF8, 1],
  ['/%C3a9', PATH_INVALID_UTF8, 1],
  ['/caf\u00e9', PATH_NOT_ASCII, 4],
  // Code units whose low byte is a slash, a dot, or zero: cut to a byte they would be something else
  ['/a\u012fb', PATH_NOT_ASCII, 2],
  ['/\u012e\u012e/a', PATH_NOT_ASCII, 1],
  ['/a\u0100', PATH_NOT_ASCII, 2],
  [`/${LONG}\u012f`, PATH_NOT_ASCII, LONG.length + 1],
  ['/\ud800', PATH_NOT_ASCII, 1],
  ['/\u{1f600}', PATH_NOT_ASCII, 1],
  ['/a b', PATH_BAD_CHARACTER, 2],
  ['/a?b', PATH_BAD_CHARACTER, 2],
  ['/a#b', PATH_BAD_CHARACTER, 2],
  // A fault is a fault though a dot segment would have taken it away, and the first one counts
  ['/%00/../a', PATH_NUL, 1],
  ['/%zz%00', PATH_BAD_ESCAPE, 1],
  [`/${'a'.repeat(MAX_PATH_BYTES - 2)}\u20ac`, PATH_NOT_ASCII, MAX_PATH_BYTES - 1],
  [`/${'a'.repeat(MAX_PATH_BYTES)}`, PATH_TOO_LONG, MAX_PATH_BYTES],
  ['x'.repeat(100_000), PATH_TOO_LONG, MAX_PATH_BYTES],
]

describe.each(bothEngines().map(kernel => [engineOf(kernel), kernel] as const))('%s', (_, kernel) => {
  test.each([...REFERENCES, ...REWRITTEN])('%j becomes %j', (path, canonical) => {
    expect(kernel.normalize(path)).toBe(0)
    expect(kernel.normalizedPath()).toBe(canonical)
    expect(kernel.normalizedPath(path)).toBe(canonical)
  })

  test.each(REFUSED.map(([path, status, at]) => [path.slice(0, 60), status, at, path] as const))(
    '%j is refused with %i at %i',
    (_shown, status, at, path) => {
      expect(kernel.normalize(path)).toBe(status)
      expect(kernel.refusedAt).toBe(at)
      expect(kernel.normalizedPath()).toBe('')
    },
  )

  test('the longest path is taken, also when every byte of it grows to three', () => {
    const clean = `/${'a'.repeat(MAX_PATH_BYTES - 1)}`
    expect([kernel.normalize(clean), kernel.normalizedPath()]).toEqual([0, clean])
    const grown = `/${'|'.repeat(MAX_PATH_BYTES - 1)}`
    expect([kernel.normalize(grown), kernel.normalizedPath()]).toEqual([
      0,
      `/${'%7C'.repeat(MAX_PATH_BYTES - 1)}`,
    ])
  })

  test('what a longer path left in the window is not read', () => {
    for (const left of ['/%00', '//..', '/\\\\\\', '/aaa']) {
      for (let length = 1; length < 80; length++) {
        kernel.normalize(`/${left.repeat(40)}`)
        const path = `/${'a'.repeat(length - 1)}`
        expect([kernel.normalize(path), kernel.normalizedPath()]).toEqual([0, path])
      }
    }
  })

  test('a refused path matches nothing', () => {
    kernel.loadRoutes([{ method: '*', pattern: '/*' }])
    expect(kernel.admit('/a', 0)).toBe(0)
    expect(kernel.admit('/a%00', 0)).toBe(PATH_NUL)
    expect(kernel.match(0)).toBe(-1)
    expect([kernel.paramCount, kernel.param(0)]).toEqual([0, ''])
  })
})

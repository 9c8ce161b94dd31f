/** Route match by cases: order of precedence, methods, catch-all, and what a table refuses. Each holds for the kernel and for its twin. */
import { describe, expect, test } from 'vitest'
import {
  MAX_PARAMS,
  MAX_SEGMENTS,
  METHOD_DELETE,
  METHOD_GET,
  METHOD_NOT_ALLOWED,
  METHOD_OTHER,
  METHOD_POST,
  METHOD_PUT,
  NOT_FOUND,
} from '../../../../src/data-plane/kernel/abi.ts'
import { createKernel } from '../../../../src/data-plane/kernel/create.ts'
import type { Kernel } from '../../../../src/data-plane/kernel/kernel.ts'
import { methodNames, methodNumber } from '../../../../src/data-plane/kernel/method.ts'
import { bothEngines, engineOf } from './engines.ts'

const LONG = 'a-segment-that-is-longer-than-sixteen-bytes'

const TABLE = [
  { method: 'GET', pattern: '/' },
  { method: 'GET', pattern: '/a' },
  { method: 'GET', pattern: '/a/' },
  { method: 'GET', pattern: '/a/{id}' },
  { method: 'DELETE', pattern: '/a/{id}' },
  { method: 'GET', pattern: '/a/me' },
  { method: 'GET', pattern: '/a/{id}/b/{part}/c' },
  { method: 'POST', pattern: '/a/me/b/x/c' },
  { method: 'GET', pattern: '/t/*' },
  { method: '*', pattern: '/t/x/*' },
  { method: 'GET', pattern: '/t/x/y' },
  { method: 'POST', pattern: '/{any}/deep/{er}' },
  { method: 'GET', pattern: `/${LONG}/{id}/${LONG}` },
  { method: 'GET', pattern: `/${LONG.replace('longer', 'lunger')}/{id}` },
  { method: 'GET', pattern: '/%C3%A9/{x}' },
] as const

const row = (method: string, pattern: string): number =>
  TABLE.findIndex(route => route.method === method && route.pattern === pattern)

function found(kernel: Kernel, method: string, path: string) {
  const route = kernel.admit(path, methodNumber(method))
  return [route, ...Array.from({ length: kernel.paramCount }, (_, i) => kernel.param(i))]
}

describe.each(bothEngines({ routes: TABLE }).map(kernel => [engineOf(kernel), kernel] as const))(
  '%s',
  (_, kernel) => {
    test.each([
      ['GET', '/', '/', []],
      ['GET', '/a', '/a', []],
      ['GET', '/a/', '/a/', []],
      ['GET', '/a/7', '/a/{id}', ['7']],
      ['DELETE', '/a/7', '/a/{id}', ['7']],
      ['GET', '/a/me', '/a/me', []],
      ['GET', '/a/me/b/x/c', '/a/{id}/b/{part}/c', ['me', 'x']],
      ['POST', '/a/me/b/x/c', '/a/me/b/x/c', []],
      ['GET', '/a/12/b/34/c', '/a/{id}/b/{part}/c', ['12', '34']],
      ['GET', '/t/', '/t/*', ['']],
      ['GET', '/t/q/r/', '/t/*', ['q/r/']],
      ['GET', `/t/${'s/'.repeat(60)}end`, '/t/*', [`${'s/'.repeat(60)}end`]],
      ['POST', '/t/x/', '/t/x/*', ['']],
      ['GET', '/t/x/y', '/t/x/y', []],
      ['GET', '/t/x/y/', '/t/x/*', ['y/']],
      ['POST', '/t/x/y', '/t/x/*', ['y']],
      ['PURGE', '/t/x/y', '/t/x/*', ['y']],
      ['POST', '/a/deep/z', '/{any}/deep/{er}', ['a', 'z']],
      ['GET', `/${LONG}/7/${LONG}`, `/${LONG}/{id}/${LONG}`, ['7']],
      ['GET', `/${LONG.replace('longer', 'lunger')}/7`, `/${LONG.replace('longer', 'lunger')}/{id}`, ['7']],
      ['GET', '/%c3%a9/%41%20', '/%C3%A9/{x}', ['A%20']],
      ['GET', '//a/.//%37', '/a/{id}', ['7']],
    ] as const)('%s %s is %s', (method, path, pattern, params) => {
      const routeMethod = pattern === '/t/x/*' ? '*' : method
      expect(found(kernel, method, path)).toEqual([row(routeMethod, pattern), ...params])
      expect(
        params.map((_value, i) =>
          kernel.param(i, path.includes('%') || path.includes('//') ? undefined : path),
        ),
      ).toEqual(params)
      expect([kernel.param(params.length), kernel.param(-1)]).toEqual(['', ''])
    })

    test.each([
      ['GET', '/b'],
      ['GET', '/a/7/'],
      ['GET', '/a/7/b'],
      ['GET', '/t'],
      ['GET', '/A'],
      ['GET', `/${LONG.replace('longer', 'langer')}/7/${LONG}`],
      ['GET', `/${LONG}/7/${LONG}x`],
      ['GET', `/${LONG}/7/${LONG.slice(0, -1)}`],
    ])('%s %s is not found', (method, path) => {
      expect(found(kernel, method, path)).toEqual([NOT_FOUND])
    })

    test.each([
      ['POST', '/a/7', ['GET', 'DELETE']],
      ['POST', '/a/me', ['GET', 'DELETE']],
      ['PUT', '/t/q', ['GET']],
      ['PURGE', '/a', ['GET']],
      ['PUT', '/a/deep/z', ['POST']],
      ['DELETE', '/a/me/b/x/c', ['GET', 'POST']],
    ])('%s %s is not allowed, and %j are', (method, path, allowed) => {
      expect(found(kernel, method, path)).toEqual([METHOD_NOT_ALLOWED])
      expect(methodNames(kernel.allowedMethods)).toEqual(allowed)
    })

    test('{parameter} is never empty, and takes a segment of any length', () => {
      expect(found(kernel, 'GET', '/a//')).toEqual([row('GET', '/a/')])
      for (let length = 1; length < 200; length++) {
        const id = 'i'.repeat(length)
        expect(found(kernel, 'GET', `/a/${id}/b/${id}/c`)).toEqual([row('GET', '/a/{id}/b/{part}/c'), id, id])
      }
    })
  },
)

describe.each(bothEngines().map(kernel => [engineOf(kernel), kernel] as const))(
  'tables of %s',
  (_, kernel) => {
    test('before one is loaded nothing is found', () => {
      const fresh = bothEngines().find(other => engineOf(other) === engineOf(kernel))!
      expect(fresh.admit('/', METHOD_GET)).toBe(NOT_FOUND)
      expect(fresh.table.routes).toEqual([])
      expect(createKernel().kernel.admit('/', METHOD_GET)).toBe(NOT_FOUND)
    })

    test('every segment length from 1 to 70 is distinguished from its neighbors', () => {
      const routes = Array.from({ length: 70 }, (_, i) => ({
        method: 'GET',
        pattern: `/r/${'s'.repeat(i + 1)}`,
      }))
      kernel.loadRoutes(routes)
      for (const [i, { pattern }] of routes.entries()) {
        expect(kernel.admit(pattern, METHOD_GET)).toBe(i)
        // Each byte of a long segment counts.
        for (let at = 3; at < pattern.length; at++) {
          const other = `${pattern.slice(0, at)}t${pattern.slice(at + 1)}`
          expect(kernel.admit(other, METHOD_GET)).toBe(NOT_FOUND)
        }
      }
    })

    test('all methods at one pattern, each with its own row, and * for the rest', () => {
      const methods = ['CONNECT', '*', 'PUT', 'GET', 'TRACE', 'PATCH', 'HEAD', 'DELETE', 'OPTIONS', 'POST']
      kernel.loadRoutes(methods.map(method => ({ method, pattern: '/m' })))
      for (const [i, method] of methods.entries())
        expect(kernel.admit('/m', method === '*' ? METHOD_OTHER : methodNumber(method))).toBe(i)
    })

    test('a reload replaces the whole table; results of the last call stay readable', () => {
      const first = kernel.loadRoutes([{ method: 'GET', pattern: '/old/{id}' }])
      const route = kernel.admit('/old/7', METHOD_GET)
      const second = kernel.loadRoutes([
        { method: 'PUT', pattern: '/new' },
        { method: 'GET', pattern: '/new/{a}' },
      ])
      expect([kernel.paramCount, kernel.param(0), first.routes[route]?.pattern]).toEqual([
        1,
        '7',
        '/old/{id}',
      ])
      expect(kernel.table).toBe(second)
      expect(kernel.admit('/old/7', METHOD_GET)).toBe(NOT_FOUND)
      expect(kernel.admit('/new/7', METHOD_GET)).toBe(1)
    })

    test('many reloads of tables of many sizes leave nothing behind', () => {
      for (let round = 0; round < 60; round++) {
        const count = 1 + ((round * 37) % 120)
        kernel.loadRoutes(
          Array.from({ length: count }, (_, i) => ({ method: 'GET', pattern: `/r${round}/${i}/{x}` })),
        )
        expect(kernel.admit(`/r${round}/${count - 1}/v`, METHOD_GET)).toBe(count - 1)
        expect(kernel.admit(`/r${round}/${count}/v`, METHOD_GET)).toBe(NOT_FOUND)
        expect(kernel.admit(`/r${round - 1}/0/v`, METHOD_GET)).toBe(NOT_FOUND)
      }
    })

    test.each([
      [{ method: 'get', pattern: '/a' }, /route 1 \(get \/a\): its method/],
      [{ method: 'GET', pattern: 'a' }, /not a canonical path/],
      [{ method: 'GET', pattern: '/a//b' }, /not a canonical path/],
      [{ method: 'GET', pattern: '/a/../b' }, /not a canonical path/],
      [{ method: 'GET', pattern: '/caf\u00e9' }, /not a canonical path/],
      [{ method: 'GET', pattern: '/%7euser' }, /not a canonical path/],
      [{ method: 'GET', pattern: '/a%2Fb' }, /remove the characters that a path must not contain/],
      [{ method: 'GET', pattern: '/a/{id}.json' }, /"\{id\}\.json" is neither a whole/],
      [{ method: 'GET', pattern: '/a/*/b' }, /"\*" is neither a whole/],
      [{ method: 'GET', pattern: '/a/{}' }, /"\{\}" is neither a whole/],
      [{ method: 'GET', pattern: '/there/{b}' }, /row 0 \(\/there\/\{a\}\) matches the same requests/],
      [{ method: 'GET', pattern: '/x'.repeat(MAX_SEGMENTS + 1) }, /more than 64 segments/],
      [{ method: 'GET', pattern: '/{x}'.repeat(MAX_PARAMS + 1) }, /more than 32 parameters/],
    ])('%j is refused, and the table before it stays', (bad, reason) => {
      const before = kernel.loadRoutes([{ method: 'GET', pattern: '/there/{a}' }])
      expect(() => kernel.loadRoutes([{ method: 'GET', pattern: '/there/{a}' }, bad])).toThrow(reason)
      expect(kernel.table).toBe(before)
      expect(kernel.admit('/there/x', METHOD_GET)).toBe(0)
      expect(kernel.admit('/a', METHOD_GET)).toBe(NOT_FOUND)
    })

    test('the deepest pattern and the most parameters there may be', () => {
      const deep = '/x'.repeat(MAX_SEGMENTS)
      const wide = '/{x}'.repeat(MAX_PARAMS)
      kernel.loadRoutes([
        { method: 'GET', pattern: deep },
        { method: 'PUT', pattern: wide },
        ...Array.from({ length: MAX_PARAMS - 1 }, (_, i) => ({
          method: 'POST',
          pattern: `${'/x'.repeat(i)}/{y}/*`,
        })),
      ])
      expect(kernel.admit(deep, METHOD_GET)).toBe(0)
      expect(kernel.admit('/x'.repeat(MAX_PARAMS), METHOD_PUT)).toBe(1)
      expect(kernel.paramCount).toBe(MAX_PARAMS)
      expect(kernel.admit('/x'.repeat(MAX_PARAMS), METHOD_DELETE)).toBe(METHOD_NOT_ALLOWED)
      expect(kernel.admit(`${deep}/x`, METHOD_POST)).toBe(MAX_PARAMS)
    })
  },
)

test('a table that does not fit says which option to raise, and the one before it stays', () => {
  const { kernel } = createKernel({ routeTableBytes: 4096 })
  kernel.loadRoutes([{ method: 'GET', pattern: '/a' }])
  const many = Array.from({ length: 200 }, (_, i) => ({ method: 'GET', pattern: `/r/${i}` }))
  expect(() => kernel.loadRoutes(many)).toThrow(
    /does not fit in 4096 bytes, a limit in the code and not a setting; raise routeTableBytes/,
  )
  expect(kernel.admit('/a', METHOD_GET)).toBe(0)
})

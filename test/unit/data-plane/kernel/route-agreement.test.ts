/** The kernel and its twin find the same route for 100,000 generated requests, and a list searched row by row for every eighth of them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { METHOD_NOT_ALLOWED, NOT_FOUND } from '../../../../src/data-plane/kernel/abi.ts'
import type { RouteDefinition } from '../../../../src/data-plane/kernel/kernel.ts'
import { methodNumber } from '../../../../src/data-plane/kernel/method.ts'
import { bothEngines, outcome } from './engines.ts'

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', '*']
/** Few words, so that patterns overlap and ways have to be walked back. */
const WORDS = [
  'a',
  'b',
  'c',
  'aa',
  'seven-7',
  'eight--8',
  'sixteen-bytes-16',
  'seventeen-bytes-x',
  'seventeen-bytes-y',
  '%C3%A9',
]

const segment = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 2, arbitrary: fc.constantFrom('{p}', '{q}') },
)
const pattern = fc
  .tuple(fc.array(segment, { maxLength: 5 }), fc.constantFrom('', '', '', '/', '/*'))
  .map(([segments, end]) => segments.map(one => `/${one}`).join('') + end || '/')
const table = fc.uniqueArray(fc.record({ method: fc.constantFrom(...METHODS), pattern }), {
  minLength: 1,
  maxLength: 300,
  size: 'max',
  selector: ({ method, pattern }) => method + pattern.replaceAll('{q}', '{p}'),
})
const request = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PURGE'),
  path: fc
    .tuple(
      fc.array(
        fc.oneof(
          { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
          fc.constantFrom('zz', '.', '..', '', '%61'),
        ),
        {
          maxLength: 7,
        },
      ),
      fc.constantFrom('', '', '/'),
    )
    .map(([segments, end]) => segments.map(one => `/${one}`).join('') + end || '/'),
})

/** What a pattern asks of each segment, best first in plain text order: `0` word, `1` parameter, `2` rest. */
function ranks(pattern: string): string {
  return pattern
    .split('/')
    .slice(1)
    .map(one => (one === '*' ? '2' : one.startsWith('{') ? '1' : '0'))
    .join('')
}

/** Row by row: every pattern as a regular expression, the fitting ones by rank, the method's own row before `*`. */
function list(routes: readonly RouteDefinition[]) {
  const rows = routes
    .map((route, row) => {
      const source = route.pattern.replaceAll('/*', '/(.*)').replaceAll(/\{\w\}/g, '([^/]+)')
      return { ...route, row, rank: ranks(route.pattern), fits: new RegExp(`^${source}$`) }
    })
    .sort((a, b) => (a.rank === b.rank ? (a.method === '*' ? 1 : -1) : a.rank < b.rank ? -1 : 1))
  return (path: string, method: string) => {
    const fitting = rows.filter(row => row.fits.test(path))
    const best = fitting.find(row => row.method === method || row.method === '*')
    if (best !== undefined) return { route: best.row, params: best.fits.exec(path)!.slice(1) }
    const allowed = fitting.reduce((bits, row) => bits | (1 << methodNumber(row.method)), 0)
    return allowed === 0
      ? { route: NOT_FOUND, params: [] }
      : { route: METHOD_NOT_ALLOWED, params: [], allowed }
  }
}

test('100,000 requests on 500 tables: same route, same parameters, same allowed methods', () => {
  const [kernel, twin] = bothEngines()
  const tally = { requests: 0, found: 0, notFound: 0, notAllowed: 0, withParams: 0, rows: 0 }
  fc.assert(
    fc.property(
      table,
      fc.array(request, { minLength: 200, maxLength: 200, size: 'max' }),
      (routes, requests) => {
        kernel.loadRoutes(routes)
        twin.loadRoutes(routes)
        const search = list(routes)
        tally.rows = Math.max(tally.rows, routes.length)
        for (const [i, { method, path }] of requests.entries()) {
          const number = methodNumber(method)
          const mine = outcome(kernel, kernel.admit(path, number))
          const its = outcome(twin, twin.admit(path, number))
          if (JSON.stringify(mine) !== JSON.stringify(its))
            expect({ method, path, ...mine }).toEqual({ method, path, ...its })
          // The list is slow: every eighth request.
          if (i % 8 === 0) expect(mine).toMatchObject(search(kernel.normalizedPath(), method))
          tally.requests++
          if (mine.route >= 0) tally.found++
          if (mine.params.length > 1) tally.withParams++
          if (mine.route === NOT_FOUND) tally.notFound++
          if (mine.route === METHOD_NOT_ALLOWED) tally.notAllowed++
        }
      },
    ),
    { numRuns: 500 },
  )
  expect(tally.requests).toBe(100_000)
  // the generator must reach every result often, or agreement proves little
  expect(Math.min(tally.found, tally.notFound, tally.notAllowed, tally.withParams)).toBeGreaterThan(5000)
  expect(tally.rows).toBeGreaterThan(200)
})

/** The kernel and its twin normalize generated paths alike, to the character that is refused. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sized } from '../../../fixtures/check.ts'
import { bothEngines, normalized } from './engines.ts'

const PIECES = {
  plain: ['a', 'Zz9', '-._~', "!$&'()*+,;=:@", 'orders', 'x'.repeat(15), 'y'.repeat(16), 'z'.repeat(70)],
  slash: ['/', '/', '/', '//', '///'],
  dots: ['.', '..', '/./', '/../', '...', '%2e', '%2E%2e', '.%2e', '/..'],
  escape: ['%41', '%7e', '%2D', '%20', '%3f', '%25', '%7b', '%C3%A9', '%e2%82%ac', '%F0%9F%98%80', '%c2%a0'],
  raw: ['|', '{', '}', '[', ']', '"', '<', '>', '^', '`'],
  refused: [
    '%2f',
    '%5C',
    '\\',
    '%00',
    '\0',
    '%1f',
    '%7f',
    '\x1f',
    '\x7f',
    '%C2%80',
    '%',
    '%4',
    '%g1',
    '%C3%28',
    '%C0%80',
    '%ED%A0%80',
    '%F4%90%80%80',
    '%F0%8f%bf%bf',
    '%80',
    '%E2%82',
    ' ',
    '?',
    '#',
    'é',
    '\u012f',
    '\u{1f600}',
    '\udc00',
  ],
}

const harmless = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PIECES.plain) },
  { weight: 4, arbitrary: fc.constantFrom(...PIECES.slash) },
  { weight: 3, arbitrary: fc.constantFrom(...PIECES.dots) },
  { weight: 3, arbitrary: fc.constantFrom(...PIECES.escape) },
  { weight: 1, arbitrary: fc.constantFrom(...PIECES.raw) },
)
const anything = fc.oneof(
  { weight: 12, arbitrary: harmless },
  { weight: 1, arbitrary: fc.constantFrom(...PIECES.refused) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
)
const path = fc.oneof(
  { weight: 6, arbitrary: fc.array(harmless, { maxLength: 14 }).map(pieces => `/${pieces.join('')}`) },
  { weight: 5, arbitrary: fc.array(anything, { maxLength: 10 }).map(pieces => `/${pieces.join('')}`) },
  { weight: 1, arbitrary: fc.array(anything, { maxLength: 4 }).map(pieces => pieces.join('')) },
)

/** No empty and no dot segment; escapes in upper case. */
const CANONICAL = /^\/(?:(?!\.{1,2}(?:\/|$))(?:[\w\-.~!$&'()*+,;=:@]|%[0-9A-F]{2})+(?:\/|$))*$/
/** Unreserved characters (they stand for themselves), controls, slash and backslash (they are refused). */
const NEVER_ESCAPED = /%(?:2[DEF]|3\d|4[1-9A-F]|5[\dACF]|6[1-9A-F]|7[\dAEF]|[01].)/

const PATHS = sized(30_000, 100_000)

test(`${PATHS} paths: same status, same character refused, same canonical path, and that is a fixed point`, () => {
  const [kernel, twin] = bothEngines()
  const seen = new Map<number, number>()
  let rewritten = 0
  fc.assert(
    fc.property(path, given => {
      const mine = normalized(kernel, given)
      expect(mine).toEqual(normalized(twin, given))
      seen.set(mine.status, (seen.get(mine.status) ?? 0) + 1)
      if (mine.path === undefined) return
      if (mine.path !== given) rewritten++
      expect(mine.again).toBe(mine.path)
      expect(mine.path).toMatch(CANONICAL)
      expect(mine.path).not.toMatch(NEVER_ESCAPED)
      expect(normalized(kernel, mine.path)).toEqual({ status: 0, path: mine.path, again: mine.path })
    }),
    { numRuns: PATHS },
  )
  // the generator must reach every result, or agreement proves little
  expect([...seen.keys()].sort((a, b) => b - a)).toEqual([0, -10, -12, -13, -14, -15, -16, -17, -18, -19])
  expect(Math.min(...seen.values())).toBeGreaterThan(PATHS / 500)
  expect(rewritten).toBeGreaterThan(0.3 * PATHS)
})

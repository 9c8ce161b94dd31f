/** The forms of DATABASE_URL, literal search patterns, and the signal between instances. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { databaseTarget } from '../../../../src/control-plane/store/database-url.ts'
import { containsPattern } from '../../../../src/control-plane/store/sql/listing.ts'
import { readSignal, resyncPayload } from '../../../../src/control-plane/store/sql/signal.ts'

describe('DATABASE_URL', () => {
  it.each([
    ['pglite:', { kind: 'pglite', directory: '/data/postgres' }],
    ['pglite:/var/db', { kind: 'pglite', directory: '/var/db' }],
    ['pglite:memory', { kind: 'memory' }],
    ['postgres://u:p@h/d', { kind: 'postgres', url: 'postgres://u:p@h/d' }],
    ['postgresql://h/d', { kind: 'postgres', url: 'postgresql://h/d' }],
  ])('%s is understood', (url, target) => {
    expect(databaseTarget(url, '/data')).toEqual(target)
  })

  it('is refused without being repeated, since it may hold a password', () => {
    expect(() => databaseTarget('mysql://root:hunter2@h/d', '/data')).toThrow(
      /^(?!.*hunter2).*DATABASE_URL is not a valid database address/,
    )
  })
})

describe('search pattern', () => {
  it('matches exactly the text, with any wildcards in it', () => {
    // LIKE with escape '\\', as a regular expression: the oracle.
    const like = (pattern: string) => {
      let source = ''
      for (let at = 0; at < pattern.length; at++) {
        const c = pattern[at]!
        if (c === '\\') source += `\\u{${pattern.codePointAt(++at)!.toString(16)}}`
        else if (c === '%') source += '[^]*'
        else if (c === '_') source += '[^]'
        else source += `\\u{${c.codePointAt(0)!.toString(16)}}`
      }
      return new RegExp(`^${source}$`, 'u')
    }
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_', '\\'), maxLength: 6 })
    fc.assert(
      fc.property(text, text, (needle, hay) => {
        expect(like(containsPattern(needle)).test(hay)).toBe(hay.includes(needle))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('signal between instances', () => {
  it('comes back as it was sent', () => {
    expect(readSignal('')).toEqual({ kind: 'changed' })
    expect(readSignal(resyncPayload('gw_1'))).toEqual({ kind: 'resync', gatewayId: 'gw_1' })
  })
})

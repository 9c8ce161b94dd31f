/** Where arguments are checked: in place when a bound allows it, else in another thread, with limits on number and time. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ArgumentChecker, type CheckLimits } from '../../../../src/base/json-schema/argument-check.ts'
import { isWarm } from '../../../../src/base/json-schema/validate.ts'

const LIMITS: CheckLimits = {
  inPlaceNs: 4_000_000,
  inPlaceKeywords: 100,
  timeoutMs: 20_000,
  compileTimeoutMs: 20_000,
  maxPendingPerOwner: 2,
  maxPending: 3,
  pauseMs: 60_000,
}
const checkers: ArgumentChecker[] = []

function open(limits: Partial<CheckLimits> = {}): ArgumentChecker {
  const checker = new ArgumentChecker({ ...LIMITS, ...limits })
  checkers.push(checker)
  return checker
}

afterEach(async () => {
  await Promise.all(checkers.splice(0).map(checker => checker.close()))
})

const small = { type: 'object', properties: { a: { type: 'string', maxLength: 3 } } } as const
const wide = {
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`p${i}`, { type: 'string' }])),
} as const
/** Each level of the arguments doubles the work. */
const doubling = {
  type: 'object',
  $defs: {
    n: {
      anyOf: [
        { properties: { x: { $ref: '#/$defs/n' } }, required: ['y'] },
        { properties: { x: { $ref: '#/$defs/n' } }, required: ['z'] },
      ],
    },
  },
  properties: { x: { $ref: '#/$defs/n' } },
} as const
const nested = (depth: number): object => (depth === 0 ? {} : { x: nested(depth - 1) })
/** The depth from which on a check of `doubling` takes half a second of processor time on this machine: five times what an owner of short checks may use. */
async function longDepth(checker: ArgumentChecker): Promise<number> {
  const check = checker.prepare(doubling, 'initech')
  for (let depth = 14; ; depth++) {
    const before = process.cpuUsage()
    await check(nested(depth))
    if (process.cpuUsage(before).user > 500_000) return depth
  }
}

describe('a check', () => {
  it('of the first arguments lets other work run during a long compilation', async () => {
    const properties = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`p${i}`, { type: 'string' }]))
    const check = open().prepare({ type: 'object', properties }, 'acme')
    let turns = 0
    const count = (): void => {
      turns++
      timer = setImmediate(count)
    }
    let timer = setImmediate(count)
    const checked = check({ p7: 1 })
    expect(checked).toBeInstanceOf(Promise)
    expect(await checked).toEqual([{ path: '/p7', message: 'must be string' }])
    clearImmediate(timer)
    expect(turns).toBeGreaterThan(1)
    expect(check({ p7: 'a' })).toEqual([])
  })

  it('of many values is made in another thread, however small the schema', async () => {
    const check = open().prepare({ type: 'object' }, 'acme')
    const checked = check({ a: Array.from({ length: 200_000 }, (_, at) => at) })
    expect(checked).toBeInstanceOf(Promise)
    expect(await checked).toEqual([])
  })

  it('of small arguments against a small schema is made in place, in a thread that is warm', async () => {
    const checker = open()
    checker.warmUpIn(0)
    await vi.waitFor(() => expect(isWarm()).toBe(true), 20_000)
    const check = checker.prepare(small, 'acme')
    expect(check({ a: 'abc' })).toEqual([])
    expect(check({ a: 'abcd' })).toEqual([{ path: '/a', message: 'must NOT have more than 3 characters' }])
  })

  it('against a large schema is made in another thread, with the same faults', async () => {
    const check = open().prepare(wide, 'acme')
    const checked = check({ p7: 1 })
    expect(checked).toBeInstanceOf(Promise)
    expect(await checked).toEqual([{ path: '/p7', message: 'must be string' }])
    expect(await check({ p7: 'a' })).toEqual([])
  })

  it('of a long text against a costly pattern is made in another thread, also where an anchor leads to it', async () => {
    const schema = {
      type: 'object',
      $defs: { p: { $anchor: 'p', type: 'string', pattern: '(a{1,200}){1,1}$' } },
      properties: { a: { $ref: '#p' } },
    } as const
    const check = open().prepare(schema, 'acme')
    expect(await check({ a: 'a' })).toEqual([])
    const checked = check({ a: 'a'.repeat(20_000) })
    expect(checked).toBeInstanceOf(Promise)
    expect(await checked).toEqual([])
  })

  it('of values nested too deeply is refused in place', () => {
    expect(open().prepare(doubling, 'acme')(nested(250))).toMatchObject([{ path: '' }])
  })

  it('that does not end in time is ended, and the owner paused; other owners are served', async () => {
    const checker = open({ timeoutMs: 1_000 })
    const check = checker.prepare(doubling, 'acme')
    expect(await check(nested(60))).toBe('too_expensive')
    expect(await check(nested(60))).toBe('overloaded')
    expect(await checker.prepare(wide, 'globex')({ p7: 1 })).toHaveLength(1)
  })

  it('does not wait behind those of an owner whose checks take long', { timeout: 60_000 }, async () => {
    const checker = open({ maxPendingPerOwner: 8, maxPending: 64, timeoutMs: 60_000 })
    const long = checker.prepare(doubling, 'acme')
    const quick = checker.prepare(wide, 'globex')
    await quick({ p7: 'warm' })
    const depth = await longDepth(checker)
    const beganAt = performance.now()
    const pending = Array.from({ length: 4 }, () => long(nested(depth)))
    let isOver = false
    void Promise.all(pending).then(() => {
      isOver = true
    })
    let longMs = 0
    void Promise.resolve(pending[0]).then(() => {
      longMs = performance.now() - beganAt
    })
    const slowest: number[] = []
    for (let round = 0; round < 12; round++) {
      const startedAt = performance.now()
      expect(await quick({ p7: 1 })).toEqual([{ path: '/p7', message: 'must be string' }])
      slowest.push(performance.now() - startedAt)
    }
    expect(isOver).toBe(false)
    await pending[0]
    // the first of them may have been waited for, none of the others
    expect(slowest.sort((a, b) => b - a)[1]).toBeLessThan(longMs)
  })

  it('is refused while too many of its owner, or of all, are pending', async () => {
    const checker = open()
    const acme = checker.prepare(wide, 'acme')
    const pending = [acme({}), acme({})]
    expect(acme({})).toBe('overloaded')
    pending.push(checker.prepare(wide, 'globex')({}))
    expect(checker.prepare(wide, 'initech')({})).toBe('overloaded')
    expect(await Promise.all(pending)).toEqual([[], [], []])
    expect(await acme({})).toEqual([])
  })
})

/** All limits together: all or nothing, calendar windows and their ends, tool buckets, calls in flight. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  NO_KIND,
  OUT_KIND,
  OUT_LIMIT,
  OUT_REMAINING,
  OUT_RESET,
  OUT_RETRY,
  OUT_SLOT,
  OUT_USED,
  READ_DAY_COUNT,
  READ_IN_FLIGHT,
  READ_MINUTE,
  READ_MONTH_COUNT,
  READ_SECOND,
  TAKE_GRANTED,
  TAKE_REFUSED,
} from '../../../../src/data-plane/quota/memory/abi.ts'
import { maxInWindow } from './window/oracle.ts'
import { type Limits, NOON, smallTable } from './window/region.ts'

const SECOND = 0
const MINUTE = 1
const DAY = 2
const MONTH = 3
const BURST = 4
const TOOL = 5

function counts(made: ReturnType<typeof smallTable>, monoMs: number, unixMs: number) {
  const slot = made.kernel.quotaFind(made.table.writeKey('a'))
  expect(made.kernel.quotaRead(slot, monoMs, unixMs)).toBe(1)
  return [READ_SECOND, READ_MINUTE, READ_DAY_COUNT, READ_MONTH_COUNT, READ_IN_FLIGHT].map(
    field => made.out[field / 4],
  )
}

describe('all or nothing', () => {
  const cases: [string, number, Limits][] = [
    ['second', SECOND, { second: 1, minute: 9, day: 9, month: 9, burst: 9, toolRate: 60, toolBurst: 9 }],
    ['minute', MINUTE, { second: 9, minute: 1, day: 9, month: 9, burst: 9, toolRate: 60, toolBurst: 9 }],
    ['day', DAY, { second: 9, minute: 9, day: 1, month: 9, burst: 9, toolRate: 60, toolBurst: 9 }],
    ['month', MONTH, { second: 9, minute: 9, day: 9, month: 1, burst: 9, toolRate: 60, toolBurst: 9 }],
    ['burst', BURST, { second: 9, minute: 9, day: 9, month: 9, burst: 1, toolRate: 60, toolBurst: 9 }],
    ['tool', TOOL, { second: 9, minute: 9, day: 9, month: 9, burst: 9, toolRate: 60, toolBurst: 1 }],
  ]
  test.each(cases)('a refusal by the %s consumes nothing of the others', (_, kind, limits) => {
    const made = smallTable()
    expect(made.take('a', 1000, NOON, limits)).toBe(TAKE_GRANTED)
    const before = counts(made, 1000, NOON)
    expect(before).toEqual([1, 1, 1, 1, 1])
    for (let i = 0; i < 50; i++) {
      expect(made.take('a', 1001, NOON, limits)).toBe(TAKE_REFUSED)
      expect(made.out[OUT_KIND / 4]).toBe(kind)
    }
    expect(counts(made, 1001, NOON)).toEqual(before)
  })

  test('when several limits are reached, the refusal names the one with the longest wait', () => {
    const made = smallTable()
    const all = { second: 1, minute: 1, day: 1, month: 1 }
    made.take('a', 1000, NOON, all)
    const kinds: (number | undefined)[] = []
    for (const limits of [all, { ...all, month: 0 }, { second: 1, minute: 1 }, { second: 1 }]) {
      expect(made.take('a', 1001, NOON, limits)).toBe(TAKE_REFUSED)
      kinds.push(made.out[OUT_KIND / 4])
    }
    expect(kinds).toEqual([MONTH, DAY, MINUTE, SECOND])
  })
})

describe('standing', () => {
  test('reports the window with the least left', () => {
    const made = smallTable()
    made.take('a', 1000, NOON, { second: 5, minute: 60, day: 10_000 })
    expect([made.out[OUT_KIND / 4], made.out[OUT_LIMIT / 4], made.out[OUT_REMAINING / 4]]).toEqual([
      SECOND,
      5,
      4,
    ])
    expect(made.out[OUT_RESET / 4]).toBe(NOON / 1000 + 1)
    made.take('a', 1000, NOON, { second: 500, minute: 60, day: 10_000 })
    expect([made.out[OUT_KIND / 4], made.out[OUT_LIMIT / 4], made.out[OUT_REMAINING / 4]]).toEqual([
      MINUTE,
      60,
      58,
    ])
    expect(made.out[OUT_RESET / 4]).toBe(NOON / 1000 + 60)
  })

  test('is empty without limits and is the calls in flight when only they are limited', () => {
    const made = smallTable()
    made.take('a', 1000, NOON, {})
    expect(made.out[OUT_KIND / 4]).toBe(NO_KIND)
    made.take('a', 1000, NOON, { burst: 5 })
    expect([made.out[OUT_KIND / 4], made.out[OUT_LIMIT / 4], made.out[OUT_REMAINING / 4]]).toEqual([
      BURST,
      5,
      3,
    ])
  })
})

describe('calendar', () => {
  const MIDNIGHT = Date.UTC(2026, 2, 11)

  test('a day ends at 00:00 UTC and not a millisecond before', () => {
    const made = smallTable()
    expect(made.take('a', 1000, MIDNIGHT - 10, { day: 1 })).toBe(TAKE_GRANTED)
    expect(made.take('a', 1009, MIDNIGHT - 1, { day: 1 })).toBe(TAKE_REFUSED)
    expect([made.out[OUT_RESET / 4], made.out[OUT_RETRY / 4], made.out[OUT_USED / 4]]).toEqual([
      MIDNIGHT / 1000,
      1,
      1,
    ])
    expect(made.take('a', 1010, MIDNIGHT, { day: 1 })).toBe(TAKE_GRANTED)
  })

  test.each([
    ['February of a leap year', Date.UTC(2028, 1, 29, 23), Date.UTC(2028, 2, 1)],
    ['February', Date.UTC(2027, 1, 28, 23), Date.UTC(2027, 2, 1)],
    ['a month of 30 days', Date.UTC(2026, 3, 30, 23), Date.UTC(2026, 4, 1)],
    ['the year', Date.UTC(2026, 11, 31, 23, 59, 59, 999), Date.UTC(2027, 0, 1)],
    ['a century that is not a leap year', Date.UTC(2100, 1, 28, 5), Date.UTC(2100, 2, 1)],
  ])('the end of %s resets the month', (_, before, next) => {
    const made = smallTable()
    expect(made.take('a', 1000, before, { month: 1 })).toBe(TAKE_GRANTED)
    expect(made.take('a', 1000, next - 1, { month: 1 })).toBe(TAKE_REFUSED)
    expect(made.out[OUT_RESET / 4]).toBe(next / 1000)
    expect(made.take('a', 1000, next, { month: 1 })).toBe(TAKE_GRANTED)
  })

  test('the month ends as that of Date, from 1970 to 2106', () => {
    const made = smallTable()
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_294_000_000 }), secs => {
        made.kernel.quotaReset(made.table.writeKey('a'), secs * 1000)
        made.take('a', 1000, secs * 1000, { month: 1_000_000 })
        const at = new Date(secs * 1000)
        const next = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)
        expect(made.out[OUT_RESET / 4]).toBe((next / 1000) >>> 0)
      }),
      { numRuns: 5000 },
    )
  })

  test('a clock that is wrong at times gives no day and no month more than its limit while it is right, and refuses nothing that was not used', () => {
    const DAY_MS = 86_400_000
    const step = fc.record({
      passedMs: fc.nat(30 * 3_600_000),
      calls: fc.integer({ min: 1, max: 30 }),
      wrongByMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: -2000, max: 2000 }),
        fc.integer({ min: -400, max: 400 }).map(days => days * DAY_MS),
      ),
      wrongCalls: fc.nat(30),
    })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(step, { minLength: 1, maxLength: 60 }),
        (limit, steps) => {
          const made = smallTable()
          const periodsOf = (ms: number) => {
            const date = new Date(ms).toISOString()
            return { day: date.slice(0, 10), month: date.slice(0, 7) }
          }
          // granted calls by the period that the clock showed: all of them, and those while it was right
          const shown = new Map<string, number>()
          const right = new Map<string, number>()
          let monoMs = 1000
          let rightMs = Date.UTC(2026, 2, 30, 12)
          const call = (unixMs: number, calls: number): void => {
            monoMs += 100
            const { day, month } = periodsOf(unixMs)
            const used = (period: string) => shown.get(period) ?? 0
            for (let i = 0; i < calls; i++) {
              if (made.take('a', monoMs, unixMs, { day: limit, month: limit * 3 }) !== TAKE_GRANTED) {
                expect(used(day) >= limit || used(month) >= limit * 3).toBe(true)
                break
              }
              for (const period of [day, month]) {
                shown.set(period, used(period) + 1)
                if (unixMs === rightMs) right.set(period, (right.get(period) ?? 0) + 1)
              }
            }
          }
          for (const { passedMs, calls, wrongByMs, wrongCalls } of steps) {
            rightMs += passedMs
            call(rightMs, calls)
            if (wrongByMs !== 0) call(rightMs + wrongByMs, wrongCalls)
          }
          for (const [period, calls] of right)
            expect(calls).toBeLessThanOrEqual(period.length > 7 ? limit : limit * 3)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('a limit that was used up on a wrong day of the future refuses nothing on the right one', () => {
    const made = smallTable()
    expect(made.take('a', 1000, NOON, { day: 2 })).toBe(TAKE_GRANTED)
    const wrong = NOON + 400 * 86_400_000
    expect(made.take('a', 1001, wrong, { day: 2 })).toBe(TAKE_GRANTED)
    expect(made.take('a', 1002, wrong, { day: 2 })).toBe(TAKE_GRANTED)
    expect(made.take('a', 1003, wrong, { day: 2 })).toBe(TAKE_REFUSED)
    expect(made.take('a', 1004, NOON, { day: 2 })).toBe(TAKE_GRANTED)
    expect(made.take('a', 1005, NOON, { day: 2 })).toBe(TAKE_REFUSED)
    expect(made.out[OUT_RESET / 4]).toBe(Math.ceil(NOON / 86_400_000) * 86_400)
    expect(made.kernel.quotaReset(made.table.writeKey('a'), NOON)).toBe(1)
    expect(made.take('a', 1006, NOON, { day: 2 })).toBe(TAKE_GRANTED)
  })
})

describe('tool bucket', () => {
  test('in any stretch of time it gives at most its burst and what flows in', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2000 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.record({ waitMs: fc.integer({ min: -500, max: 20_000 }), calls: fc.nat(80) }), {
          minLength: 1,
          maxLength: 60,
        }),
        (toolRate, toolBurst, steps) => {
          const made = smallTable()
          const admitted: number[] = []
          let now = 1_000_000
          // what counts is the newest time that a call has brought
          let newest = 0
          for (const { waitMs, calls } of steps) {
            now += waitMs
            if (calls > 0) newest = Math.max(newest, now)
            for (let i = 0; i < calls; i++) {
              if (made.take('a', now, NOON, { toolRate, toolBurst }) !== TAKE_GRANTED) break
              admitted.push(newest)
            }
          }
          for (const lengthMs of [1, 1000, 10_000, 60_000]) {
            const max = toolBurst + (toolRate * lengthMs) / 60_000
            expect(maxInWindow(admitted, lengthMs)).toBeLessThanOrEqual(max + 1e-9)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  test('two tools of a consumer, and two consumers of a tool, have separate buckets', () => {
    const made = smallTable()
    const limits = { toolRate: 1, toolBurst: 1 }
    expect(made.take('a', 1000, NOON, limits, 'x')).toBe(TAKE_GRANTED)
    expect(made.take('a', 1000, NOON, limits, 'x')).toBe(TAKE_REFUSED)
    expect(made.take('a', 1000, NOON, limits, 'y')).toBe(TAKE_GRANTED)
    expect(made.take('b', 1000, NOON, limits, 'x')).toBe(TAKE_GRANTED)
    expect(made.take('ax', 1000, NOON, limits, '')).toBe(TAKE_GRANTED)
  })

  test('the wait it names is enough', () => {
    const made = smallTable()
    const limits = { toolRate: 7, toolBurst: 1 }
    made.take('a', 1000, NOON, limits)
    expect(made.take('a', 1500, NOON, limits)).toBe(TAKE_REFUSED)
    const waitMs = made.out[OUT_RETRY / 4]!
    expect(made.take('a', 1500 + waitMs - 1, NOON, limits)).toBe(TAKE_REFUSED)
    expect(made.take('a', 1500 + waitMs, NOON, limits)).toBe(TAKE_GRANTED)
  })
})

describe('calls in flight', () => {
  test('a released call frees its slot, and a second release frees no other', () => {
    const made = smallTable()
    expect(made.take('a', 1000, NOON, { burst: 2 })).toBe(TAKE_GRANTED)
    const slot = made.out[OUT_SLOT / 4]!
    expect(made.take('a', 1000, NOON, { burst: 2 })).toBe(TAKE_GRANTED)
    expect(made.take('a', 1000, NOON, { burst: 2 })).toBe(TAKE_REFUSED)
    made.kernel.quotaRelease(slot)
    expect(made.take('a', 1000, NOON, { burst: 2 })).toBe(TAKE_GRANTED)
    for (let i = 0; i < 10; i++) made.kernel.quotaRelease(slot)
    const granted = [1, 2, 3, 4].map(() => made.take('a', 1000, NOON, { burst: 2 }))
    expect(granted).toEqual([TAKE_GRANTED, TAKE_GRANTED, TAKE_REFUSED, TAKE_REFUSED])
  })

  test('of one consumer are 65,535 at most, regardless of its plan', () => {
    const made = smallTable()
    for (let i = 0; i < 65_535; i++)
      if (made.take('a', 1000, NOON, {}) !== TAKE_GRANTED) throw new Error(`refused at ${i}`)
    expect(made.take('a', 1000, NOON, {})).toBe(TAKE_REFUSED)
    made.kernel.quotaRelease(made.out[OUT_SLOT / 4]!)
    expect(made.take('a', 1000, NOON, {})).toBe(TAKE_GRANTED)
  })

  test('calls that began before a limit was set count against it', () => {
    const made = smallTable()
    made.take('a', 1000, NOON, {})
    made.take('a', 1000, NOON, {})
    expect(made.take('a', 1000, NOON, { burst: 2 })).toBe(TAKE_REFUSED)
  })
})

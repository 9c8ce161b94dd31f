/** Counters across the end of a process: exact after an orderly one, never too low after any other. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openJournalQuota } from '../../../../src/data-plane/quota/journal/journal-quota.ts'
import { MAX_RESERVED, reservation } from '../../../../src/data-plane/quota/journal/journal-reserver.ts'
import { listSegments, readSegments } from '../../../../src/data-plane/quota/journal/segments.ts'
import { maxInWindow } from '../../../unit/data-plane/kernel/window/oracle.ts'
import { crashed, newDirectory } from './journal-directory.ts'

const NOON = Date.UTC(2026, 2, 10, 12)
const SMALL = { consumers: 16, toolBuckets: 1, listed: 16 }

/** One wall clock over several processes; each process has a separate monotonic clock. */
function machine() {
  const wall = { ms: NOON }
  function open(dir: string, more: Partial<Parameters<typeof openJournalQuota>[0]> = {}) {
    const begun = wall.ms
    return openJournalQuota({
      dir,
      ...SMALL,
      monotonicMs: () => 200_000 + wall.ms - begun,
      unixMs: () => wall.ms,
      ...more,
    })
  }
  return { wall, open }
}

type Opened = ReturnType<ReturnType<typeof machine>['open']>

function takeMany(quota: Opened, key: string, limits: object, nowMs: number, calls: number): number {
  let granted = 0
  for (let i = 0; i < calls; i++) {
    const response = quota.take({ key, limits, nowMs })
    if (!response.granted) break
    granted++
    response.release()
  }
  return granted
}

/** Units that the last note leaves reserved and not spent. */
function pendingIn(dir: string): number {
  return [...readSegments(listSegments(dir), { notes: 0, skippedBytes: 0, damage: [], trustedFrom: 0 })].at(
    -1,
  )!.pending
}

describe('after an orderly end', () => {
  test('every window goes on where it was', async () => {
    const { wall, open } = machine()
    const dir = newDirectory()
    const limits = { perSecond: 50, perMinute: 40, perDay: 60, perMonth: 500 }
    const first = open(dir)
    expect(takeMany(first, 'a', limits, wall.ms, 30)).toBe(30)
    expect(takeMany(first, 'free', {}, wall.ms, 7)).toBe(7)
    await first.close()
    wall.ms += 5_000
    const second = open(dir)
    expect(second.statisticsOf('a')).toEqual({
      key: 'a',
      dailyCount: 30,
      dailyLimit: 60,
      monthlyCount: 30,
      monthlyLimit: 500,
    })
    expect(second.statisticsOf('free')?.dailyCount).toBe(7)
    expect(
      second
        .statistics()
        .map(row => row.key)
        .sort(),
    ).toEqual(['a', 'free'])
    expect(second.restored).toMatchObject({ consumers: 2, dropped: 0, skippedBytes: 0 })
    expect(takeMany(second, 'a', limits, wall.ms, 100)).toBe(10)
    expect(second.take({ key: 'a', limits, nowMs: wall.ms })).toMatchObject({ kind: 'minute' })
    wall.ms += 61_000
    expect(takeMany(second, 'a', limits, wall.ms, 100)).toBe(20)
    expect(second.take({ key: 'a', limits, nowMs: wall.ms })).toMatchObject({ kind: 'day', used: 60 })
    await second.close()
  })

  test('a unit leaves the rolling second when it would have left it without the restarts', async () => {
    const { wall, open } = machine()
    const dir = newDirectory()
    const limits = { perSecond: 5 }
    const begunMs = wall.ms
    async function takeAfter(ms: number, calls: number): Promise<number> {
      wall.ms = begunMs + ms
      const quota = open(dir)
      const granted = takeMany(quota, 'a', limits, wall.ms, calls)
      await quota.close()
      return granted
    }
    expect(await takeAfter(0, 4)).toBe(4)
    expect(await takeAfter(400, 1)).toBe(1)
    expect(await takeAfter(900, 5)).toBe(0)
    // together with the newest, which was taken at 400
    expect(await takeAfter(1_390, 5)).toBe(0)
    expect(await takeAfter(1_450, 9)).toBe(5)
  })

  test('a plan that changed in between applies to what was counted', async () => {
    const { wall, open } = machine()
    const dir = newDirectory()
    const first = open(dir)
    takeMany(first, 'a', { perDay: 100 }, wall.ms, 30)
    await first.close()
    const second = open(dir)
    expect(second.take({ key: 'a', limits: { perDay: 30 }, nowMs: wall.ms })).toMatchObject({
      kind: 'day',
      used: 30,
    })
    expect(takeMany(second, 'a', { perDay: 33 }, wall.ms, 100)).toBe(3)
    await second.close()
  })

  test('a reset stays a reset', async () => {
    const { wall, open } = machine()
    const dir = newDirectory()
    const first = open(dir)
    takeMany(first, 'a', { perDay: 500 }, wall.ms, 300)
    expect(first.reset('a')).toBe(true)
    takeMany(first, 'a', { perDay: 500 }, wall.ms, 4)
    const copy = crashed(dir)
    await first.close()
    for (const [left, max] of [
      [dir, 4],
      [copy, 4 + 5],
    ] as const) {
      const second = open(left)
      const { dailyCount, monthlyCount } = second.statisticsOf('a')!
      expect(dailyCount).toBeGreaterThanOrEqual(4)
      expect(dailyCount).toBeLessThanOrEqual(max)
      expect(monthlyCount).toBe(dailyCount)
      await second.close()
    }
  })

  test('yesterday and last month are not brought back', async () => {
    const { wall, open } = machine()
    const dir = newDirectory()
    const first = open(dir)
    takeMany(first, 'a', { perDay: 10, perMonth: 20 }, wall.ms, 10)
    await first.close()
    wall.ms += 86_400_000
    const second = open(dir)
    expect(second.statisticsOf('a')).toMatchObject({ dailyCount: 0, monthlyCount: 10 })
    await second.close()
    wall.ms += 31 * 86_400_000
    const third = open(dir)
    expect(third.restored.consumers).toBe(0)
    expect(takeMany(third, 'a', { perDay: 10, perMonth: 20 }, wall.ms, 100)).toBe(10)
    await third.close()
  })
})

describe('after a crash', () => {
  test('the counts are never below what was admitted and at most one reservation above for each crash', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 100, max: 20_000 }),
        fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 6 }),
        async (minute, day, rounds) => {
          const { wall, open } = machine()
          let dir = newDirectory()
          const limits = { perMinute: minute, perDay: day, perMonth: day * 2 }
          let admitted = 0
          let reserve = 0
          for (const calls of rounds) {
            const quota = open(dir)
            const before = quota.statisticsOf('a')?.dailyCount ?? 0
            expect(before).toBeGreaterThanOrEqual(admitted)
            expect(before).toBeLessThanOrEqual(admitted + reserve)
            admitted += takeMany(quota, 'a', limits, wall.ms, calls)
            const { dailyCount, monthlyCount } = quota.statisticsOf('a')!
            expect(monthlyCount).toBe(dailyCount)
            reserve += reservation(limits, dailyCount)
            dir = crashed(dir)
            await quota.close()
            wall.ms += 1000 + (calls % 7) * 20_000
          }
          expect(admitted).toBeLessThanOrEqual(day)
        },
      ),
      { numRuns: 25 },
    )
  })

  test('no second and no minute that reaches over the crash admits more than its limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 300 }),
        fc.array(
          fc.record({
            waitMs: fc.integer({ min: 0, max: 40_000 }),
            calls: fc.integer({ min: 1, max: 80 }),
            crash: fc.boolean(),
          }),
          { minLength: 2, maxLength: 12 },
        ),
        async (second, minute, steps) => {
          const { wall, open } = machine()
          const limits = { perSecond: second, perMinute: minute }
          let dir = newDirectory()
          let quota = open(dir)
          const admitted: number[] = []
          for (const { waitMs, calls, crash } of steps) {
            for (let i = 0; i < calls; i++) {
              wall.ms += i % 3
              if (takeMany(quota, 'a', limits, wall.ms, 1) === 1) admitted.push(wall.ms)
            }
            wall.ms += waitMs
            if (!crash) continue
            const left = crashed(dir)
            await quota.close()
            dir = left
            quota = open(dir)
          }
          await quota.close()
          expect(maxInWindow(admitted, 1000)).toBeLessThanOrEqual(second)
          expect(maxInWindow(admitted, 60_000)).toBeLessThanOrEqual(minute)
        },
      ),
      { numRuns: 25 },
    )
  })

  test('midnight between a reservation and its use does not give the new day more', async () => {
    const { wall, open } = machine()
    wall.ms = Date.UTC(2026, 2, 11) - 1000
    const dir = newDirectory()
    const limits = { perDay: 5000 }
    const first = open(dir)
    takeMany(first, 'a', limits, wall.ms, 4000)
    wall.ms += 2000
    const today = takeMany(first, 'a', limits, wall.ms, 25)
    const second = open(crashed(dir))
    expect(second.statisticsOf('a')!.dailyCount).toBeGreaterThanOrEqual(today)
    await second.close()
    await first.close()
  })

  test.each([
    ['in the middle of a day', NOON, 10],
    ['when a new month has begun since', Date.UTC(2026, 2, 1) - 5 * 61_000 - 62_000, 2_000],
  ])(
    'reserved units may have been spent just before it, and count in the minute, %s',
    async (_, startMs, downMs) => {
      const { wall, open } = machine()
      wall.ms = startMs
      const dir = newDirectory()
      const limits = { perMinute: 400 }
      const first = open(dir)
      for (let minute = 0; minute < 5; minute++, wall.ms += 61_000)
        expect(takeMany(first, 'a', limits, wall.ms, 300)).toBe(300)
      wall.ms += 61_000
      const pending = pendingIn(dir)
      expect(pending).toBeGreaterThan(5)
      expect(takeMany(first, 'a', limits, wall.ms, 5)).toBe(5)
      // no note says that five of them are spent
      expect(pendingIn(dir)).toBe(pending)
      const left = crashed(dir)
      wall.ms += downMs
      const second = open(left)
      expect(takeMany(second, 'a', limits, wall.ms, 1000)).toBe(400 - pending)
      await second.close()
      await first.close()
    },
  )

  test('a reservation is small, and smaller under small limits', () => {
    expect(reservation({}, 0)).toBe(1)
    expect(reservation({}, 320)).toBe(11)
    expect(reservation({}, 1e9)).toBe(MAX_RESERVED)
    expect(reservation({ perDay: 2_000 }, 1_500)).toBe(20)
    expect(reservation({ perDay: 10_000 }, 9_990)).toBe(10)
    expect(reservation({ perDay: 50 }, 40)).toBe(1)
    expect(reservation({ perMonth: 5_000 }, 4_000)).toBe(32)
    expect(reservation({ perMinute: 60, perDay: 10_000 }, 5_000)).toBe(7)
  })
})

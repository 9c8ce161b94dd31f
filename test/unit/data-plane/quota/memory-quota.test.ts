/** The in-process quota: windows, limits, seconds until a retry, a full table, names and locks. Tests set its clocks, except for `advance`. */
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { createQuotaRegion } from '../../../../src/data-plane/quota/memory/kernel.ts'
import { retryAfterSecs } from '../../../../src/data-plane/quota/memory/table-quota.ts'
import { createMemoryQuota } from '../../../fixtures/memory-quota.ts'

/** Offset of the lock in a slot (assembly/window-abi.ts). */
const SLOT_LOCK = 24
const NOON = Date.UTC(2026, 2, 10, 12)

function at(options: Parameters<typeof createMemoryQuota>[0] = {}) {
  const clock = { mono: 5_000_000, unix: NOON }
  const quota = createMemoryQuota({
    consumers: 16,
    toolBuckets: 16,
    monotonicMs: () => clock.mono,
    unixMs: () => clock.unix,
    ...options,
  })
  function pass(ms: number) {
    clock.mono += ms
    clock.unix += ms
  }
  const take = (key: string, limits = {}) => quota.take({ key, limits, nowMs: clock.unix })
  return { quota, clock, pass, take }
}

describe('windows', () => {
  test('calls spread over a minute come back one by one', () => {
    const { take, pass } = at()
    const granted: number[] = []
    for (let second = 0; second < 180; second++) {
      if (take('a', { perMinute: 5 }).granted) granted.push(second)
      pass(1000)
    }
    expect(granted.slice(0, 5)).toEqual([0, 1, 2, 3, 4])
    expect(granted).toHaveLength(15)
    for (let i = 5; i < granted.length; i++) expect(granted[i]! - granted[i - 5]!).toBeGreaterThanOrEqual(60)
  })

  test('a call after retryAfterSecs is granted', () => {
    const { take, pass } = at()
    let refusals = 0
    for (let i = 0; i < 400; i++) {
      pass(i % 7)
      const response = take('a', { perSecond: 3, perMinute: 20 })
      if (response.granted) continue
      refusals++
      pass(response.retryAfterSecs * 1000 + 13)
      expect(take('a', { perSecond: 3, perMinute: 20 }).granted).toBe(true)
    }
    expect(refusals).toBeGreaterThan(20)
  })

  test('statistics omit yesterday and last month', () => {
    const { quota, take, clock } = at()
    take('a', { perDay: 9, perMonth: 90 })
    const row = { key: 'a', dailyLimit: 9, monthlyLimit: 90 }
    expect(quota.statisticsOf('a')).toEqual({ ...row, dailyCount: 1, monthlyCount: 1 })
    clock.unix += 86_400_000
    expect(quota.statisticsOf('a')).toEqual({ ...row, dailyCount: 0, monthlyCount: 1 })
    clock.unix += 30 * 86_400_000
    expect(quota.statisticsOf('a')).toEqual({ ...row, dailyCount: 0, monthlyCount: 0 })
    expect(quota.statisticsOf('b')).toBeUndefined()
  })

  test('advance moves the rolling windows', () => {
    const quota = createMemoryQuota({ consumers: 4, toolBuckets: 4 })
    const take = () => quota.take({ key: 'a', limits: { perMinute: 1 }, nowMs: NOON }).granted
    expect([take(), take()]).toEqual([true, false])
    quota.advance(61_000)
    expect([take(), take()]).toEqual([true, false])
  })
})

describe('limits', () => {
  test.each([0, -5, Number.NaN, undefined])('%s means no limit', limit => {
    const { take } = at()
    for (let i = 0; i < 20; i++)
      expect(take('a', { perSecond: limit, perMinute: limit, perDay: limit, burst: limit }).granted).toBe(
        true,
      )
  })

  test('a limit beyond what is counted is that many, and part of a unit is none', () => {
    const { take } = at()
    expect(take('a', { perMinute: Number.POSITIVE_INFINITY, perDay: 1e15 })).toMatchObject({
      standing: { limit: 2 ** 31 - 1 },
    })
    expect(take('b', { perDay: 1.9 }).granted).toBe(true)
    expect(take('b', { perDay: 1.9 }).granted).toBe(false)
  })
})

describe('the table', () => {
  test('a consumer without a place is refused, and the cause is named', () => {
    const { take, quota } = at({ consumers: 2 })
    take('a', { perDay: 5 })
    take('b', { perDay: 5 })
    expect(take('c', { perMinute: 7, perDay: 5 })).toEqual({
      granted: false,
      kind: 'minute',
      used: 7,
      limit: 7,
      retryAfterSecs: 1,
      standing: { limit: 7, remaining: 0, resetAtSecs: NOON / 1000 + 1 },
      cause: 'table_full',
    })
    expect(quota.health()).toMatchObject({ used: 2, capacity: 2, evicted: 0, turnedAway: 1 })
    // the first limit that applies
    for (const [limits, kind, limit] of [
      [{ perSecond: 3, perMinute: 7 }, 'second', 3],
      [{ perDay: 5, perMonth: 9 }, 'day', 5],
      [{ perMonth: 9, burst: 2 }, 'month', 9],
      [{ burst: 2 }, 'burst', 2],
    ] as const)
      expect(take('c', limits)).toMatchObject({ kind, used: limit, limit, cause: 'table_full' })
  })

  test('only the first consumers are listed by name; all are found by it', () => {
    const { take, quota } = at({ consumers: 8, listed: 3 })
    for (const name of ['a', 'b', 'c', 'd', 'e']) take(name, { perDay: 5 })
    expect(quota.statistics().map(row => row.key)).toEqual(['a', 'b', 'c'])
    expect(quota.statisticsOf('e')?.dailyCount).toBe(1)
    expect(quota.reset('e')).toBe(true)
    expect(quota.statisticsOf('e')?.dailyCount).toBe(0)
  })

  test('a long name is listed cut, whole characters only, and counted whole', () => {
    const { take, quota } = at()
    const name = `tenant/${'é'.repeat(100)}`
    take(name, { perDay: 5 })
    take(`${name}x`, { perDay: 5 })
    const [row] = quota.statistics()
    expect(row!.key).toMatch(/^tenant\/é+…$/)
    expect(Buffer.byteLength(row!.key)).toBeLessThanOrEqual(127)
    expect(quota.statisticsOf(name)?.dailyCount).toBe(1)
  })

  test('a key of another table is refused, not counted for another consumer', () => {
    const { quota } = at()
    expect(() => quota.take({ key: { name: 'a' }, limits: {}, nowMs: NOON })).toThrow(/another store/)
  })

  test('a lock whose thread has ended causes a refusal with its cause, and a waiting thread gets the lock when it is freed', async () => {
    const region = createQuotaRegion({ consumers: 4, toolBuckets: 4 })
    const { quota, take } = at({ region })
    take('a', { perDay: 5 })
    const word = (region.base + region.plan.consumerSlots + SLOT_LOCK) / 4
    const words = new Int32Array(region.memory.buffer)
    words[word] = 77
    const begun = performance.now()
    expect(take('a', { perDay: 5 })).toMatchObject({ granted: false, cause: 'busy' })
    expect(performance.now() - begun).toBeLessThan(10_000)
    // it frees the lock once it has woken a thread that waits for it
    const worker = new Worker(
      `const { parentPort, workerData: { words, word } } = require('node:worker_threads')
       parentPort.postMessage('runs')
       while (Atomics.notify(words, word) === 0);
       Atomics.store(words, word, 0)`,
      { eval: true, workerData: { words, word } },
    )
    try {
      await new Promise(resolve => worker.once('message', resolve))
      expect(take('a', { perDay: 5 })).toMatchObject({ granted: true })
    } finally {
      await worker.terminate()
    }
    expect(quota.statisticsOf('a')?.dailyCount).toBe(2)
  })
})

test('a wait of a whole second and a sub-window is reported as the second', () => {
  expect([1, 999, 1000, 1013, 1014, 2013, 60_001, 60_013].map(retryAfterSecs)).toEqual([
    1, 1, 1, 1, 2, 2, 60, 60,
  ])
})

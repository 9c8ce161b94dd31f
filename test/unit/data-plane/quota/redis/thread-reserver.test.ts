/** Reservations in a thread without a connection to Redis: what it asks the other thread, caches and reports. Each test plays the other thread. */
import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PortLine } from '../../../../../src/base/threads/port-line.ts'
import { createQuotaRegion } from '../../../../../src/data-plane/quota/memory/kernel.ts'
import { type Lacking, TableQuota } from '../../../../../src/data-plane/quota/memory/table-quota.ts'
import type { QuotaRequest } from '../../../../../src/data-plane/quota/quota.ts'
import type { Denial } from '../../../../../src/data-plane/quota/redis/consumer-lease.ts'
import type { Caller, Decided, Reserved } from '../../../../../src/data-plane/quota/redis/thread-messages.ts'
import { ThreadReserver } from '../../../../../src/data-plane/quota/redis/thread-reserver.ts'

const REPORT_MS = 50
const SOON = { timeout: 15_000, interval: 1 }
/** Longer than a machine stalls. */
const PATIENT_MS = 60_000
const GRANTED: Reserved = { outcome: true, denial: undefined, waited: true }

let quota: TableQuota
let reserver: ThreadReserver
let nowMs: number
/** What the other thread was asked, and what it received. */
let asked: [name: string, tool: string | undefined, lacking: Lacking][]
let reports: (readonly Decided[])[]
let respond: (caller: Caller, lacking: Lacking) => Reserved | Promise<Reserved>
let line: PortLine
let far: PortLine

beforeEach(() => {
  // the regular report comes when a test says so
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  nowMs = 10_000
  asked = []
  reports = []
  respond = () => GRANTED
  const clock = { monotonicMs: () => nowMs, unixMs: () => 1_700_000_000_000 }
  quota = new TableQuota(createQuotaRegion({ consumers: 16, toolBuckets: 16 }), clock)
  const { port1, port2 } = new MessageChannel()
  line = new PortLine(port1, {}, 5_000)
  far = new PortLine(port2, {
    'quota.reserve': (caller: Caller, lacking: Lacking) => {
      asked.push([caller.key.name, caller.tool?.key.name, lacking])
      return respond(caller, lacking)
    },
    'quota.decided': (calls: readonly Decided[]) => void reports.push(calls),
  })
  reserver = new ThreadReserver(quota, line, PATIENT_MS)
})
afterEach(async () => {
  reserver.close()
  line.close()
  await expect.poll(() => far.closed, SOON).toBe(true)
  vi.useRealTimers()
})

const limits = { perDay: 100 }
const requestOf = (key: string, more: Partial<QuotaRequest> = {}): QuotaRequest => ({
  key,
  limits,
  nowMs: Date.now(),
  ...more,
})
const reserve = (key: string, lacking: Lacking = 'unit', more: Partial<QuotaRequest> = {}) =>
  reserver.reserve(requestOf(key, more), lacking, undefined)
const tool = { key: 'search', rateLimit: { requestsPerMinute: 60, burst: 5 } }
const denialFor = (ms: number, kind: Denial['kind'] = 'day'): Denial => ({
  kind,
  used: 100,
  limit: 100,
  untilMs: nowMs + ms,
})
/** The other thread refuses, and has a denial that holds for so long. */
function denyFor(ms: number, kind: Denial['kind'] = 'day'): void {
  const denial = denialFor(ms, kind)
  respond = () => ({ outcome: { ...refusal, kind: kind === 'closed' ? 'day' : kind }, denial, waited: true })
}
const refusal = {
  granted: false as const,
  kind: 'day' as const,
  standing: { limit: 100, remaining: 0, resetAtSecs: 1_700_000_001 },
  used: 100,
  limit: 100,
  retryAfterSecs: 1,
}
/** Number of reports, after those on their way have arrived. A poll would advance the timers of the test. */
async function rounds(): Promise<number> {
  await line.ask('quota.reserve', { key: { name: 'last' } }, 'unit')
  return reports.length
}
const totals = () =>
  reports
    .flat()
    .map(({ caller, granted, refused, unitsLeft }) => [caller.key.name, granted, refused, unitsLeft])

describe('a reservation', () => {
  it('is asked for once by all calls that wait for it, and for each consumer and tool by itself', async () => {
    const waiting = [reserve('a'), reserve('a'), reserve('b'), reserve('a', 'tool', { tool })]
    expect(await Promise.all(waiting)).toEqual([true, true, true, true])
    expect(asked).toEqual([
      ['a', undefined, 'unit'],
      ['b', undefined, 'unit'],
      ['a', 'search', 'tool'],
    ])
    expect(await reserve('a')).toBe(true)
    expect(asked).toHaveLength(4)
  })

  it('names the limits and the tool of the call, whose keys the other thread finds again', async () => {
    const callers: Caller[] = []
    respond = caller => {
      callers.push(caller)
      return GRANTED
    }
    await reserve('a', 'tool', { tool })
    await reserve('a', 'tool', { tool, limits: { perDay: 5 } })
    const { a, b, c, d } = quota.table.key('a')
    expect(callers).toMatchObject([
      { key: { name: 'a', words: [a, b, c, d] }, limits, tool: { rateLimit: tool.rateLimit } },
      { key: { name: 'a' }, limits: { perDay: 5 } },
    ])
  })

  it('counts as waited when Redis was asked, and not again when its call has waited already', async () => {
    await reserve('a')
    expect(reserver.waited).toBe(1)
    respond = () => ({ ...GRANTED, waited: false })
    await reserve('a')
    expect(reserver.waited).toBe(1)
    await reserver.reserve(requestOf('a'), 'unit', performance.now())
    respond = () => GRANTED
    await reserver.reserve(requestOf('a'), 'unit', performance.now())
    expect(reserver.waited).toBe(1)
  })

  it('is refused as unavailable when the other thread does not respond in time, fails or has ended', async () => {
    const unavailable = { granted: false, cause: 'store_unavailable', kind: 'day', limit: 100 }
    respond = () => new Promise(() => {})
    const impatient = new ThreadReserver(quota, line)
    const begunMs = performance.now()
    expect(await impatient.reserve(requestOf('a'), 'unit', undefined)).toMatchObject(unavailable)
    expect(performance.now() - begunMs).toBeGreaterThanOrEqual(35)
    expect(impatient.waited).toBe(1)
    impatient.close()
    respond = () => Promise.reject(new Error('broken'))
    expect(await reserve('b')).toMatchObject(unavailable)
    far.close()
    await expect.poll(() => line.closed, SOON).toBe(true)
    expect(await reserve('c')).toMatchObject(unavailable)
  })

  it('does not wait beyond the time that the call has waited already', async () => {
    expect(reserver.reserve(requestOf('a'), 'unit', performance.now() - PATIENT_MS)).toMatchObject({
      granted: false,
      cause: 'store_unavailable',
    })
    expect(asked).toEqual([])
  })
})

describe('a denial', () => {
  it('is cached until it ends, for this consumer alone', async () => {
    denyFor(1_000)
    expect(await reserve('a')).toMatchObject({ granted: false, kind: 'day' })
    nowMs += 999
    expect(reserve('a')).toMatchObject({ granted: false, kind: 'day', used: 100, limit: 100 })
    expect(reserve('b')).toBeInstanceOf(Promise)
    respond = () => GRANTED
    nowMs += 1
    expect(await reserve('a')).toBe(true)
    expect(reserve('a')).toBeInstanceOf(Promise)
  })

  it('of calls in flight does not refuse a call that lacks a unit', async () => {
    denyFor(1_000, 'burst')
    await reserve('a', 'burst', { limits: { burst: 2 } })
    expect(reserve('a', 'burst', { limits: { burst: 2 } })).toMatchObject({ granted: false, kind: 'burst' })
    expect(reserve('a')).toBeInstanceOf(Promise)
  })

  it('that has ended on its way holds for two milliseconds more, so that the next call does not ask at once', async () => {
    denyFor(0)
    await reserve('a')
    expect(reserve('a')).toMatchObject({ granted: false, kind: 'day' })
    nowMs += 2
    expect(reserve('a')).toBeInstanceOf(Promise)
  })

  it('is evicted after a reset of its consumer', async () => {
    denyFor(1_000)
    await Promise.all([reserve('a'), reserve('b')])
    reserver.evictDenials('a')
    expect(reserve('a')).toBeInstanceOf(Promise)
    expect(reserve('b')).not.toBeInstanceOf(Promise)
  })

  it('is reported when it refuses for the first time, and later refusals are counted', async () => {
    denyFor(10_000)
    await reserve('a')
    reserve('a')
    await rounds()
    expect(totals()).toEqual([['a', 0, 1, 0]])
    reserve('a')
    reserve('a')
    vi.advanceTimersByTime(REPORT_MS)
    await expect.poll(totals, SOON).toEqual([
      ['a', 0, 1, 0],
      ['a', 0, 2, 0],
    ])
  })
})

describe('grants', () => {
  it('are reported together, each once, with what is left', async () => {
    reserver.handleGrant(requestOf('a'), 90)
    reserver.handleGrant(requestOf('a'), 89)
    reserver.handleGrant(requestOf('b', { tool }), 50)
    vi.advanceTimersByTime(REPORT_MS - 1)
    expect(await rounds()).toBe(0)
    vi.advanceTimersByTime(1)
    await expect.poll(totals, SOON).toEqual([
      ['a', 2, 0, 89],
      ['b', 1, 0, 50],
    ])
    expect(reports[0]![1]!.caller.tool).toMatchObject({ key: { name: 'search' } })
    reserver.handleGrant(requestOf('a'), 88)
    vi.advanceTimersByTime(REPORT_MS)
    await expect.poll(() => totals().slice(2), SOON).toEqual([['a', 1, 0, 88]])
    vi.advanceTimersByTime(REPORT_MS)
    expect(await rounds()).toBe(2)
  })

  it.each([
    ['falls to 40 percent of the maximum', [100, 41, 40], ['a', 3, 0, 40]],
    ['is used up', [1, 0], ['a', 2, 0, 0]],
  ])('are reported at once when what is left %s', async (_, unitsLeft, report) => {
    for (const left of unitsLeft) reserver.handleGrant(requestOf('a'), left)
    await rounds()
    expect(totals()).toEqual([report])
  })

  it('are not reported at once again while what is left stays low, but are when it has risen and falls again', async () => {
    for (const left of [100, 40, 39, 38]) reserver.handleGrant(requestOf('a'), left)
    await rounds()
    expect(totals()).toEqual([['a', 2, 0, 40]])
    for (const left of [50, 20]) reserver.handleGrant(requestOf('a'), left)
    await rounds()
    expect(totals()[1]).toEqual(['a', 4, 0, 20])
  })

  it('are reported before the thread ends', async () => {
    reserver.handleGrant(requestOf('a'), 90)
    reserver.close()
    await rounds()
    expect(totals()).toEqual([['a', 1, 0, 90]])
  })
})

describe('a consumer without calls', () => {
  it('is evicted after five seconds, with its denial', async () => {
    denyFor(60_000)
    await Promise.all([reserve('a'), reserve('b')])
    nowMs += 4_000
    reserve('b')
    nowMs += 1_001
    // the first report is about what b has refused
    vi.advanceTimersByTime(2 * REPORT_MS)
    expect(reserve('b')).not.toBeInstanceOf(Promise)
    expect(reserve('a')).toBeInstanceOf(Promise)
  })
})

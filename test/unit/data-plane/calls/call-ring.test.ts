/** The ring of calls: what it keeps, overwrites and finds; summaries and details of calls; and how the rings of several threads are read as one. */
import { describe, expect, it } from 'vitest'
import { CallDetails } from '../../../../src/data-plane/calls/call-details.ts'
import { CallRing } from '../../../../src/data-plane/calls/call-ring.ts'
import { type EveryThread, ProcessCalls, readCursor } from '../../../../src/data-plane/calls/process-calls.ts'
import { RecordedCalls } from '../../../../src/data-plane/calls/recorded-calls.ts'
import { shownSummary } from '../../../../src/link/call-summary.ts'
import { SEPARATOR } from '../../../../src/model/call-figures.ts'
import { aPrincipal, aTool, compiled, exchange, peerAddressOf } from '../../../fixtures/exchange.ts'

const OPERATION = { action: 'tools.call', tool: 'get_order', arguments: {} } as const
const NOW_MS = Date.parse('2026-11-22T20:00:00Z')

function ended(fields: object = {}, init: object = {}) {
  const one = exchange({ operation: OPERATION, receivedAtMs: NOW_MS, ...init })
  Object.assign(one, { principal: aPrincipal(), tenant: 'acme', tool: compiled(aTool()), ...fields })
  return one
}

const numbersOf = (rows: readonly { readonly request_bytes: number }[]) => rows.map(row => row.request_bytes)

function filled(count: number, capacity: number): CallRing {
  const ring = new CallRing(1, name => `<${name}>`, capacity)
  for (let at = 0; at < count; at++) ring.record(ended({ requestBytes: at }), 'success', 200, false)
  return ring
}

describe('a ring', () => {
  it('keeps the latest calls and pages through them', () => {
    const ring = filled(25, 10)
    const first = ring.before({}, undefined, 6)
    expect(numbersOf(first.rows)).toEqual([24, 23, 22, 21, 20, 19])
    expect(numbersOf(ring.before({}, first.next, 6).rows)).toEqual([18, 17, 16, 15])
    expect(ring.window).toEqual({ calls: 10, capacity: 10, sinceMs: NOW_MS })
    expect([ring.row(14), ring.row(25)]).toEqual([undefined, undefined])
    expect(ring.row(15)?.request_bytes).toBe(15)
  })

  it('returns what came since a position, and counts what it had to leave out', () => {
    const ring = filled(25, 10)
    expect(ring.after({}, 20, 100)).toMatchObject({ next: 25, missed: 0 })
    const late = ring.after({}, 3, 4)
    expect(numbersOf(late.rows)).toEqual([21, 22, 23, 24])
    expect(late.missed).toBe(12 + 6)
  })

  it('shows the name of an unknown tool through the given function, and keeps no long one', () => {
    const ring = new CallRing(1, name => `<${name}>`, 4)
    const unknown = (tool: string) => ended({ tool: undefined }, { operation: { ...OPERATION, tool } })
    ring.record(unknown('ghost'), 'tool_not_found', 404, false)
    ring.record(unknown('x'.repeat(5000)), 'tool_not_found', 404, false)
    const [long, short] = ring.before({}, undefined, 2).rows
    expect(short).toMatchObject({ tool: null, requested_tool: '<ghost>', kind: 'refused' })
    expect(long?.requested_tool?.length).toBeLessThan(64)
  })
})

describe('a summary', () => {
  const WINDOW = { fromMs: NOW_MS, toMs: NOW_MS + 10_000, parts: 2 }
  const recorded = (capacity: number) =>
    new RecordedCalls(new CallRing(1, name => name, capacity), new CallDetails('masked', peerAddressOf))
  const key = (...parts: string[]) => parts.join(SEPARATOR)

  it('counts calls by tool, caller, reason and part of the time', () => {
    const calls = recorded(100)
    const at = (receivedAtMs: number, fields: object = {}) => ended(fields, { receivedAtMs })
    const other = { principal: aPrincipal({ consumer: 'other' }), tenant: 'globex' }
    calls.record(at(NOW_MS - 1), 'success', 200)
    for (let ms = 0; ms < 10_000; ms += 2_500) calls.record(at(NOW_MS + ms), 'success', 200)
    calls.record(at(NOW_MS + 6_000, other), 'backend_timeout', 504)
    calls.record(at(NOW_MS + 7_000, { ...other, tool: undefined }), 'tool_not_found', 404)
    calls.record(at(NOW_MS + 10_000), 'success', 200)
    const { total, series, tools, consumers, refusals, failures } = calls.summary(WINDOW, NOW_MS)
    expect(total).toMatchObject({ calls: 6, refused: 1, failed: 1, lastAtMs: NOW_MS + 7_500 })
    expect([...total.latency.values()].reduce((sum, calls) => sum + calls, 0)).toBe(5)
    expect(series.map(one => one.calls)).toEqual([2, 4])
    const { toolSet, name } = compiled(aTool()).tool
    const counts = (groups: typeof tools) => [...groups].map(([group, { calls }]) => [group, calls])
    expect(counts(tools)).toEqual([[key(toolSet, name), 5]])
    const own = aPrincipal().consumer
    expect(counts(consumers).sort()).toEqual(
      [
        [key('acme', own), 4],
        [key('globex', 'other'), 2],
      ].sort(),
    )
    expect(counts(refusals)).toEqual([[key('tool_not_found', 'globex', 'other'), 1]])
    expect(counts(failures)).toEqual([[key('backend_timeout', name), 1]])
  })

  it('covers what is still recorded, of the tenant that it is limited to', () => {
    const calls = recorded(4)
    for (let ms = 0; ms < 7; ms++)
      calls.record(
        ended({ tenant: ms % 2 === 0 ? 'acme' : 'globex' }, { receivedAtMs: NOW_MS + ms }),
        'success',
        200,
      )
    expect(calls.summary(WINDOW, NOW_MS + 10)).toMatchObject({
      total: { calls: 4, lastAtMs: NOW_MS + 6 },
      coveredFromMs: NOW_MS + 3,
      coveredToMs: NOW_MS + 10,
    })
    expect(calls.summary({ ...WINDOW, within: 'globex' }, NOW_MS + 10).total).toMatchObject({
      calls: 2,
      lastAtMs: NOW_MS + 5,
    })
  })

  it('has the rates of the time until it was counted, though the question reaches into the future', () => {
    const calls = recorded(10)
    for (let ms = 0; ms < 8; ms++)
      calls.record(ended({}, { receivedAtMs: NOW_MS + ms * 100 }), 'success', 200)
    const shown = shownSummary(calls.summary(WINDOW, NOW_MS + 1000), WINDOW.fromMs, WINDOW.toMs)
    expect(shown).toMatchObject({ covered_s: 1, rates: { calls: 8 } })
    expect(shown.series).toHaveLength(WINDOW.parts)
  })

  it('is counted once for all that ask for the same moment, and again after a failure', async () => {
    const thread = recorded(10)
    let asked = 0
    const calls = new ProcessCalls((async (_name: 'summary', query: typeof WINDOW) => {
      asked++
      if (asked === 1) throw new Error('the thread is being replaced')
      return [thread.summary(query, NOW_MS)]
    }) as unknown as EveryThread)
    await expect(calls.summary(WINDOW)).rejects.toThrow('replaced')
    const [first, second] = await Promise.all([calls.summary(WINDOW), calls.summary({ ...WINDOW })])
    expect(second).toBe(first)
    expect(asked).toBe(2)
    expect((await calls.summary({ ...WINDOW, toMs: WINDOW.toMs + 1000 })).total.calls).toBe(0)
    expect(asked).toBe(3)
  })
})

describe('details', () => {
  /** A timed call of so many ms on the monotonic clock. */
  const timed = (startedAt: number, durationMs = 0) => ({ timings: [], startedAt, durationMs })

  it('are kept of a bounded number of calls a second, of successful ones only with timings', () => {
    const details = new CallDetails('masked', peerAddressOf)
    const kept = Array.from({ length: 250 }, () => details.takes(timed(5_000), true))
    expect(kept.filter(Boolean)).toHaveLength(40)
    expect(details.takes(timed(6_000), true)).toBe(true)
    expect(details.takes({ ...timed(7_000), timings: undefined }, true)).toBe(false)
    expect(details.takes({ ...timed(7_000), timings: undefined }, false)).toBe(true)
  })

  it('are kept of no more calls a second where calls end in another order than they began', () => {
    const details = new CallDetails('masked', peerAddressOf)
    details.watch(NOW_MS)
    let kept = 0
    for (let call = 0; call < 500; call++) {
      // they end within one second, and began in any of ten
      const durationMs = ((call * 7) % 10) * 1_000
      if (details.takes(timed(20_000 + call - durationMs, durationMs), true)) kept++
      const startedAt = 20_000 + call - (call % 3) * 1_000
      expect(details.isWanted({ receivedAtMs: NOW_MS, startedAt })).toBe(kept < 40)
    }
    expect(kept).toBe(40)
  })

  it('are wanted for a while after a look', () => {
    const details = new CallDetails('none', peerAddressOf)
    const wanted = (afterMs: number) =>
      details.isWanted({ receivedAtMs: NOW_MS + afterMs, startedAt: 1_000 + afterMs })
    expect(wanted(0)).toBe(false)
    details.watch(NOW_MS)
    expect([wanted(14_000), wanted(16_000)]).toEqual([true, false])
  })
})

describe('the rings of several threads', () => {
  const threads = [1, 2].map(
    worker =>
      new RecordedCalls(new CallRing(worker, name => name, 100), new CallDetails('masked', peerAddressOf)),
  )
  const every = (async (name: 'before' | 'after', query: object, positions: undefined, limit: number) =>
    threads.map(one => one[name](query, positions, limit, NOW_MS))) as unknown as EveryThread
  const calls = new ProcessCalls(every)

  it('are paged as one, each call once, also where the order of ends is not that of the starts', async () => {
    const total = 40
    for (let at = 0; at < total; at++) {
      const receivedAtMs = NOW_MS + ((at * 7) % 20)
      threads[at % 3 === 0 ? 0 : 1]!.record(ended({ requestBytes: at }, { receivedAtMs }), 'success', 200)
    }
    const seen: number[] = []
    let positions: Parameters<typeof calls.before>[1]
    for (let page = 0; page < 20; page++) {
      const next = await calls.before({}, positions, 7)
      seen.push(...numbersOf(next.rows))
      positions = next.positions
      if (!next.more) break
    }
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, at) => at))
  })

  it('continue after a position, with those of a thread that has started since', async () => {
    const { positions } = await calls.after({}, undefined, 10)
    threads.push(
      new RecordedCalls(new CallRing(3, name => name, 100), new CallDetails('masked', peerAddressOf)),
    )
    threads[2]!.record(ended({ requestBytes: 100 }), 'success', 200)
    threads[0]!.record(ended({ requestBytes: 101 }), 'success', 200)
    const next = await calls.after({}, positions, 10)
    expect(numbersOf(next.rows).sort()).toEqual([100, 101])
    expect(Object.keys(next.positions)).toHaveLength(3)
  })

  it.each(['', 'x', '0000000g:1', '00000000:-1', `${'00000000:1,'.repeat(70)}00000000:1`])(
    'have no position %j',
    text => expect(readCursor(text)).toBeUndefined(),
  )
})

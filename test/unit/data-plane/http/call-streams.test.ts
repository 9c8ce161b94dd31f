/** Streams of recorded calls: how often a busy stream receives an event, and that no call is lost without a count. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CallDetails } from '../../../../src/data-plane/calls/call-details.ts'
import { CallRing } from '../../../../src/data-plane/calls/call-ring.ts'
import { type EveryThread, ProcessCalls } from '../../../../src/data-plane/calls/process-calls.ts'
import { type Positions, RecordedCalls } from '../../../../src/data-plane/calls/recorded-calls.ts'
import type { Call } from '../../../../src/data-plane/http/call.ts'
import { positionsOf } from '../../../../src/data-plane/http/call-parameters.ts'
import { CallStreams } from '../../../../src/data-plane/http/call-streams.ts'
import { aPrincipal, aTool, compiled, exchange, peerAddressOf } from '../../../fixtures/exchange.ts'

interface Event {
  readonly calls: readonly object[]
  readonly missed: number
  readonly id: string
}

const thread = () =>
  new RecordedCalls(new CallRing(1, name => name, 1000), new CallDetails('masked', peerAddressOf))

describe('a stream of recorded calls', () => {
  let recorded: RecordedCalls
  let streams: CallStreams
  let events: Event[]
  let polls: number
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 })
    recorded = thread()
    events = []
    polls = 0
    const every = (async (_name: 'after', ...args: [object, Positions, number]) => {
      polls++
      return [recorded.after(...args, Date.now())]
    }) as unknown as EveryThread
    streams = new CallStreams({
      calls: new ProcessCalls(every),
      access: { open: () => () => {} },
      nowMs: Date.now,
    })
    open(events, undefined)
  })
  afterEach(() => {
    streams.close()
    vi.useRealTimers()
  })

  function open(received: Event[], last: Positions): void {
    const write = (text: string): boolean => {
      const data = /^data: (.*)$/m.exec(text)?.[1]
      const id = /^id: (.*)$/m.exec(text)?.[1] ?? ''
      if (data !== undefined) received.push({ ...(JSON.parse(data) as Event), id })
      return true
    }
    const call = { eventStream: () => ({ write, end() {}, bufferedBytes: 0 }), response: { onAbort() {} } }
    const one = exchange({ operation: { action: 'admin', resource: 'calls' } })
    streams.open(call as unknown as Call, one, {}, last)
  }

  function record(calls: number): void {
    const operation = { action: 'tools.call', tool: 'get_order', arguments: {} } as const
    for (let at = 0; at < calls; at++) {
      const one = exchange({ operation, receivedAtMs: Date.now() })
      Object.assign(one, { principal: aPrincipal(), tenant: 'acme', tool: compiled(aTool()) })
      recorded.record(one, 'success', 200)
    }
  }
  const counted = () => events.reduce((sum, { calls, missed }) => sum + calls.length + missed, 0)

  it('receives a few calls within a quarter of a second', async () => {
    await vi.advanceTimersByTimeAsync(250)
    events.length = 0
    record(3)
    await vi.advanceTimersByTimeAsync(250)
    expect(events).toMatchObject([{ missed: 0, calls: [{}, {}, {}] }])
  })

  it('receives an event in three quarters of a second while more calls come than it holds, and each call is counted', async () => {
    await vi.advanceTimersByTimeAsync(250)
    events.length = 0
    for (let at = 0; at < 120; at++) {
      record(20)
      await vi.advanceTimersByTimeAsync(25)
    }
    // three seconds
    expect(events.length).toBeGreaterThanOrEqual(4)
    expect(events.length).toBeLessThanOrEqual(5)
    await vi.advanceTimersByTimeAsync(1000)
    expect(counted()).toBe(120 * 20)
    events.length = 0
    record(1)
    await vi.advanceTimersByTimeAsync(250)
    expect(events, 'at once again').toMatchObject([{ missed: 0, calls: [{}] }])
  })

  it('resumes where each client has stopped, also while an old connection of it is still open', async () => {
    await vi.advanceTimersByTimeAsync(250)
    const last = positionsOf(events[0]!.id, 'Last-Event-ID')
    const halfOpen: Event[] = []
    open(halfOpen, last)
    record(3)
    await vi.advanceTimersByTimeAsync(250)
    expect(halfOpen.at(-1)).toMatchObject({ missed: 0, calls: [{}, {}, {}] })
    const again: Event[] = []
    open(again, last)
    record(2)
    await vi.advanceTimersByTimeAsync(500)
    expect(again.flatMap(({ calls }) => calls)).toHaveLength(5)
    expect(again.at(-1)!.id).toBe(events.at(-1)!.id)
  })

  it('polls once for clients that resume at the place where a stream is', async () => {
    await vi.advanceTimersByTimeAsync(250)
    for (let at = 0; at < 5; at++) open([], positionsOf(events[0]!.id, 'Last-Event-ID'))
    await vi.advanceTimersByTimeAsync(250)
    const before = polls
    await vi.advanceTimersByTimeAsync(250)
    expect(polls - before).toBe(1)
  })
})

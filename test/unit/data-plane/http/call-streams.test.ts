/** Streams of recorded calls: how often a busy stream receives an event, and that no call is lost without a count. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CallDetails } from '../../../../src/data-plane/calls/call-details.ts'
import { CallRing } from '../../../../src/data-plane/calls/call-ring.ts'
import { type EveryThread, ProcessCalls } from '../../../../src/data-plane/calls/process-calls.ts'
import { RecordedCalls } from '../../../../src/data-plane/calls/recorded-calls.ts'
import type { Call } from '../../../../src/data-plane/http/call.ts'
import { CallStreams } from '../../../../src/data-plane/http/call-streams.ts'
import { aPrincipal, aTool, compiled, exchange } from '../../../fixtures/exchange.ts'

interface Event {
  readonly calls: readonly object[]
  readonly missed: number
}

const thread = () => new RecordedCalls(new CallRing(1, name => name, 1000), new CallDetails('masked'))

describe('a stream of recorded calls', () => {
  let recorded: RecordedCalls
  let streams: CallStreams
  let events: Event[]
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 })
    recorded = thread()
    events = []
    const every = (async (_name: 'after', ...args: [object, undefined, number]) => [
      recorded.after(...args, Date.now()),
    ]) as unknown as EveryThread
    streams = new CallStreams({
      calls: new ProcessCalls(every),
      snapshot: () => undefined,
      nowMs: Date.now,
    })
    const write = (text: string): boolean => {
      const data = /^data: (.*)$/m.exec(text)?.[1]
      if (data !== undefined) events.push(JSON.parse(data) as Event)
      return true
    }
    const call = { eventStream: () => ({ write, end() {}, bufferedBytes: 0 }), response: { onAbort() {} } }
    const caller = { ...aPrincipal(), expiresAtMs: Number.MAX_SAFE_INTEGER }
    streams.open(call as unknown as Call, caller, {}, undefined)
  })
  afterEach(() => {
    streams.close()
    vi.useRealTimers()
  })

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
})

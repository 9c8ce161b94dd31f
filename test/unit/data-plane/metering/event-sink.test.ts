/** The loop between the spool and a taker: batches of a slow trickle are gathered, full ones are not delayed. */
import { afterEach, expect, it, vi } from 'vitest'
import { EventSink } from '../../../../src/data-plane/metering/event-sink.ts'
import { createLogger } from '../../../../src/telemetry/logger.ts'

const GATHER_MS = 250
const log = createLogger('silent')

function openSink(waiting: number[], maxBatch: number) {
  const batches: number[][] = []
  const sink = new EventSink<number>({
    source: { read: maxEvents => waiting.splice(0, maxEvents), commit: async () => {} },
    take: async events => {
      batches.push([...events])
      return events.length
    },
    taker: 'the test',
    maxBatch,
    gatherMs: GATHER_MS,
    onFault: () => {},
    log,
  })
  return { sink, batches }
}

afterEach(() => vi.useRealTimers())

it('gathers events between two batches', async () => {
  vi.useFakeTimers()
  const waiting = [1]
  const { sink, batches } = openSink(waiting, 100)
  await vi.advanceTimersByTimeAsync(1)
  waiting.push(2)
  await vi.advanceTimersByTimeAsync(GATHER_MS - 10)
  waiting.push(3)
  expect(batches).toEqual([[1]])
  await vi.advanceTimersByTimeAsync(20)
  expect(batches).toEqual([[1], [2, 3]])
  await sink.close()
})

it('takes the next batch at once after a full one, and all that waits when it is closed', async () => {
  vi.useFakeTimers()
  const waiting = [1, 2, 3, 4, 5]
  const { sink, batches } = openSink(waiting, 2)
  await vi.advanceTimersByTimeAsync(1)
  expect(batches).toEqual([[1, 2], [3, 4], [5]])
  waiting.push(6, 7)
  await sink.close()
  expect(batches.flat()).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(sink.counts.taken).toBe(7)
})

/** A taker of at most two events of a batch in 10 ms, which rejects the second attempt. */
function openPartial(waiting: number[]) {
  const attempts: number[][] = []
  const attemptsAtCommit: number[] = []
  const sink = new EventSink<number>({
    source: {
      read: maxEvents => waiting.splice(0, maxEvents),
      commit: async () => void attemptsAtCommit.push(attempts.length),
    },
    async take(events) {
      attempts.push([...events])
      if (attempts.length === 2) throw new Error('refused')
      await new Promise(resolve => setTimeout(resolve, 10))
      return Math.min(2, events.length)
    },
    taker: 'the test',
    maxBatch: 100,
    onFault: () => {},
    log,
  })
  return { sink, attempts, attemptsAtCommit }
}

it('passes only the rest of a batch again, and commits when all of it is taken', async () => {
  vi.useFakeTimers()
  const { sink, attempts, attemptsAtCommit } = openPartial([1, 2, 3, 4, 5])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(attempts).toEqual([[1, 2, 3, 4, 5], [3, 4, 5], [3, 4, 5], [5]])
  expect(attemptsAtCommit).toEqual([4])
  expect(sink.counts).toEqual({ taken: 5, failures: 1 })
  await sink.close()
})

it('stops within a batch, without a commit, when the time to close is over', async () => {
  vi.useFakeTimers()
  const { sink, attempts, attemptsAtCommit } = openPartial(Array.from({ length: 100 }, (_, at) => at))
  await vi.advanceTimersByTimeAsync(300)
  const closed = sink.close(25)
  await vi.advanceTimersByTimeAsync(25)
  await closed
  const before = attempts.length
  await vi.advanceTimersByTimeAsync(1_000)
  expect(attempts.length).toBe(before)
  expect(attemptsAtCommit).toEqual([])
})

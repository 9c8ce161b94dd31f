/** The loop between the spool and a taker: batches of a slow trickle are gathered, full ones are not delayed. It reads no spool. */
import { afterEach, expect, it, vi } from 'vitest'
import { EventSink } from '../../../../src/data-plane/metering/event-sink.ts'
import { createLogger } from '../../../../src/shared/telemetry/logger.ts'

const GATHER_MS = 250
const log = createLogger('silent')

function openSink(waiting: number[], maxBatch: number) {
  const batches: number[][] = []
  const sink = new EventSink<number>({
    source: { read: maxEvents => waiting.splice(0, maxEvents), commit: async () => {} },
    take: async events => void batches.push([...events]),
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

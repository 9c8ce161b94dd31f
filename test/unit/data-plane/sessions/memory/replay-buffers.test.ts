/** Buffers of resumable streams: their bounds for each stream and for all together, and when they are evicted. */
import { expect, it } from 'vitest'
import { ReplayBuffers } from '../../../../../src/data-plane/sessions/memory/replay-buffers.ts'

const KIB = 1024

it('evicts the oldest streams when all together are too large', () => {
  const buffers = new ReplayBuffers(() => 0, 100 * KIB)
  for (let at = 0; at < 20; at++) buffers.append(`s${at}`, { n: 0, data: 'x'.repeat(10 * KIB) })
  expect(buffers.totalBytes).toBe(100 * KIB)
  expect(buffers.replay('s9', -1)).toBeUndefined()
  expect(buffers.replay('s10', -1)?.events).toHaveLength(1)
  expect(buffers.replay('s19', -1)?.events).toHaveLength(1)
})

it('does not resume a stream that was evicted while it went on, as if its first events had never been', () => {
  const buffers = new ReplayBuffers(() => 0, 30 * KIB)
  for (let n = 0; n < 2; n++) buffers.append('one', { n, data: 'x'.repeat(10 * KIB) })
  for (let n = 0; n < 2; n++) buffers.append('other', { n, data: 'x'.repeat(10 * KIB) })
  expect(buffers.replay('one', -1)).toBeUndefined()
  buffers.append('one', { n: 2, data: 'x' })
  expect(buffers.replay('one', -1)).toBeUndefined()
  expect(buffers.replay('one', 0)).toBeUndefined()
  expect(buffers.replay('one', 1)?.events.map(({ n }) => n)).toEqual([2])
})

it('keeps at most 10,000 streams, the newest', () => {
  const buffers = new ReplayBuffers(() => 0)
  for (let at = 0; at < 10_000; at++) buffers.append(`s${at}`, { n: 0, data: 'x' })
  expect(buffers.replay('s0', -1)).toBeDefined()
  buffers.append('one more', { n: 0, data: 'x' })
  expect(buffers.replay('s0', -1)).toBeUndefined()
  expect(['s1', 's9999', 'one more'].filter(id => buffers.replay(id, -1) === undefined)).toEqual([])
})

it('keeps the only stream there is, however large its last event', () => {
  const buffers = new ReplayBuffers(() => 0, KIB)
  buffers.append('one', { n: 0, data: 'x'.repeat(10 * KIB) })
  expect(buffers.replay('one', -1)?.events).toHaveLength(1)
})

it('counts nothing after all streams were evicted', () => {
  let nowMs = 0
  const buffers = new ReplayBuffers(() => nowMs)
  for (let n = 0; n < 1000; n++) buffers.append(`s${n % 7}`, { n, data: 'x'.repeat(n) })
  buffers.finish('s1')
  nowMs = 61_000
  buffers.sweep()
  expect(buffers.replay('s1', 999)).toBeUndefined()
  expect(buffers.replay('s2', 999)).toBeDefined()
  nowMs = 601_000
  buffers.sweep()
  expect(buffers.totalBytes).toBe(0)
})

it('keeps exactly 256 events and 256 KiB of a stream', () => {
  const buffers = new ReplayBuffers(() => 0)
  for (let n = 0; n < 256; n++) buffers.append('many', { n, data: 'x' })
  expect(buffers.replay('many', -1)?.events).toHaveLength(256)
  buffers.append('many', { n: 256, data: 'x' })
  expect(buffers.replay('many', -1)).toBeUndefined()
  expect(buffers.replay('many', 0)?.events).toHaveLength(256)
  for (let n = 0; n < 4; n++) buffers.append('wide', { n, data: 'x'.repeat(64 * KIB) })
  expect(buffers.replay('wide', -1)?.events).toHaveLength(4)
  buffers.append('wide', { n: 4, data: 'x' })
  expect(buffers.replay('wide', -1)).toBeUndefined()
  expect(buffers.replay('wide', 0)?.events).toHaveLength(4)
})

it('keeps a finished stream for a minute, and another for ten without an event', () => {
  let nowMs = 0
  const buffers = new ReplayBuffers(() => nowMs)
  for (const stream of ['done', 'open']) buffers.append(stream, { n: 0, data: 'x' })
  buffers.finish('done')
  buffers.finish('unknown')
  expect(buffers.replay('unknown', -1)).toBeUndefined()
  const kept = (afterMs: number) => {
    nowMs = afterMs
    buffers.sweep()
    return ['done', 'open'].map(stream => buffers.replay(stream, -1) !== undefined)
  }
  expect([60_000, 60_001, 600_000, 600_001].map(kept)).toEqual([
    [true, true],
    [false, true],
    [false, true],
    [false, false],
  ])
  expect(buffers.totalBytes).toBe(0)
})

/** Ids of calls are read as they were written, in rings of any length, also while a group is not full. */
import { expect, it } from 'vitest'
import { CallIds } from '../../../../src/data-plane/calls/call-ids.ts'
import { randomFrom } from '../../../fixtures/fuzz-cases.ts'

it.each([1, 2, 255, 256, 257, 300, 512, 1000])('reads the ids of the last %i calls', capacity => {
  const ids = new CallIds(capacity)
  const random = randomFrom(capacity)
  const kept = new Map<number, readonly [string, string]>()
  let wrong = 0
  for (let call = 0; call < 4 * capacity + 700; call++) {
    const slot = call % capacity
    const pair = [
      `${call}-`.padEnd(Math.floor(random() * 129), 'ab.'),
      String(call).padStart(32, '0'),
    ] as const
    ids.write(slot, ...pair)
    kept.set(slot, pair)
    // now and then, so that groups are read in all states
    if (random() > 0.05) continue
    for (const [at, [requestId, traceId]] of kept)
      if (ids.requestId(at) !== requestId || ids.traceId(at) !== traceId) wrong++
  }
  expect(wrong).toBe(0)
  expect(kept.size).toBe(capacity)
})

it('cuts longer ids, and keeps empty ones', () => {
  const ids = new CallIds(3)
  ids.write(0, 'r'.repeat(200), 't'.repeat(40))
  ids.write(1, '', '')
  ids.write(2, 'r', 't')
  expect([ids.requestId(0), ids.traceId(0)]).toEqual(['r'.repeat(128), 't'.repeat(32)])
  expect([ids.requestId(1), ids.traceId(1), ids.requestId(2), ids.traceId(2)]).toEqual(['', '', 'r', 't'])
})

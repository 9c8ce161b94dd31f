/** Units that a store outside the process leases to the table: spent until the lease ends, dropped after it. */
import { describe, expect, test } from 'vitest'
import {
  HASHED,
  READ_DAY,
  RESERVING_BURST,
  RESERVING_CONSUMERS,
  TAKE_BURST_UNRESERVED,
  TAKE_GRANTED,
  TAKE_UNRESERVED,
} from '../../../../src/data-plane/quota/memory/abi.ts'
import { NOON, smallTable } from './window/region.ts'

const LIMITS = { day: 100 }

/** A consumer that holds five units from 1,000 ms until `untilMs`. */
function leased(untilMs: number) {
  const made = smallTable()
  const { table, kernel, out, take } = made
  table.reserve(RESERVING_CONSUMERS)
  expect(take('a', 1000, NOON, LIMITS)).toBe(TAKE_UNRESERVED)
  table.writeKey(table.key('a'))
  expect(kernel.quotaReserve(HASHED, 0, 5, 0, 1000, NOON)).toBe(1)
  table.writeKey(table.key('a'))
  expect(kernel.quotaCredit(HASHED, 0, 5, 5, out[READ_DAY / 4]!, untilMs)).toBe(1)
  return made
}

describe('a lease', () => {
  test('is spent until it ends and not after, though units are left', () => {
    const { take } = leased(3200)
    expect(take('a', 1000, NOON, LIMITS)).toBe(TAKE_GRANTED)
    expect(take('a', 3199, NOON, LIMITS)).toBe(TAKE_GRANTED)
    expect(take('a', 3200, NOON, LIMITS)).toBe(TAKE_UNRESERVED)
    expect(take('a', 9000, NOON, LIMITS)).toBe(TAKE_UNRESERVED)
  })

  test('that has no end is spent at any time', () => {
    const { take } = leased(0)
    for (let calls = 0; calls < 5; calls++) expect(take('a', 9000, NOON, LIMITS)).toBe(TAKE_GRANTED)
    expect(take('a', 9000, NOON, LIMITS)).toBe(TAKE_UNRESERVED)
  })

  test('that has ended is dropped when the next begins: its units do not add up', () => {
    const { table, kernel, out, take } = leased(3200)
    table.writeKey(table.key('a'))
    expect(kernel.quotaBegin(HASHED, 0, 4000, NOON)).toBe(1)
    table.writeKey(table.key('a'))
    expect(kernel.quotaCredit(HASHED, 0, 0 + 1, 2, out[READ_DAY / 4]!, 6000)).toBe(1)
    const statuses = [1, 2, 3].map(() => take('a', 4000, NOON, LIMITS))
    expect(statuses).toEqual([TAKE_GRANTED, TAKE_GRANTED, TAKE_UNRESERVED])
  })
})

test('slots of calls in flight are not taken after the lease that they came with', () => {
  const { table, kernel, out, take } = smallTable()
  table.reserve(RESERVING_BURST)
  const key = table.key('a')
  const burst = { burst: 4 }
  expect(take('a', 1000, NOON, burst)).toBe(TAKE_BURST_UNRESERVED)
  table.writeKey(key)
  expect(kernel.quotaShare(HASHED, 2)).toBe(1)
  table.writeKey(key)
  expect(kernel.quotaBegin(HASHED, 0, 1000, NOON)).toBe(1)
  table.writeKey(key)
  expect(kernel.quotaCredit(HASHED, 0, 1, 0, out[READ_DAY / 4]!, 3200)).toBe(1)
  expect(take('a', 3199, NOON, burst)).toBe(TAKE_GRANTED)
  expect(take('a', 3200, NOON, burst)).toBe(TAKE_BURST_UNRESERVED)
})

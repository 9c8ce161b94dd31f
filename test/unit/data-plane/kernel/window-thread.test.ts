/** A thread of the quota table that has ended, wherever it was: its locks and its calls in flight are released, those of other threads are not. */
import { describe, expect, test } from 'vitest'
import {
  BUSY,
  CONSUMER_STRIDE,
  HEAD_CONSUMERS,
  HEAD_TOOLS,
  OUT_SLOT,
  OUT_STUCK,
  READ_IN_FLIGHT,
  TABLE_INDEX,
  TABLE_MASK,
  TAKE_BUSY,
  TAKE_GRANTED,
  TAKE_REFUSED,
} from '../../../../src/data-plane/quota/memory/abi.ts'
import { joinQuotaRegion, type QuotaRegion, shareOf } from '../../../../src/data-plane/quota/memory/kernel.ts'
import { QuotaTable } from '../../../../src/data-plane/quota/memory/table.ts'
import { NOON, smallTable } from './window/region.ts'

const TOOL = { toolRate: 60, toolBurst: 5 }
const NOW = 1_000_000
/** Of a lock in its slot, in each table. */
const LOCK_AT = 24

/** The table of the first thread, and those of two more. They are of one thread here: they take turns. */
function threeThreads() {
  const first = smallTable({ threads: 3 })
  const share = shareOf(first.region)
  const [second, third] = [1, 2].map(thread => new QuotaTable(joinQuotaRegion(share, thread)))
  return { ...first, second: second!, third: third! }
}

function takeOn(table: QuotaTable, key: string, burst = 0): number {
  return table.kernel.quotaTake(table.writeKey(key), 0, NOW, NOON, 0, 0, 100, 0, burst, 0, 0)
}

/** What a thread leaves that is ended while it holds a lock: its word holds the address of the scratch area. */
function lockAs(table: QuotaTable, { memory }: QuotaRegion, address: number): void {
  const word = new Int32Array(memory.buffer, address, 1)
  expect(Atomics.compareExchange(word, 0, 0, table.out.byteOffset)).toBe(0)
}

describe('a thread that has ended', () => {
  test.each([
    ['a consumer', (plan: QuotaRegion['plan']) => plan.consumerSlots + LOCK_AT],
    ['a tool', (plan: QuotaRegion['plan']) => plan.toolSlots + LOCK_AT],
  ])('with the lock of %s: the next call waits for it, and is decided once it is detached', (_, of) => {
    const { region, table, take, out, second, third } = threeThreads()
    expect(take('a', NOW, NOON, { day: 10, ...TOOL })).toBe(TAKE_GRANTED)
    const word = region.base + of(region.plan)
    lockAs(second, region, word)
    expect(take('a', NOW, NOON, { day: 10, ...TOOL })).toBe(TAKE_BUSY)
    expect(out[OUT_STUCK / 4]).toBe(word)
    table.detach(2)
    expect(take('a', NOW, NOON, { day: 10, ...TOOL })).toBe(TAKE_BUSY)
    table.detach(1)
    expect(take('a', NOW, NOON, { day: 10, ...TOOL })).toBe(TAKE_GRANTED)
    expect(takeOn(third, 'a')).toBe(TAKE_GRANTED)
  })

  test.each([
    ['consumers', HEAD_CONSUMERS],
    ['tools', HEAD_TOOLS],
  ])('with the lock of the table of %s: its index is built again, and new keys are counted', (_, at) => {
    const { region, table, take, second } = threeThreads()
    const keys = Array.from({ length: 40 }, (_, i) => `consumer-${i}`)
    for (const key of keys) expect(take(key, NOW, NOON, { day: 2, ...TOOL })).toBe(TAKE_GRANTED)
    lockAs(second, region, region.base + at)
    // an entry that was moved, and not yet removed from its former place
    const view = new DataView(region.memory.buffer, region.base)
    const index = view.getUint32(at + TABLE_INDEX, true)
    const entries = Array.from({ length: view.getUint32(at + TABLE_MASK, true) + 1 }, (_, i) => index + i * 4)
    const taken = entries.find(entry => view.getUint32(entry, true) !== 0)!
    const free = entries.find(entry => view.getUint32(entry, true) === 0)!
    view.setUint32(free, view.getUint32(taken, true), true)
    expect(take('new', NOW, NOON, { day: 2, ...TOOL })).toBe(TAKE_BUSY)
    table.detach(1)
    expect(entries.filter(entry => view.getUint32(entry, true) !== 0)).toHaveLength(40)
    expect(take('new', NOW, NOON, { day: 2, ...TOOL })).toBe(TAKE_GRANTED)
    for (const key of keys) {
      expect(take(key, NOW, NOON, { day: 2, ...TOOL })).toBe(TAKE_GRANTED)
      expect(take(key, NOW, NOON, { day: 2, ...TOOL })).toBe(TAKE_REFUSED)
    }
  })

  test('with calls in flight: they are released, those of other threads stay, and its successor counts from zero', () => {
    const { region, table, kernel, out, take, second, third } = threeThreads()
    const read = (key: string): number => {
      const slot = table.find(key)
      expect(slot).not.toBe(BUSY)
      expect(kernel.quotaRead(slot, NOW, NOON)).toBe(1)
      return out[READ_IN_FLIGHT / 4]!
    }
    for (const key of ['a', 'b'])
      for (let i = 0; i < 3; i++) expect(takeOn(second, key, 5)).toBe(TAKE_GRANTED)
    second.kernel.quotaRelease(second.out[OUT_SLOT / 4]!)
    expect(takeOn(third, 'a', 5)).toBe(TAKE_GRANTED)
    expect(take('a', NOW, NOON, { burst: 5 })).toBe(TAKE_GRANTED)
    expect(takeOn(third, 'a', 5)).toBe(TAKE_REFUSED)
    expect([read('a'), read('b')]).toEqual([5, 2])
    table.detach(1)
    expect([read('a'), read('b')]).toEqual([2, 0])
    table.detach(1)
    expect([read('a'), read('b')]).toEqual([2, 0])

    const successor = new QuotaTable(joinQuotaRegion(shareOf(region), 1))
    expect(takeOn(successor, 'a', 5)).toBe(TAKE_GRANTED)
    const slot = successor.out[OUT_SLOT / 4]!
    expect((slot - region.base - region.plan.consumerSlots) % CONSUMER_STRIDE).toBe(0)
    table.detach(1)
    expect(read('a')).toBe(2)
    third.kernel.quotaRelease(slot)
    expect(read('a')).toBe(1)
    table.detach(2)
    expect(read('a')).toBe(1)
  })
})

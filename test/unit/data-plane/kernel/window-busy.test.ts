/** Calls that meet a lock of another thread: they name the lock to wait for, and a search during an eviction is repeated. */
import { describe, expect, test } from 'vitest'
import {
  BUSY,
  HASHED,
  HEAD_CONSUMERS,
  OUT_SLOT,
  OUT_STUCK,
  READ_DAY,
  READ_DAY_COUNT,
  RESERVING_CONSUMERS,
  TAKE_GRANTED,
  TAKE_UNRESERVED,
} from '../../../../src/data-plane/quota/memory/abi.ts'
import { NOON, smallTable } from './window/region.ts'

const LIMITS = { day: 100 }
/** `Slot.lock` in assembly/window-slot.ts. */
const SLOT_LOCK = 24
const OTHER_THREAD = 1

/** A consumer, the words of the memory, and the addresses of its slot, its index entry and the table's lock. */
function consumer() {
  const made = smallTable()
  const { region, out, take, table } = made
  table.reserve(RESERVING_CONSUMERS)
  expect(take('a', 1000, NOON, LIMITS)).toBe(TAKE_UNRESERVED)
  const words = new Int32Array(region.memory.buffer)
  const indexAt = region.base + region.plan.consumerIndex
  let entryAt = indexAt
  while (words[entryAt / 4] === 0) entryAt += 4
  expect(entryAt).toBeLessThan(region.base + region.plan.consumerSlots)
  return { ...made, words, slot: out[OUT_SLOT / 4]!, entryAt, tableLock: region.base + HEAD_CONSUMERS }
}

/** What a reader sees that searched while an eviction moved the entry: nothing, and the table is locked. */
function duringEviction<T>({ words, entryAt, tableLock }: ReturnType<typeof consumer>, call: () => T): T {
  const entry = words[entryAt / 4]!
  Atomics.store(words, tableLock / 4, OTHER_THREAD)
  Atomics.store(words, entryAt / 4, 0)
  const result = call()
  Atomics.store(words, entryAt / 4, entry)
  Atomics.store(words, tableLock / 4, 0)
  return result
}

describe('a slot that another thread has locked', () => {
  test('is named by calls that have to wait for it', () => {
    const { kernel, table, out, slot, words } = consumer()
    const key = () => table.writeKey('a')
    const calls: [string, () => number][] = [
      ['export', () => kernel.quotaExport(0, 1000, NOON, 0)],
      ['read', () => kernel.quotaRead(0, 1000, NOON)],
      ['pairs', () => kernel.quotaPairs(0, 0, 1000, NOON)],
      ['reset', () => kernel.quotaReset(key(), NOON)],
      ['reserve', () => kernel.quotaReserve(key(), 0, 1, 0, 1000, NOON)],
      ['credit', () => kernel.quotaCredit(key(), 0, 1, 1, 0, 0)],
      ['surrender', () => kernel.quotaSurrender(key(), 0)],
      ['begin', () => kernel.quotaBegin(key(), 0, 1000, NOON)],
      ['share', () => kernel.quotaShare(key(), 1)],
      ['assume', () => kernel.quotaAssume(key(), 0, 1, 1, 1000, NOON)],
    ]
    Atomics.store(words, (slot + SLOT_LOCK) / 4, OTHER_THREAD)
    for (const [name, call] of calls) {
      out[OUT_STUCK / 4] = 0
      expect([name, call(), out[OUT_STUCK / 4]]).toEqual([name, BUSY, slot + SLOT_LOCK])
    }
  })
})

describe('a key that a search misses because an eviction moves the index', () => {
  test('is not unknown: units are credited once the table is free', () => {
    const made = consumer()
    const { kernel, table, out, take, tableLock } = made
    const key = table.key('a')
    table.writeKey(key)
    expect(kernel.quotaReserve(HASHED, 0, 5, 0, 1000, NOON)).toBe(1)
    const day = out[READ_DAY / 4]!
    const credit = () => {
      table.writeKey(key)
      return kernel.quotaCredit(HASHED, 0, 5, 5, day, 0)
    }
    expect(duringEviction(made, credit)).toBe(BUSY)
    expect(out[OUT_STUCK / 4]).toBe(tableLock)
    expect(credit()).toBe(1)
    expect(take('a', 1000, NOON, LIMITS)).toBe(TAKE_GRANTED)
  })

  test('is not unknown: its counts are reset and found', () => {
    const made = consumer()
    const { kernel, table, out, take, tableLock } = made
    table.reserve(0)
    expect(take('a', 1000, NOON, LIMITS)).toBe(TAKE_GRANTED)
    expect(duringEviction(made, () => kernel.quotaReset(table.writeKey('a'), NOON))).toBe(BUSY)
    expect(out[OUT_STUCK / 4]).toBe(tableLock)
    expect(duringEviction(made, () => kernel.quotaFind(table.writeKey('a')))).toBe(BUSY)
    expect(kernel.quotaReset(table.writeKey('a'), NOON)).toBe(1)
    expect(table.find('a')).toBe(0)
    expect(table.find('b')).toBeLessThan(0)
    expect(kernel.quotaRead(0, 1000, NOON)).toBe(1)
    expect(out[READ_DAY_COUNT / 4]).toBe(0)
  })

  test('is unknown when it has no slot: the table is not left locked', () => {
    const { kernel, table, words, tableLock } = consumer()
    expect(kernel.quotaBegin(table.writeKey('b'), 0, 1000, NOON)).toBeLessThan(BUSY)
    expect(kernel.quotaReset(table.writeKey('b'), NOON)).toBe(0)
    expect(words[tableLock / 4]).toBe(0)
  })
})

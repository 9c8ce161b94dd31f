/** The table of consumers: slots are found, made, reclaimed; a full one evicts only the idle; a million fit. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  OUT_NEW,
  OUT_SLOT,
  READ_DAY_COUNT,
  TAKE_FULL,
  TAKE_GRANTED,
} from '../../../../src/data-plane/quota/memory/abi.ts'
import { createQuotaRegion } from '../../../../src/data-plane/quota/memory/kernel.ts'
import { planRegion } from '../../../../src/data-plane/quota/memory/region.ts'
import { QuotaTable } from '../../../../src/data-plane/quota/memory/table.ts'
import { NOON, smallTable } from './window/region.ts'

const MINUTE = { minute: 1000 }
/** `UNKNOWN` in assembly/window-abi.ts: the key has no slot. */
const UNKNOWN = -2

describe('keys', () => {
  test('a cached slot is used only after checking that it still holds the key', () => {
    const { table, kernel, out, take } = smallTable({ consumers: 2, toolBuckets: 1 })
    const [a, b, c] = ['a', 'b', 'c'].map(name => table.key(name))
    const placed = (key: typeof a, monoMs: number) => {
      const status = kernel.quotaTake(table.placeKey(key!), 0, monoMs, NOON, 0, 1000, 0, 0, 0, 0, 0)
      kernel.quotaRelease(out[OUT_SLOT / 4]!)
      return status
    }
    expect(placed(a, 1000)).toBe(TAKE_GRANTED)
    a!.at = out[OUT_SLOT / 4]!
    expect(placed(b, 1000)).toBe(TAKE_GRANTED)
    expect(out[OUT_SLOT / 4]).not.toBe(a!.at)
    expect(placed(a, 1000)).toBe(TAKE_GRANTED)
    expect(out[OUT_SLOT / 4]).toBe(a!.at)
    // Both are idle: the next two evict them, and the cached slot of the first holds another key.
    const late = 200_000
    expect(placed(c, late)).toBe(TAKE_GRANTED)
    c!.at = out[OUT_SLOT / 4]!
    take('d', late, NOON, MINUTE)
    kernel.quotaRelease(out[OUT_SLOT / 4]!)
    expect([c!.at, out[OUT_SLOT / 4]]).toContain(a!.at)
    expect(placed(a, late)).toBe(TAKE_FULL)
    expect(placed(c, late)).toBe(TAKE_GRANTED)
    expect(out[OUT_SLOT / 4]).toBe(c!.at)
    expect(kernel.quotaRead(kernel.quotaFind(table.writeKey('c')), late, NOON)).toBe(1)
    expect(out[READ_DAY_COUNT / 4]).toBe(2)
    // An address outside the slots is not read.
    for (const nonsense of [4, c!.at + 64, c!.at + 512, 2 ** 29]) {
      c!.at = nonsense
      expect(placed(c, late)).toBe(TAKE_GRANTED)
    }
    expect(kernel.quotaRead(kernel.quotaFind(table.writeKey('c')), late, NOON)).toBe(1)
    expect(out[READ_DAY_COUNT / 4]).toBe(6)
  })

  test('each key has a separate counter, for any bytes and length', () => {
    const { take, table, kernel, out } = smallTable({ consumers: 8192 })
    const expected = new Map<string, number>()
    const key = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ maxLength: 40 }),
      fc.nat(300).map(n => 'x'.repeat(n)),
      fc.nat(30).map(n => `${'long/'.repeat(200)}${n}`),
    )
    fc.assert(
      fc.property(key, raw => {
        const name = Buffer.from(raw).toString()
        expect(take(name, 1000, NOON, MINUTE)).toBe(TAKE_GRANTED)
        expected.set(name, (expected.get(name) ?? 0) + 1)
      }),
      { numRuns: 4000 },
    )
    expect(expected.size).toBeGreaterThan(1000)
    for (const [name, count] of expected) {
      expect(kernel.quotaRead(kernel.quotaFind(table.writeKey(name)), 1000, NOON)).toBe(1)
      expect([name, out[READ_DAY_COUNT / 4]]).toEqual([name, count])
    }
  })

  test('a prepared key is the same consumer as its name', () => {
    const { table, kernel, take, out } = smallTable()
    take('acme/agent', 1000, NOON, MINUTE)
    const slot = out[OUT_SLOT / 4]
    const length = table.writeKey(table.key('acme/agent'))
    expect(kernel.quotaTake(length, 0, 1001, NOON, 0, 1000, 0, 0, 0, 0, 0)).toBe(TAKE_GRANTED)
    expect(out[OUT_SLOT / 4]).toBe(slot)
    expect(out[OUT_NEW / 4]).toBe(0)
  })

  test('the hash is SipHash-1-3 with 128 bits (digest of 64 vectors made in C after the reference code)', () => {
    const region = createQuotaRegion({ consumers: 8, toolBuckets: 8 })
    const seed = new Uint8Array(region.memory.buffer, region.base + 16, 16)
    for (let i = 0; i < 16; i++) seed[i] = i
    const table = new QuotaTable(region)
    const digest = createHash('sha256')
    for (let length = 0; length < 64; length++) {
      const text = String.fromCharCode(...Array.from({ length }, (_, i) => i))
      const { a, b, c, d } = table.key(text)
      digest.update(Buffer.from(Uint32Array.of(a, b, c, d).buffer))
    }
    expect(digest.digest('hex')).toBe(REFERENCE)
  })
})

const REFERENCE = '58cbba5178d829c27ef56e1b54bdf3db60957320e97f2fd6c8b270a7eecc0cca'

describe('a full table', () => {
  test('refuses new keys while every slot is in use, and counts the refusals', () => {
    const { take, table } = smallTable({ consumers: 16 })
    for (let i = 0; i < 16; i++) expect(take(`c${i}`, 1000, NOON, MINUTE)).toBe(TAKE_GRANTED)
    expect(take('late', 30_000, NOON, MINUTE)).toBe(TAKE_FULL)
    expect(table.health()).toEqual({ used: 16, capacity: 16, evicted: 0, turnedAway: 1 })
    // A consumer that has a slot keeps it.
    expect(take('c3', 30_000, NOON, MINUTE)).toBe(TAKE_GRANTED)
  })

  test('reuses the slots of the idle only: nothing in flight, no open window, no count of a limit in force', () => {
    const { take, table, kernel, out } = smallTable({ consumers: 4 })
    expect(take('in-flight', 1000, NOON, { minute: 5 })).toBe(TAKE_GRANTED)
    expect(take('daily', 1000, NOON, { day: 5 })).toBe(TAKE_GRANTED)
    kernel.quotaRelease(out[OUT_SLOT / 4]!)
    expect(take('monthly', 1000, NOON, { month: 5 })).toBe(TAKE_GRANTED)
    kernel.quotaRelease(out[OUT_SLOT / 4]!)
    expect(take('open', 60_000, NOON, { minute: 5 })).toBe(TAKE_GRANTED)
    kernel.quotaRelease(out[OUT_SLOT / 4]!)
    const soon = 62_001
    expect(take('new-1', soon, NOON, MINUTE)).toBe(TAKE_FULL)
    const later = 60_000 + 61_001
    expect(take('new-2', later, NOON, MINUTE)).toBe(TAKE_GRANTED)
    expect(kernel.quotaFind(table.writeKey('open'))).toBe(UNKNOWN)
    expect(take('new-3', later, NOON, MINUTE)).toBe(TAKE_FULL)
    const tomorrow = NOON + 86_400_000
    expect(take('new-3', later, tomorrow, MINUTE)).toBe(TAKE_GRANTED)
    expect(kernel.quotaFind(table.writeKey('daily'))).toBe(UNKNOWN)
    expect(take('new-4', later, tomorrow, MINUTE)).toBe(TAKE_FULL)
    expect(take('new-4', later, NOON + 31 * 86_400_000, MINUTE)).toBe(TAKE_GRANTED)
    expect(kernel.quotaFind(table.writeKey('monthly'))).toBe(UNKNOWN)
    expect(kernel.quotaFind(table.writeKey('in-flight'))).toBeGreaterThanOrEqual(0)
    expect(table.health()).toMatchObject({ evicted: 3, turnedAway: 3 })
  })

  test('a newcomer in the place of another starts from zero', () => {
    const { take, kernel, out, table } = smallTable({ consumers: 1 })
    for (let i = 0; i < 5; i++) {
      take('old', 1000, NOON, { minute: 5 })
      kernel.quotaRelease(out[OUT_SLOT / 4]!)
    }
    expect(take('new', 70_000, NOON, { minute: 1, day: 1 })).toBe(TAKE_GRANTED)
    expect(out[OUT_NEW / 4]).toBe(1)
    expect(kernel.quotaRead(kernel.quotaFind(table.writeKey('new')), 70_000, NOON)).toBe(1)
    expect(out[READ_DAY_COUNT / 4]).toBe(1)
  })

  test('through 60,000 calls of 997 consumers in 64 slots no consumer in use loses its slot', () => {
    const { take, table, kernel, out } = smallTable({ consumers: 64 })
    let now = 1000
    const recent = new Map<string, { at: number; count: number }>()
    let full = 0
    for (let i = 0; i < 60_000; i++) {
      now += (i * 7919) % 2500
      const name = `n${(i * 104_729) % 997}`
      const status = take(name, now, NOON, MINUTE)
      if (status === TAKE_FULL) {
        full++
        continue
      }
      expect(status).toBe(TAKE_GRANTED)
      kernel.quotaRelease(out[OUT_SLOT / 4]!)
      const before = recent.get(name)
      const open = before !== undefined && now - before.at < 60_000
      const isNew = out[OUT_NEW / 4] === 1
      if (isNew) expect(open).toBe(false)
      const count = isNew ? 1 : before!.count + 1
      recent.set(name, { at: now, count })
      const found = kernel.quotaRead(kernel.quotaFind(table.writeKey(name)), now, NOON)
      // called only with a difference: so many calls of expect take seconds
      if (found !== 1 || out[READ_DAY_COUNT / 4] !== count)
        expect([name, found, out[READ_DAY_COUNT / 4]]).toEqual([name, 1, count])
    }
    expect(table.health().evicted).toBeGreaterThan(10_000)
    expect(table.health().used).toBe(64)
    expect(full).toBeLessThan(60_000)
  })

  test('an idle tool bucket is one that is full again', () => {
    const { take, kernel, out } = smallTable({ toolBuckets: 2 })
    const limits = { toolRate: 60, toolBurst: 10 }
    for (const tool of ['x', 'y']) {
      expect(take('a', 1000, NOON, limits, tool)).toBe(TAKE_GRANTED)
      kernel.quotaRelease(out[OUT_SLOT / 4]!)
    }
    expect(take('a', 1999, NOON, limits, 'z')).toBe(TAKE_FULL)
    expect(take('a', 2000, NOON, limits, 'z')).toBe(TAKE_GRANTED)
  })
})

test('a million consumers fit in 256 MiB, and each gets a new slot', () => {
  const plan = planRegion({ consumers: 1_000_000, toolBuckets: 1, listed: 16_384 })
  expect(plan.bytes).toBeLessThanOrEqual(256 * 2 ** 20)
  const region = createQuotaRegion({ consumers: 1_000_000, toolBuckets: 1, listed: 16_384 })
  expect(region.memory.buffer.byteLength).toBeLessThanOrEqual(257 * 2 ** 20)
  const table = new QuotaTable(region)
  for (let i = 0; i < 1_000_000; i++) {
    const length = table.writeKey(`tenant-${i % 1000}/consumer-${i}`)
    const status = table.kernel.quotaTake(length, 0, 1000, NOON, 5, 60, 10_000, 100_000, 0, 0, 0)
    if (status !== TAKE_GRANTED || table.out[OUT_NEW / 4] !== 1)
      expect([i, status, table.out[OUT_NEW / 4]]).toEqual([i, TAKE_GRANTED, 1])
  }
  expect(table.health()).toEqual({ used: 1_000_000, capacity: 1_000_000, evicted: 0, turnedAway: 0 })
  const length = table.writeKey('tenant-0/one-too-many')
  expect(table.kernel.quotaTake(length, 0, 1000, NOON, 5, 60, 0, 0, 0, 0, 0)).toBe(TAKE_FULL)
})

test.each([
  ['consumers', 0],
  ['consumers', 2 ** 21],
  ['toolBuckets', 1.5],
  ['listed', Number.NaN],
])('a region with %s = %d is refused by name', (option, value) => {
  expect(() => planRegion({ [option]: value })).toThrow(`${option} is ${value}`)
})

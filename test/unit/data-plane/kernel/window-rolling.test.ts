/** Rolling windows against the log: never more than the limit anywhere, never refused without cause, at least 59/60 of it under load. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OUT_SLOT, TAKE_GRANTED, TAKE_REFUSED } from '../../../../src/data-plane/quota/memory/abi.ts'
import { countAfter, maxInWindow } from './window/oracle.ts'
import { NOON, smallTable } from './window/region.ts'

const SOAK = process.env.SOAK === '1'
const WINDOWS = [
  { name: 'second', field: 'second', lengthMs: 1000 },
  { name: 'minute', field: 'minute', lengthMs: 60_000 },
] as const

/** Waits between calls, as parts of the window: bursts, a steady trickle, long breaks, the clock going back. */
const wait = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.double({ min: 0, max: 0.02, noNaN: true }) },
  { weight: 2, arbitrary: fc.double({ min: 0, max: 0.6, noNaN: true }) },
  { weight: 1, arbitrary: fc.double({ min: 0.9, max: 1.1, noNaN: true }) },
  { weight: 1, arbitrary: fc.double({ min: 1, max: 40, noNaN: true }) },
  { weight: 1, arbitrary: fc.double({ min: -3, max: 0, noNaN: true }) },
)
const limit = fc.oneof(
  fc.integer({ min: 1, max: 12 }),
  fc.integer({ min: 1, max: 300 }),
  fc.integer({ min: 240, max: 3000 }),
)
const bursts = fc.array(fc.record({ wait, calls: fc.integer({ min: 1, max: 60 }) }), {
  minLength: 1,
  maxLength: 120,
})

describe.each(WINDOWS)('rolling $name', ({ field, lengthMs }) => {
  test('no window admits more than its limit and no refusal is early, however clock and arrivals go', () => {
    const { take } = smallTable({ consumers: 4096 })
    let consumer = 0
    fc.assert(
      fc.property(limit, bursts, fc.integer({ min: 0, max: 1e9 }), (limit, bursts, start) => {
        const key = `consumer-${consumer++}`
        const quantum = Math.ceil(limit / 255)
        const admitted: number[] = []
        let now = 10_000_000 + start
        // the first wait may be negative: what counts is the newest time that a call has brought
        let newest = 0
        for (const { wait, calls } of bursts) {
          now = Math.max(1, now + Math.round(wait * lengthMs))
          newest = Math.max(newest, now)
          for (let i = 0; i < calls; i++) {
            const status = take(key, now, NOON, { [field]: limit })
            if (status === TAKE_GRANTED) {
              admitted.push(newest)
              continue
            }
            expect(status).toBe(TAKE_REFUSED)
            const recent = countAfter(admitted, newest - lengthMs - lengthMs / 80 - 1)
            expect(recent).toBeGreaterThanOrEqual(limit - (quantum - 1))
          }
        }
        expect(maxInWindow(admitted, lengthMs)).toBeLessThanOrEqual(limit)
      }),
      { numRuns: SOAK ? 1500 : 400 },
    )
  })

  test.each([1, 2, 5, 59, 60, 61, 100, 254, 255, 256, 257, 511, 1000, 5000, 123_457])(
    'a limit of %i is used to at least 59/60 under saturation and never exceeded',
    limit => {
      const { take, kernel, out } = smallTable()
      const stepMs = Math.max(1, lengthMs / 2000)
      const windows = limit > 10_000 ? 3 : 6
      const perStep = Math.ceil((limit / lengthMs) * stepMs * 3) + 1
      const admitted: number[] = []
      const begin = 5_000_011
      const end = begin + windows * lengthMs
      for (let now = begin; now < end; now += stepMs)
        for (let i = 0; i < perStep && take('a', now, NOON, { [field]: limit }) === TAKE_GRANTED; i++) {
          admitted.push(now)
          // the call ends at once: calls in flight have a separate bound, far below this limit
          kernel.quotaRelease(out[OUT_SLOT / 4]!)
        }
      expect(maxInWindow(admitted, lengthMs)).toBeLessThanOrEqual(limit)
      // The first window is full at once; the rest comes back sub-window by sub-window.
      expect(admitted.length).toBeGreaterThanOrEqual(
        Math.floor(limit * (1 + (windows - 1) * (1 - 1 / 60))) - (windows - 1),
      )
    },
  )

  test('a limit that changes under way holds from then on, and what was used before still counts', () => {
    const { take } = smallTable({ consumers: 4096 })
    let consumer = 0
    fc.assert(
      fc.property(
        fc.array(fc.record({ limit, wait, calls: fc.integer({ min: 1, max: 400 }) }), {
          minLength: 2,
          maxLength: 40,
        }),
        phases => {
          const key = `changing-${consumer++}`
          const admitted: number[] = []
          let now = 50_000_000
          for (const { limit, wait, calls } of phases) {
            now += Math.max(0, Math.round(wait * lengthMs))
            for (let i = 0; i < calls; i++) {
              if (take(key, now, NOON, { [field]: limit }) !== TAKE_GRANTED) break
              admitted.push(now)
              expect(countAfter(admitted, now - lengthMs)).toBeLessThanOrEqual(limit)
            }
          }
        },
      ),
      { numRuns: SOAK ? 600 : 150 },
    )
  })

  test('the wait that a refusal names is enough, and one millisecond less is not', () => {
    fc.assert(
      fc.property(limit, bursts, (limit, bursts) => {
        const { take, out } = smallTable()
        let now = 1_000_000
        for (const { wait, calls } of bursts) {
          now += Math.max(0, Math.round(wait * lengthMs))
          for (let i = 0; i < calls; i++) {
            if (take('a', now, NOON, { [field]: limit }) === TAKE_GRANTED) continue
            const waitMs = out[7]!
            expect(take('a', now + waitMs - 1, NOON, { [field]: limit })).toBe(TAKE_REFUSED)
            expect(take('a', now + waitMs, NOON, { [field]: limit })).toBe(TAKE_GRANTED)
            return
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})

test('the first unit of an idle consumer comes back after the window itself, not a sub-window later', () => {
  for (const start of [1_000_000, 1_000_001, 1_000_374, 1_000_749, 1_000_750]) {
    const { take } = smallTable()
    expect(take('a', start, NOON, { minute: 1 })).toBe(TAKE_GRANTED)
    expect(take('a', start + 60_000, NOON, { minute: 1 })).toBe(TAKE_REFUSED)
    expect(take('a', start + 60_001, NOON, { minute: 1 })).toBe(TAKE_GRANTED)
  }
})

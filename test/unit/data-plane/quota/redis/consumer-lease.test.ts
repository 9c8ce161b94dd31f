/** How many units an instance leases for a consumer, and what a caller reads in a cached denial; both without a Redis. */
import { describe, expect, it } from 'vitest'
import { HashedKey } from '../../../../../src/data-plane/quota/memory/table.ts'
import {
  ConsumerLease,
  type Denial,
  refusalOf,
} from '../../../../../src/data-plane/quota/redis/consumer-lease.ts'
import type { PlanLimits } from '../../../../../src/model/plan.ts'

const LEASE_MS = 2_000

function leaseAt(nowMs: number, limits: PlanLimits = { perDay: 1_000 }): ConsumerLease {
  return new ConsumerLease('a', new HashedKey('a', [1, 2, 3, 4]), limits, nowMs)
}

describe('the units of a lease', () => {
  it('cover half as much again as the rate of the calls in one lease time', () => {
    const lease = leaseAt(0)
    lease.asked = 100
    // 100 calls in 4 s: 50 in one lease time
    expect(lease.wantedUnits(4_000, LEASE_MS)).toBe(75)
    lease.lengthMs = 5 * LEASE_MS
    expect(lease.wantedUnits(4_000, LEASE_MS)).toBe(375)
  })

  it('are at most eight for each call, so that a first call does not take all', () => {
    const lease = leaseAt(0)
    lease.asked = 1
    expect(lease.wantedUnits(1, LEASE_MS)).toBe(8)
    lease.asked = 2
    expect(lease.wantedUnits(1, LEASE_MS)).toBe(16)
  })

  it('double while leases are used up within half their time, and not later', () => {
    const lease = leaseAt(0)
    lease.asked = 10
    lease.granted = 100
    expect(lease.wantedUnits(999, LEASE_MS)).toBe(200)
    expect(lease.wantedUnits(1_000, LEASE_MS)).toBe(30)
  })

  it('are none where only the calls in flight are limited', () => {
    const lease = leaseAt(0, { burst: 5 })
    lease.asked = 100
    expect(lease.wantedUnits(1_000, LEASE_MS)).toBe(0)
    for (const limit of ['perSecond', 'perMinute', 'perDay', 'perMonth'])
      expect(leaseAt(0, { [limit]: 5 }).wantedUnits(1_000, LEASE_MS)).toBe(1)
  })

  it('are at least one and at most 10,000', () => {
    const lease = leaseAt(0)
    expect(lease.wantedUnits(10_000, LEASE_MS)).toBe(1)
    lease.asked = 1_000_000
    expect(lease.wantedUnits(1_000, LEASE_MS)).toBe(10_000)
    lease.asked = 0
    lease.granted = 9_000
    expect(lease.wantedUnits(10, LEASE_MS)).toBe(10_000)
  })
})

describe('a denial of a consumer', () => {
  const denial = (kind: Denial['kind']): Denial => ({ kind, used: 5, limit: 5, untilMs: 1_500 })
  const lease = leaseAt(0)

  it('refuses until it ends', () => {
    lease.denial = denial('day')
    expect(lease.denialFor('unit', 1_499)).toBe(lease.denial)
    expect(lease.denialFor('unit', 1_500)).toBeUndefined()
  })

  it('of calls in flight refuses those alone that lack a slot', () => {
    lease.denial = denial('burst')
    expect(lease.denialFor('burst', 1_000)).toBe(lease.denial)
    expect(lease.denialFor('unit', 1_000)).toBeUndefined()
  })

  it('holds while its successor is requested, and is evicted with a reset', () => {
    lease.denial = undefined
    lease.renewal = denial('second')
    expect(lease.denialFor('unit', 1_600)).toEqual({ ...lease.renewal, untilMs: 1_601 })
    lease.denial = denial('day')
    lease.evictDenials()
    expect(lease.denialFor('unit', 1_000)).toBeUndefined()
  })

  it('says when the window is free again', () => {
    const unixMs = Date.UTC(2026, 10, 22, 12)
    const request = { key: 'a', limits: { perDay: 5 }, nowMs: unixMs }
    const refusal = (kind: Denial['kind']) => refusalOf(denial(kind), request, 1_000, unixMs)
    const standing = (resetMs: number) => ({ limit: 5, remaining: 0, resetAtSecs: Math.ceil(resetMs / 1000) })
    expect(refusal('day')).toEqual({
      granted: false,
      kind: 'day',
      used: 5,
      limit: 5,
      standing: standing(Date.UTC(2026, 10, 23)),
      retryAfterSecs: 12 * 3600,
    })
    expect(refusal('month')).toMatchObject({
      standing: standing(Date.UTC(2026, 11, 1)),
      retryAfterSecs: 8.5 * 86_400,
    })
    for (const kind of ['second', 'minute', 'burst', 'tool'] as const)
      expect(refusal(kind)).toMatchObject({ kind, standing: standing(unixMs + 500), retryAfterSecs: 1 })
    expect(refusal('closed')).toMatchObject({ kind: 'day', cause: 'store_unavailable', retryAfterSecs: 1 })
  })
})

/** The subscription's life cycle: which moves are legal, what each leaves behind, and the limits that follow. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  approve,
  change,
  expire,
  limitsOf,
  reject,
  resume,
  revoke,
  SUBSCRIPTION_STATUSES,
  type Subscription,
  suspend,
} from '../../../src/model/subscription.ts'

const T0 = new Date('2026-01-01T00:00:00Z')
const later = (ms: number) => new Date(T0.getTime() + ms)

function subscription(fields: Partial<Subscription> = {}): Subscription {
  return {
    id: 'sub_1',
    tenantId: 'ten_1',
    apiId: 'api_1',
    productId: null,
    plan: 'silver',
    application: 'shop',
    subscriberTenantId: null,
    callbackUrl: null,
    status: 'pending_approval',
    reason: null,
    rateLimit: null,
    quota: null,
    ttlSeconds: null,
    expiresAt: null,
    approvedAt: null,
    requestedPlan: null,
    metadata: {},
    suspendedAt: null,
    expiryAnnounced: null,
    revokedAt: null,
    revision: 1,
    createdAt: T0,
    updatedAt: T0,
    ...fields,
  }
}

describe('approving a subscription', () => {
  it('moves a pending one to approved and keeps the overrides', () => {
    const result = approve(subscription(), { rateLimit: 10, quota: 500 }, later(1))
    expect(result).toMatchObject({
      ok: true,
      changed: true,
      value: { status: 'approved', rateLimit: 10, quota: 500, approvedAt: later(1), expiresAt: null },
    })
  })

  it('starts a ttl at the approval, not at the request', () => {
    const result = approve(subscription({ ttlSeconds: 60 }), {}, later(5_000))
    expect(result.ok && result.value.expiresAt).toEqual(later(65_000))
  })

  it('refuses one whose expiry date has passed', () => {
    expect(approve(subscription({ expiresAt: later(10) }), {}, later(10))).toMatchObject({ ok: false })
  })

  it.each(SUBSCRIPTION_STATUSES.filter(status => status !== 'pending_approval'))(
    'refuses one that is %s and names the state',
    status => {
      const result = approve(subscription({ status }), {}, T0)
      expect(result.ok).toBe(false)
      expect(!result.ok && result.reason).toContain(status)
    },
  )
})

describe('ending a subscription', () => {
  it.each(SUBSCRIPTION_STATUSES.filter(status => status !== 'revoked'))(
    'revokes one that is %s, with the reason',
    status => {
      expect(revoke(subscription({ status }), 'unpaid', T0)).toMatchObject({
        ok: true,
        changed: true,
        value: { status: 'revoked', reason: 'unpaid', revokedAt: T0 },
      })
    },
  )

  it('changes nothing when it is revoked already: the first reason stays', () => {
    const revoked = subscription({ status: 'revoked', reason: 'first' })
    expect(revoke(revoked, 'second', T0)).toEqual({ ok: true, changed: false, value: revoked })
  })

  it('expires an approved one exactly when its time has come', () => {
    const approved = subscription({ status: 'approved', expiresAt: later(100) })
    expect(expire(approved, later(99)).ok).toBe(false)
    expect(expire(approved, later(100))).toMatchObject({ ok: true, value: { status: 'expired' } })
  })

  it('expires neither a pending nor a revoked one', () => {
    for (const status of ['pending_approval', 'revoked'] as const) {
      expect(expire(subscription({ status, expiresAt: T0 }), later(1)).ok).toBe(false)
    }
  })

  it('never leaves revoked, whatever the order of moves', () => {
    const move = fc.constantFrom('approve', 'revoke', 'expire')
    fc.assert(
      fc.property(fc.array(move, { maxLength: 8 }), fc.array(move, { maxLength: 8 }), (before, after) => {
        const run = (start: Subscription, moves: string[]) =>
          moves.reduce((current, name, index) => {
            const at = later(index * 50)
            const result =
              name === 'approve'
                ? approve(current, {}, at)
                : name === 'revoke'
                  ? revoke(current, null, at)
                  : expire(current, at)
            return result.ok ? result.value : current
          }, start)
        const ended = revoke(run(subscription({ ttlSeconds: 0.1 }), before), null, T0)
        expect(ended.ok && run(ended.value, after).status).toBe('revoked')
      }),
    )
  })
})

describe('changing a subscription', () => {
  const moves = {
    reject: (from: Subscription) => reject(from, 'no'),
    suspend: (from: Subscription) => suspend(from, 'unpaid', later(1)),
    resume: (from: Subscription) => resume(from, later(1)),
    change: (from: Subscription) => change(from, { quota: 7 }, later(1)),
  }

  it.each([
    ['reject', ['pending_approval']],
    ['suspend', ['approved', 'suspended']],
    ['resume', ['approved', 'suspended']],
    ['change', ['pending_approval', 'approved', 'suspended']],
  ] as const)('%s is legal for %s only', (name, legal) => {
    const found = SUBSCRIPTION_STATUSES.filter(status => moves[name](subscription({ status })).ok)
    expect(found).toEqual(legal)
  })

  it('suspends with the reason and resumes without it', () => {
    const suspended = suspend(subscription({ status: 'approved' }), 'unpaid', later(1))
    expect(suspended).toMatchObject({
      value: { status: 'suspended', reason: 'unpaid', suspendedAt: later(1) },
    })
    const resumed = suspended.ok ? resume(suspended.value, later(2)) : suspended
    expect(resumed).toMatchObject({ value: { status: 'approved', reason: null, suspendedAt: null } })
    const over = subscription({ status: 'suspended', expiresAt: later(2) })
    expect(resume(over, later(2)).ok).toBe(false)
    expect(expire(over, later(2))).toMatchObject({ value: { status: 'expired' } })
  })

  it('approves or rejects the plan that an open one requests, and keeps the state', () => {
    const asking = subscription({ status: 'suspended', requestedPlan: 'gold', quota: 5 })
    expect(approve(asking, { rateLimit: 9 }, T0)).toMatchObject({
      value: { status: 'suspended', plan: 'gold', requestedPlan: null, rateLimit: 9, quota: null },
    })
    expect(reject(asking, 'no')).toMatchObject({
      value: { status: 'suspended', plan: 'silver', requestedPlan: null },
    })
  })

  it('replaces a life by an expiry date, which must be in the future', () => {
    const approved = subscription({ status: 'approved', ttlSeconds: 60, expiresAt: later(60_000) })
    expect(change(approved, { expiresAt: later(90) }, later(10))).toMatchObject({
      value: { ttlSeconds: null, expiresAt: later(90) },
    })
    expect(change(approved, { expiresAt: null }, later(10))).toMatchObject({ value: { expiresAt: null } })
    expect(change(approved, { expiresAt: later(10) }, later(10)).ok).toBe(false)
    expect(change(approved, { plan: 'gold' }, later(10))).toMatchObject({
      value: { ttlSeconds: 60, plan: 'gold', requestedPlan: null },
    })
  })
})

describe('limits of a subscription', () => {
  it('are those of the plan where the approval says nothing', () => {
    expect(
      limitsOf({ rateLimit: null, quota: null }, { perSecond: 1, perMinute: 2, perDay: 3, perMonth: 4 }),
    ).toEqual({
      perSecond: 1,
      perMinute: 2,
      perDay: 3,
      perMonth: 4,
      burst: 0,
    })
  })

  it('take the rate per minute and the quota per month from the approval', () => {
    expect(limitsOf({ rateLimit: 7, quota: 70 }, { perMinute: 2, perMonth: 4, perSecond: 1 })).toMatchObject({
      perMinute: 7,
      perMonth: 70,
      perSecond: 1,
    })
  })
})

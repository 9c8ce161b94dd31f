/** A subscription of an application to an API, and its life cycle as pure functions. It stores nothing and emits no event. */
import type { PlanLimits } from './plan.ts'
import { illegal, moved, type Transition, unchanged } from './transition.ts'

export const SUBSCRIPTION_STATUSES = ['pending_approval', 'approved', 'revoked', 'expired'] as const
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number]

export interface Subscription {
  readonly id: string
  readonly tenantId: string
  readonly apiId: string
  /** Slug of the plan: the tenant's own of that name, else the global one. */
  readonly plan: string
  /** The consumer: a token whose consumer equals it, or a key of this subscription, is this application. */
  readonly application: string
  readonly callbackUrl: string | null
  readonly status: SubscriptionStatus
  /** Why it was revoked. */
  readonly reason: string | null
  /** Overrides of the approval, per minute and per month; null = as the plan says. */
  readonly rateLimit: number | null
  readonly quota: number | null
  /** Life from the approval on, in seconds; null = `expiresAt` alone decides. */
  readonly ttlSeconds: number | null
  readonly expiresAt: Date | null
  readonly approvedAt: Date | null
  readonly revokedAt: Date | null
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface Approval {
  /** Requests per minute. */
  readonly rateLimit?: number | undefined
  /** Requests per month. */
  readonly quota?: number | undefined
}

/** pending_approval → approved. A life given as `ttl` begins here. */
export function approve(subscription: Subscription, approval: Approval, at: Date): Transition<Subscription> {
  if (subscription.status !== 'pending_approval') {
    return illegal(`A subscription that is ${subscription.status} cannot be approved.`)
  }
  if (subscription.expiresAt !== null && subscription.expiresAt <= at) {
    return illegal('The subscription has passed its expiry date and cannot be approved.')
  }
  const ends =
    subscription.ttlSeconds === null
      ? subscription.expiresAt
      : new Date(at.getTime() + subscription.ttlSeconds * 1000)
  return moved({
    ...subscription,
    status: 'approved',
    rateLimit: approval.rateLimit ?? null,
    quota: approval.quota ?? null,
    approvedAt: at,
    expiresAt: ends,
  })
}

/** any → revoked, which is final. Revoking once more changes nothing. */
export function revoke(
  subscription: Subscription,
  reason: string | null,
  at: Date,
): Transition<Subscription> {
  if (subscription.status === 'revoked') return unchanged(subscription)
  return moved({ ...subscription, status: 'revoked', reason, revokedAt: at })
}

/** approved → expired, once its time has come. */
export function expire(subscription: Subscription, at: Date): Transition<Subscription> {
  if (subscription.status === 'expired') return unchanged(subscription)
  if (subscription.status !== 'approved') {
    return illegal(`A subscription that is ${subscription.status} cannot expire.`)
  }
  if (subscription.expiresAt === null || subscription.expiresAt > at) {
    return illegal('The subscription has not reached its expiry date.')
  }
  return moved({ ...subscription, status: 'expired' })
}

/** The limits of a subscription: the plan's, with the overrides of the approval. */
export function limitsOf(
  subscription: Pick<Subscription, 'rateLimit' | 'quota'>,
  plan: PlanLimits,
): Required<PlanLimits> {
  return {
    perSecond: plan.perSecond ?? 0,
    perMinute: subscription.rateLimit ?? plan.perMinute ?? 0,
    perDay: plan.perDay ?? 0,
    perMonth: subscription.quota ?? plan.perMonth ?? 0,
    burst: plan.burst ?? 0,
  }
}

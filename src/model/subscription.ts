/** A subscription of an application to an API or a product: its life cycle, limits, and applications of other tenants. */
import type { PlanLimits } from './plan.ts'
import { illegal, moved, type Transition, unchanged } from './transition.ts'

export const SUBSCRIPTION_STATUSES = [
  'pending_approval',
  'approved',
  'suspended',
  'rejected',
  'revoked',
  'expired',
] as const
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number]

/** An application has at most one open subscription to an API or product. */
export const OPEN_STATUSES = [
  'pending_approval',
  'approved',
  'suspended',
] as const satisfies readonly SubscriptionStatus[]

/** Why the calls of a subscription are refused. */
export type SubscriptionFault = Extract<SubscriptionStatus, 'suspended' | 'expired'>

export interface Subscription {
  readonly id: string
  readonly tenantId: string
  /** null for a subscription to a product. */
  readonly apiId: string | null
  /** null for a subscription to an API. */
  readonly productId: string | null
  /** Slug of the plan: the tenant's own of that name, else the global one. */
  readonly plan: string
  /** Slug of a plan that the application has requested instead; null = none. */
  readonly requestedPlan: string | null
  /** The consumer: a token whose consumer equals it, or a key of this subscription, is this application. */
  readonly application: string
  /** The tenant of an application that is subscribed to an API shared with it; its `application` is `{tenant}/{application}`. null: the owner's. */
  readonly subscriberTenantId: string | null
  readonly callbackUrl: string | null
  /** Written and read by the application. */
  readonly metadata: { readonly [name: string]: string }
  readonly status: SubscriptionStatus
  /** Why it was revoked, rejected or suspended. */
  readonly reason: string | null
  /** Overrides of the approval, per minute and per month; null = as the plan says. */
  readonly rateLimit: number | null
  readonly quota: number | null
  /** Life from the approval on, in seconds; null = `expiresAt` alone decides. */
  readonly ttlSeconds: number | null
  readonly expiresAt: Date | null
  readonly approvedAt: Date | null
  /** null unless it is suspended. */
  readonly suspendedAt: Date | null
  readonly revokedAt: Date | null
  /** The expiry date that was announced to webhooks. */
  readonly expiryAnnounced: Date | null
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

/** pending_approval → approved. A life given as `ttl` begins here. Of an approved or suspended one, the requested plan is approved. */
export function approve(subscription: Subscription, approval: Approval, at: Date): Transition<Subscription> {
  const { requestedPlan } = subscription
  if (isServed(subscription) && requestedPlan !== null) {
    const { rateLimit = null, quota = null } = approval
    return moved({ ...subscription, plan: requestedPlan, requestedPlan: null, rateLimit, quota })
  }
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

/** pending_approval → rejected, which is not approved later; of an approved or suspended one, only the requested plan is rejected. */
export function reject(subscription: Subscription, reason: string): Transition<Subscription> {
  const { status, requestedPlan } = subscription
  if (status === 'pending_approval') return moved({ ...subscription, status: 'rejected', reason })
  if (isServed(subscription) && requestedPlan !== null) return moved({ ...subscription, requestedPlan: null })
  return illegal(
    `This subscription is ${status}${requestedPlan === null ? ' and requests no plan' : ''}. You can reject only a subscription that is pending approval, or the plan requested for an approved or suspended subscription.`,
  )
}

/** approved → suspended: calls are refused until it is resumed. */
export function suspend(
  subscription: Subscription,
  reason: string | null,
  at: Date,
): Transition<Subscription> {
  if (subscription.status === 'suspended') return unchanged(subscription)
  if (subscription.status !== 'approved')
    return illegal(`A subscription that is ${subscription.status} cannot be suspended.`)
  return moved({ ...subscription, status: 'suspended', reason, suspendedAt: at })
}

/** suspended → approved, with the same keys. */
export function resume(subscription: Subscription, at: Date): Transition<Subscription> {
  if (subscription.status === 'approved') return unchanged(subscription)
  if (subscription.status !== 'suspended')
    return illegal(`A subscription that is ${subscription.status} cannot be resumed.`)
  if (subscription.expiresAt !== null && subscription.expiresAt <= at)
    return illegal(
      'The subscription has passed its expiry date. Change the expiry date before you resume the subscription.',
    )
  return moved({ ...subscription, status: 'approved', reason: null, suspendedAt: null })
}

/** The application of another tenant, as subscriptions, counters and reports of the owner have it. */
export function applicationOf(tenant: string, application: string): string {
  return `${tenant}/${application}`
}

/** Name of the tenant in `applicationOf`; names of tenants hold no slash. */
export function subscriberOf(application: string): string {
  return application.slice(0, application.indexOf('/'))
}

/** The fields that can change while a subscription is open. */
export type SubscriptionChange = Partial<
  Pick<
    Subscription,
    'plan' | 'requestedPlan' | 'rateLimit' | 'quota' | 'expiresAt' | 'callbackUrl' | 'metadata'
  >
>

/** Changes an open subscription; its keys and its state stay. An expiry date replaces a life given as `ttl`. */
export function change(
  subscription: Subscription,
  patch: SubscriptionChange,
  at: Date,
): Transition<Subscription> {
  if (!isOpen(subscription))
    return illegal(`A subscription that is ${subscription.status} cannot be changed.`)
  const { expiresAt, plan } = patch
  if (expiresAt !== undefined && expiresAt !== null && expiresAt <= at)
    return illegal('The expiry date must be in the future.')
  return moved({
    ...subscription,
    ...patch,
    ...(expiresAt === undefined ? {} : { ttlSeconds: null }),
    ...(plan === undefined ? {} : { requestedPlan: null }),
  })
}

/** What a subscription is to: an API or a product; one of the two is null. */
export type SubscriptionTarget = Pick<Subscription, 'apiId' | 'productId'>

/** Moves an open subscription to another API, version or product; keys, plan and state stay. */
export function migrate(subscription: Subscription, to: SubscriptionTarget): Transition<Subscription> {
  if (!isOpen(subscription))
    return illegal(`A subscription that is ${subscription.status} cannot be migrated.`)
  const { apiId, productId } = to
  if (subscription.apiId === apiId && subscription.productId === productId) return unchanged(subscription)
  return moved({ ...subscription, apiId, productId })
}

function isOpen({ status }: Subscription): boolean {
  return (OPEN_STATUSES as readonly SubscriptionStatus[]).includes(status)
}

function isServed({ status }: Subscription): boolean {
  return status === 'approved' || status === 'suspended'
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

/** approved or suspended → expired, once its time has come. */
export function expire(subscription: Subscription, at: Date): Transition<Subscription> {
  if (subscription.status === 'expired') return unchanged(subscription)
  if (!isServed(subscription)) {
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

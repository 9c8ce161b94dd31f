/** Finds, requests, changes and ends subscriptions, with approval and expiry. It handles no HTTP except `If-Match` and the problems it throws. */

import { snakeCase } from '../../../base/snake-case.ts'
import type { Api } from '../../../model/api.ts'
import { systemOrigin } from '../../../model/audit.ts'
import type { NewEvent } from '../../../model/event.ts'
import {
  type Approval,
  approve,
  change,
  expire,
  reject,
  resume,
  revoke,
  type Subscription,
  type SubscriptionChange,
  suspend,
} from '../../../model/subscription.ts'
import type { Transition } from '../../../model/transition.ts'
import { recordActions } from '../../store/audited.ts'
import type { Locking } from '../../store/repositories.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { conflict, type FieldFault, invalid, requireFound } from '../http/problem.ts'
import { issueKey, revokeKeysOf } from './api-keys.ts'
import { ensureConsumer } from './consumers.ts'
import { newRecord } from './records.ts'
import { eventOf } from './subscription-event.ts'

type SubscriptionRequest = Pick<
  Subscription,
  | 'apiId'
  | 'productId'
  | 'application'
  | 'subscriberTenantId'
  | 'callbackUrl'
  | 'metadata'
  | 'ttlSeconds'
  | 'expiresAt'
> & {
  /** undefined: that of the product. */
  readonly plan: string | undefined
  /** Application name of a new consumer; undefined: the application. */
  readonly applicationName?: string | undefined
}

interface WithKey {
  readonly subscription: Subscription
  /** The whole key, when this call created one. */
  readonly key: string | undefined
}

/**
 * Creates a subscription; it is approved at once when its plan requires no approval, and the one before it was not suspended when it ended.
 * @throws Problem validation_error, conflict
 */
export async function requestSubscription(
  tx: Transaction,
  tenantId: string,
  { applicationName, ...request }: SubscriptionRequest,
): Promise<WithKey> {
  const { apiId, productId } = request
  const api = apiId === null ? undefined : await tx.apis.find(apiId)
  const product = productId === null ? undefined : await tx.products.find(productId)
  const slug = product?.plan ?? request.plan
  const plan = slug === undefined ? undefined : await tx.plans.bySlug(slug)
  const faults: FieldFault[] = []
  if (apiId !== null && api === undefined)
    faults.push({ field: 'api_id', message: 'must be the id of an API of this tenant.' })
  if (productId !== null && product === undefined)
    faults.push({ field: 'product_id', message: 'must be the id of a product of this tenant.' })
  else if (plan === undefined)
    faults.push({ field: 'plan', message: 'must be the slug of a plan that exists.' })
  if (request.expiresAt !== null && request.expiresAt <= tx.now) {
    faults.push({ field: 'expires_at', message: 'must be in the future.' })
  }
  if (plan === undefined || faults.length > 0) throw invalid(faults)
  if (api?.status === 'retired') throw conflict('The API is retired and accepts no new subscriptions.')
  const subscription: Subscription = {
    ...request,
    ...newRecord(tx, 'subscription'),
    tenantId,
    plan: plan.slug,
    status: 'pending_approval',
    requestedPlan: null,
    reason: null,
    rateLimit: null,
    quota: null,
    approvedAt: null,
    suspendedAt: null,
    revokedAt: null,
    expiryAnnounced: null,
  }
  const needsApproval = plan.requiresApproval || (await endedSuspended(tx, subscription))
  await ensureConsumer(tx, tenantId, request.application, applicationName)
  await tx.subscriptions.insert(subscription)
  tx.events.append(await eventOf(tx, 'subscription.created', subscription, {}, api))
  return needsApproval ? { subscription, key: undefined } : approveSubscription(tx, subscription, {})
}

/** A suspension is the owner's: the application does not end it by a subscription in place of the suspended one. */
async function endedSuspended(tx: Transaction, subscription: Subscription): Promise<boolean> {
  const last = await tx.subscriptions.lastApproved(subscription)
  return last !== undefined && last.suspendedAt !== null
}

/** @throws Problem not_found */
export async function findSubscription(
  tx: Transaction,
  id: string,
  locking?: Locking,
): Promise<Subscription> {
  return requireFound(await tx.subscriptions.find(id, locking), 'subscription')
}

/** Approves the subscription, with its first key when there is none, or the plan that it requests. @throws Problem conflict for an invalid status change */
export async function approveSubscription(
  tx: Transaction,
  subscription: Subscription,
  approval: Approval,
): Promise<WithKey> {
  const move = approve(subscription, approval, tx.now)
  if (!move.ok) throw conflict(move.reason)
  const approved = await tx.subscriptions.update(move.value)
  if (subscription.status !== 'pending_approval') {
    tx.events.append(await eventOf(tx, 'subscription.updated', approved, { changed: ['plan'] }))
    return { subscription: approved, key: undefined }
  }
  const keys = await tx.keys.ofSubscription(approved.id)
  // an application of another tenant makes its keys itself: the owner does not see them
  const isFirst = keys.length === 0 && approved.subscriberTenantId === null
  const issued = isFirst ? await issueKey(tx, approved, 'default', null) : undefined
  const data = issued === undefined ? {} : { key_prefix: issued.record.prefix }
  const event = await eventOf(tx, 'subscription.approved', approved, data)
  const { application } = approved
  tx.events.append(
    issued === undefined ? event : { ...event, once: { application, data: { api_key: issued.key } } },
  )
  return { subscription: approved, key: issued?.key }
}

/** All or none. @throws Problem conflict, whose details name each subscription that cannot be approved */
export async function approveAll(tx: Transaction, ids: readonly string[]): Promise<readonly WithKey[]> {
  const approved: WithKey[] = []
  const faults: FieldFault[] = []
  // in one order, so that two calls with the same subscriptions do not wait for each other
  for (const id of [...ids].sort()) {
    const subscription = await tx.subscriptions.find(id, 'lock')
    const move = subscription && approve(subscription, {}, tx.now)
    if (subscription === undefined)
      faults.push({ field: id, message: 'is not the id of a subscription of this tenant.' })
    else if (move?.ok === false) faults.push({ field: id, message: move.reason })
    else if (faults.length === 0) approved.push(await approveSubscription(tx, subscription, {}))
  }
  if (faults.length > 0) throw conflict('No subscription was approved: see the details.', faults)
  return approved
}

/** @throws Problem conflict for an invalid status change */
async function settle(
  tx: Transaction,
  move: Transition<Subscription>,
  event: (moved: Subscription) => Promise<NewEvent>,
): Promise<Subscription> {
  if (!move.ok) throw conflict(move.reason)
  if (!move.changed) return move.value
  const updated = await tx.subscriptions.update(move.value)
  tx.events.append(await event(updated))
  return updated
}

/** Rejects a request, or the plan that an open subscription requests. @throws Problem conflict */
export async function rejectSubscription(
  tx: Transaction,
  subscription: Subscription,
  reason: string,
): Promise<Subscription> {
  return settle(tx, reject(subscription, reason), rejected =>
    eventOf(tx, 'subscription.rejected', rejected, { reason, requested_plan: subscription.requestedPlan }),
  )
}

/** @throws Problem conflict */
export async function suspendSubscription(
  tx: Transaction,
  subscription: Subscription,
  reason: string | null,
): Promise<Subscription> {
  return settle(tx, suspend(subscription, reason, tx.now), suspended =>
    eventOf(tx, 'subscription.suspended', suspended, { reason }),
  )
}

/** @throws Problem conflict */
export async function resumeSubscription(tx: Transaction, subscription: Subscription): Promise<Subscription> {
  return settle(tx, resume(subscription, tx.now), resumed => eventOf(tx, 'subscription.resumed', resumed, {}))
}

/**
 * Changes an open subscription; keys stay. The event names the changed fields.
 * @param patch its plan exists: the caller has checked that
 * @throws Problem precondition_failed, conflict
 */
export async function changeSubscription(
  tx: Transaction,
  subscription: Subscription,
  patch: SubscriptionChange,
  ifMatch: string,
): Promise<Subscription> {
  checkIfMatch(ifMatch, subscription.revision)
  const changed = Object.entries(patch).filter(([, value]) => value !== undefined)
  return settle(tx, change(subscription, Object.fromEntries(changed), tx.now), updated =>
    eventOf(tx, 'subscription.updated', updated, { changed: changed.map(([name]) => snakeCase(name)) }),
  )
}

/** Revokes a subscription and its keys. Idempotent. @throws Problem conflict for an invalid status change */
export async function revokeSubscription(
  tx: Transaction,
  subscription: Subscription,
  reason: string | null,
  api?: Api,
): Promise<void> {
  const move = revoke(subscription, reason, tx.now)
  if (!move.ok) throw conflict(move.reason)
  if (!move.changed) return
  const revoked = await tx.subscriptions.update(move.value)
  await revokeKeysOf(tx, revoked.id)
  tx.events.append(await eventOf(tx, 'subscription.revoked', revoked, { reason }, api))
}

/** Expires due subscriptions, at most `limit`; several instances may run it at once. Returns how many expired. */
export async function expireDue(store: Store, limit: number): Promise<number> {
  const due = await store.write(EVERY_TENANT, tx => tx.subscriptions.due(limit))
  let expired = 0
  for (const { id, tenantId } of due) {
    expired += await store.write(tenantId, async plain => {
      const tx = recordActions(plain, systemOrigin('system.subscriptions.expire'))
      const current = await tx.subscriptions.find(id, 'lock')
      if (current === undefined) return 0
      const move = expire(current, tx.now)
      // Another instance has expired it, or it has been revoked.
      if (!move.ok || !move.changed) return 0
      const updated = await tx.subscriptions.update(move.value)
      const at = { expires_at: updated.expiresAt!.toISOString() }
      tx.events.append(await eventOf(tx, 'subscription.expired', updated, at))
      return 1
    })
  }
  return expired
}

/** The life of subscriptions: request, approve, revoke, expire; each change with its event. Knows no HTTP but the refusals it raises. */
import type { Api } from '../../../model/api.ts'
import { newId } from '../../../model/id.ts'
import { type Approval, approve, expire, revoke, type Subscription } from '../../../model/subscription.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../store/store.ts'
import { conflict, type FieldFault, invalid, notFound } from '../http/problem.ts'
import { issueKey, revokeKeysOf } from './api-keys.ts'
import { ensureConsumer } from './consumers.ts'
import { eventOf } from './subscription-event.ts'

export type SubscriptionRequest = Pick<
  Subscription,
  'apiId' | 'plan' | 'application' | 'callbackUrl' | 'ttlSeconds' | 'expiresAt'
>

export interface WithKey {
  readonly subscription: Subscription
  /** The whole key, when one was made just now. */
  readonly key: string | undefined
}

/** Asks for a subscription; a plan that needs no approval approves it at once. @throws Problem validation_error, conflict */
export async function requestSubscription(
  tx: Transaction,
  tenantId: string,
  request: SubscriptionRequest,
): Promise<WithKey> {
  const api = await tx.apis.find(request.apiId)
  const plan = await tx.plans.bySlug(request.plan)
  const faults: FieldFault[] = []
  if (api === undefined) faults.push({ field: 'api_id', message: 'names no API of this tenant.' })
  if (plan === undefined) faults.push({ field: 'plan', message: 'names no plan.' })
  if (request.expiresAt !== null && request.expiresAt <= tx.now) {
    faults.push({ field: 'expires_at', message: 'must be in the future.' })
  }
  if (api === undefined || plan === undefined || faults.length > 0) throw invalid(faults)
  if (api.status === 'retired') throw conflict('The API is retired and takes no subscriptions.')
  const subscription: Subscription = {
    ...request,
    id: newId('subscription', tx.now.getTime()),
    tenantId,
    status: 'pending_approval',
    reason: null,
    rateLimit: null,
    quota: null,
    approvedAt: null,
    revokedAt: null,
    revision: 1,
    createdAt: tx.now,
    updatedAt: tx.now,
  }
  await ensureConsumer(tx, tenantId, request.application)
  await tx.subscriptions.insert(subscription)
  tx.events.append(await eventOf(tx, 'subscription.created', subscription, {}, api))
  return plan.requiresApproval ? { subscription, key: undefined } : approveSubscription(tx, subscription, {})
}

/** @throws Problem not_found */
export async function findSubscription(
  tx: Transaction,
  id: string,
  locking: 'lock' | 'plain' = 'plain',
): Promise<Subscription> {
  const subscription = await tx.subscriptions.find(id, locking)
  if (subscription === undefined) throw notFound('subscription')
  return subscription
}

/** Approves, and makes the first key when there is none. @throws Problem conflict for an illegal move */
export async function approveSubscription(
  tx: Transaction,
  subscription: Subscription,
  approval: Approval,
): Promise<WithKey> {
  const move = approve(subscription, approval, tx.now)
  if (!move.ok) throw conflict(move.reason)
  const approved = await tx.subscriptions.update(move.value)
  const keys = await tx.keys.ofSubscription(approved.id)
  const issued = keys.length === 0 ? await issueKey(tx, approved, 'default', null) : undefined
  if (issued === undefined) tx.events.append(await eventOf(tx, 'subscription.approved', approved, {}))
  else {
    const event = await eventOf(tx, 'subscription.approved', approved, {
      key_prefix: issued.record.prefix,
    })
    tx.events.append({ ...event, once: { api_key: issued.key } })
  }
  return { subscription: approved, key: issued?.key }
}

/** Ends a subscription and its keys. Repeating it changes nothing. */
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

/** One pass over the subscriptions whose time has come; several instances may do it at once. Returns how many expired. */
export async function expireDue(store: Store, limit: number): Promise<number> {
  const due = await store.write(EVERY_TENANT, tx => tx.subscriptions.due(limit))
  let expired = 0
  for (const { id, tenantId } of due) {
    expired += await store.write(tenantId, async tx => {
      const current = await tx.subscriptions.find(id, 'lock')
      if (current === undefined) return 0
      const move = expire(current, tx.now)
      // Another instance was faster, or it was revoked meanwhile.
      if (!move.ok || !move.changed) return 0
      const updated = await tx.subscriptions.update(move.value)
      const at = { expires_at: updated.expiresAt!.toISOString() }
      tx.events.append(await eventOf(tx, 'subscription.expired', updated, at))
      return 1
    })
  }
  return expired
}

/** Requests, approves, revokes and expires subscriptions, each change with its event. It handles no HTTP except the problems it throws. */
import type { Api } from '../../../model/api.ts'
import { systemOrigin } from '../../../model/audit.ts'
import { type Approval, approve, expire, revoke, type Subscription } from '../../../model/subscription.ts'
import { audited } from '../../store/audited.ts'
import type { Locking } from '../../store/repositories.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../store/store.ts'
import { conflict, type FieldFault, found, invalid } from '../http/problem.ts'
import { issueKey, revokeKeysOf } from './api-keys.ts'
import { ensureConsumer } from './consumers.ts'
import { newRecord } from './records.ts'
import { eventOf } from './subscription-event.ts'

type SubscriptionRequest = Pick<
  Subscription,
  'apiId' | 'plan' | 'application' | 'callbackUrl' | 'ttlSeconds' | 'expiresAt'
>

interface WithKey {
  readonly subscription: Subscription
  /** The whole key, when this call created one. */
  readonly key: string | undefined
}

/** Creates a subscription; it is approved at once when its plan requires no approval. @throws Problem validation_error, conflict */
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
  if (api.status === 'retired') throw conflict('The API is retired and accepts no new subscriptions.')
  const subscription: Subscription = {
    ...request,
    ...newRecord(tx, 'subscription'),
    tenantId,
    status: 'pending_approval',
    reason: null,
    rateLimit: null,
    quota: null,
    approvedAt: null,
    revokedAt: null,
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
  locking?: Locking,
): Promise<Subscription> {
  return found(await tx.subscriptions.find(id, locking), 'subscription')
}

/** Approves, and creates the first key when there is none. @throws Problem conflict for an invalid status change */
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
  const data = issued === undefined ? {} : { key_prefix: issued.record.prefix }
  const event = await eventOf(tx, 'subscription.approved', approved, data)
  const { application } = approved
  tx.events.append(
    issued === undefined ? event : { ...event, once: { application, data: { api_key: issued.key } } },
  )
  return { subscription: approved, key: issued?.key }
}

/** Revokes a subscription and its keys. Idempotent. */
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
      const tx = audited(plain, systemOrigin('system.subscriptions.expire'))
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

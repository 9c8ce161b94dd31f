/** Announces, as events, subscriptions and keys that expire soon, and reached quotas. */
import { quotaKind, windowEnd } from '../../../model/quota-notice.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../../store/store.ts'
import { eventOf } from './subscription-event.ts'

const EXPIRY_NOTICE_MS = 7 * 86_400_000

/** Announces subscriptions that expire soon, at most `limit`, each expiry date once. Returns how many were found. */
export async function announceExpiring(store: Store, limit: number): Promise<number> {
  const near = await store.write(EVERY_TENANT, tx => tx.subscriptions.listExpiring(EXPIRY_NOTICE_MS, limit))
  for (const { id, tenantId, expiresAt } of near) {
    await store.write(tenantId, async tx => {
      const current = await tx.subscriptions.find(id, 'lock')
      if (current?.status !== 'approved' || current.expiresAt?.getTime() !== expiresAt!.getTime()) return
      if (current.expiryAnnounced?.getTime() === expiresAt!.getTime()) return
      await tx.subscriptions.noteAnnounced(current)
      const at = { expires_at: expiresAt!.toISOString() }
      tx.events.append(await eventOf(tx, 'subscription.expiring', current, at))
    })
  }
  return near.length
}

/** The same of keys. */
export async function announceExpiringKeys(store: Store, limit: number): Promise<number> {
  const near = await store.write(EVERY_TENANT, tx => tx.keys.listExpiring(EXPIRY_NOTICE_MS, limit))
  for (const { id, tenantId, expiresAt } of near) {
    await store.write(tenantId, async tx => {
      const current = await tx.keys.find(id, 'lock')
      if (current === undefined || current.revokedAt !== null) return
      if (current.expiresAt?.getTime() !== expiresAt!.getTime()) return
      if (current.expiryAnnounced?.getTime() === expiresAt!.getTime()) return
      const subscription = await tx.subscriptions.find(current.subscriptionId)
      if (subscription?.status !== 'approved') return
      await tx.keys.noteAnnounced(current)
      const data = { key_prefix: current.prefix, expires_at: expiresAt!.toISOString() }
      tx.events.append(await eventOf(tx, 'subscription.key_expiring', subscription, data))
    })
  }
  return near.length
}

/** Announces the quotas that these requests brought to a threshold, in the transaction that counts the requests. */
export async function announceReachedQuotas(
  tx: Transaction,
  counted: readonly { readonly subscriptionId: string }[],
): Promise<void> {
  for (const reached of await tx.notices.takeReached(counted.map(({ subscriptionId }) => subscriptionId))) {
    const { subscriptionId, tenantId, window, threshold, used, limit } = reached
    const own = tx.within(tenantId)
    const subscription = await own.subscriptions.find(subscriptionId)
    if (subscription === undefined) continue
    const resetsAt = windowEnd(window, tx.now).toISOString()
    const data = { window, threshold, used, limit, resets_at: resetsAt }
    tx.events.append(await eventOf(own, quotaKind(reached), subscription, data))
  }
}

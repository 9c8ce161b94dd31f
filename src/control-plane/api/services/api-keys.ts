/** Creates, rotates and revokes API keys. */

import { generateApiKey } from '../../../identity/api-key-format.ts'
import { type ApiKey, revokeKey, rotateKey } from '../../../model/api-key.ts'
import type { Subscription } from '../../../model/subscription.ts'
import type { Transaction } from '../../store/store.ts'
import { conflict, invalidField, requireFound } from '../http/problem.ts'
import { newRecord } from './records.ts'
import { eventOf } from './subscription-event.ts'

export interface IssuedKey {
  readonly record: ApiKey
  /** The whole key, shown once. */
  readonly key: string
}

/** @throws Problem validation_error for an unknown subscription or a past expiry, conflict for a subscription that is not approved */
export async function createKey(
  tx: Transaction,
  subscriptionId: string,
  name: string,
  expiresAt: Date | null,
): Promise<IssuedKey> {
  const subscription = await tx.subscriptions.find(subscriptionId, 'lock')
  if (subscription === undefined) {
    throw invalidField('subscription_id', 'must be the id of a subscription of this tenant.')
  }
  if (expiresAt !== null && expiresAt <= tx.now) {
    throw invalidField('expires_at', 'must be in the future.')
  }
  if (subscription.status !== 'approved') {
    throw conflict(`The subscription is ${subscription.status}; only an approved subscription can get keys.`)
  }
  const issued = await issueKey(tx, subscription, name, expiresAt)
  announce(tx, 'api_key.created', issued.record)
  return issued
}

/** Creates a key without checks and without an event: the caller does both. */
export async function issueKey(
  tx: Transaction,
  subscription: Subscription,
  name: string,
  expiresAt: Date | null,
): Promise<IssuedKey> {
  const { key, digest } = generateApiKey()
  const record: ApiKey = {
    ...digest,
    ...newRecord(tx, 'apiKey'),
    tenantId: subscription.tenantId,
    subscriptionId: subscription.id,
    name,
    previousPrefix: null,
    previousHash: null,
    previousExpiresAt: null,
    expiresAt,
    revokedAt: null,
    lastUsedAt: null,
    expiryAnnounced: null,
  }
  await tx.keys.insert(record)
  return { record, key }
}

/** @throws Problem not_found, conflict for a key or a subscription that is no longer valid */
export async function rotate(tx: Transaction, id: string, graceMs: number): Promise<IssuedKey> {
  const current = requireFound(await tx.keys.find(id, 'lock'), 'API key')
  const subscription = requireFound(await tx.subscriptions.find(current.subscriptionId), 'API key')
  if (subscription.status !== 'approved') {
    throw conflict(`The subscription is ${subscription.status}; its keys cannot be rotated.`)
  }
  const { key, digest } = generateApiKey()
  const move = rotateKey(current, digest, graceMs, tx.now)
  if (!move.ok) throw conflict(move.reason)
  const record = await tx.keys.update(move.value)
  const data = { key_prefix: record.prefix }
  tx.events.append(await eventOf(tx, 'subscription.key_rotated', subscription, data))
  return { record, key }
}

/** Repeating it changes nothing. @throws Problem not_found */
export async function revokeOne(tx: Transaction, id: string): Promise<void> {
  await revokeIfLive(tx, requireFound(await tx.keys.find(id, 'lock'), 'API key'))
}

export async function revokeKeysOf(tx: Transaction, subscriptionId: string): Promise<void> {
  for (const key of await tx.keys.ofSubscription(subscriptionId)) await revokeIfLive(tx, key)
}

async function revokeIfLive(tx: Transaction, key: ApiKey): Promise<void> {
  const move = revokeKey(key, tx.now)
  if (!move.ok || !move.changed) return
  announce(tx, 'api_key.revoked', await tx.keys.update(move.value))
}

function announce(tx: Transaction, kind: 'api_key.created' | 'api_key.revoked', key: ApiKey): void {
  const { id, tenantId, subscriptionId, prefix } = key
  tx.events.append({
    kind,
    tenantId,
    resourceId: id,
    data: { key_id: id, subscription_id: subscriptionId, key_prefix: prefix },
  })
}

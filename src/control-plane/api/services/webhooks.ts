/** Webhooks: where a tenant's events go, their secrets, tests and retries. Knows no HTTP but the refusals it raises, and sends nothing. */
import type { WebhookEventKind } from '../../../model/event.ts'
import { newId } from '../../../model/id.ts'
import {
  isoMicroseconds,
  MAX_WEBHOOKS_PER_TENANT,
  messageBody,
  SECRET_OVERLAP_MS,
  sampleData,
  type Webhook,
} from '../../../model/webhook.ts'
import { type Delivery, retryDelivery } from '../../../model/webhook-delivery.ts'
import type { Locking } from '../../store/repositories.ts'
import type { Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { conflict, notFound } from '../http/problem.ts'

export type WebhookFields = Pick<Webhook, 'url' | 'events' | 'enabled' | 'customHeaders'>

/** @throws Problem conflict when the tenant has as many as it may have */
export async function createWebhook(
  tx: Transaction,
  tenantId: string,
  fields: WebhookFields,
  secret: string | undefined,
): Promise<Webhook> {
  if ((await tx.webhooks.count()) >= MAX_WEBHOOKS_PER_TENANT) {
    throw conflict(`A tenant has at most ${MAX_WEBHOOKS_PER_TENANT} webhooks. Delete one that is not needed.`)
  }
  const webhook: Webhook = {
    ...fields,
    id: newId('webhook', tx.now.getTime()),
    tenantId,
    hasSecret: secret !== undefined,
    revision: 1,
    createdAt: tx.now,
    updatedAt: tx.now,
  }
  await tx.webhooks.insert(webhook, secret)
  announce(tx, 'webhook.created', webhook)
  return webhook
}

/** @throws Problem not_found */
export async function findWebhook(tx: Transaction, id: string, locking: Locking = 'plain'): Promise<Webhook> {
  const webhook = await tx.webhooks.find(id, locking)
  if (webhook === undefined) throw notFound('webhook')
  return webhook
}

/** A new secret signs at once; the one before it signs beside it for a while. @throws Problem not_found, precondition_failed */
export async function patchWebhook(
  tx: Transaction,
  id: string,
  patch: { readonly [K in keyof WebhookFields]?: WebhookFields[K] | undefined },
  secret: string | undefined,
  ifMatch: string,
): Promise<Webhook> {
  const webhook = await findWebhook(tx, id, 'lock')
  checkIfMatch(ifMatch, webhook.revision)
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))
  const changed = { ...webhook, ...(given as Partial<WebhookFields>) }
  const previousUntil = new Date(tx.now.getTime() + SECRET_OVERLAP_MS)
  const updated = await tx.webhooks.update(
    changed,
    secret === undefined ? undefined : { secret, previousUntil },
  )
  announce(tx, 'webhook.updated', updated)
  return updated
}

/** With its deliveries, also those that are still to be sent. @throws Problem not_found */
export async function deleteWebhook(tx: Transaction, id: string): Promise<void> {
  const webhook = await findWebhook(tx, id, 'lock')
  await tx.webhooks.remove(webhook.id)
  announce(tx, 'webhook.deleted', webhook)
}

/** @throws Problem not_found */
export async function findDelivery(
  tx: Transaction,
  webhookId: string,
  id: string,
  locking: Locking = 'plain',
): Promise<Delivery> {
  const webhook = await findWebhook(tx, webhookId)
  const delivery = await tx.deliveries.find(webhook.id, id, locking)
  if (delivery === undefined) throw notFound('delivery')
  return delivery
}

/** Starts one more try of a failed delivery. @throws Problem not_found, conflict */
export async function retry(tx: Transaction, webhookId: string, id: string): Promise<Delivery> {
  const delivery = await findDelivery(tx, webhookId, id, 'lock')
  const move = retryDelivery(delivery, tx.now)
  if (!move.ok) throw conflict(move.reason)
  requireEnabled(await findWebhook(tx, webhookId))
  return tx.deliveries.retry(move.value)
}

/** Queues a delivery with sample values, whatever kinds the webhook takes. @throws Problem not_found, conflict */
export async function sendTest(
  tx: Transaction,
  webhookId: string,
  kind: WebhookEventKind,
): Promise<Delivery> {
  const webhook = await findWebhook(tx, webhookId)
  requireEnabled(webhook)
  const message = {
    event: kind,
    timestamp: isoMicroseconds(await tx.deliveries.uniqueMoment()),
    webhookId: webhook.id,
    data: sampleData(kind, tx.now),
    test: true,
  }
  return tx.deliveries.insert({
    id: newId('delivery', tx.now.getTime()),
    tenantId: webhook.tenantId,
    webhookId: webhook.id,
    event: kind,
    test: true,
    body: messageBody(message),
  })
}

function requireEnabled(webhook: Webhook): void {
  if (!webhook.enabled) throw conflict('The webhook is disabled and sends nothing. Enable it first.')
}

function announce(
  tx: Transaction,
  kind: 'webhook.created' | 'webhook.updated' | 'webhook.deleted',
  { id, tenantId }: Webhook,
): void {
  tx.events.append({ kind, tenantId, resourceId: id, data: { webhook_id: id } })
}

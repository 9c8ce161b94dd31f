/** Finds, creates, changes and deletes webhooks, with their checks and whose keys they receive, and finds and queues deliveries. */
import type { WebhookEventKind } from '../../../model/event.ts'
import { newId } from '../../../model/id.ts'
import { PLATFORM_ADMIN, type Principal, TENANT_ADMIN } from '../../../model/principal.ts'
import {
  EVERY_APPLICATION,
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
import { conflict, invalidField, requireFound } from '../http/problem.ts'
import type { Services } from '../services.ts'
import { applyPatch, newRecord, type Patch } from './records.ts'

type WebhookFields = Pick<Webhook, 'url' | 'events' | 'enabled' | 'customHeaders'>

interface NewWebhook extends WebhookFields, Pick<Webhook, 'keysOf'> {
  /** Absent: made of the id. */
  readonly name?: string | undefined
  readonly secretNames?: Webhook['secretNames']
}

/** Whose keys the webhooks of a caller receive: of an admin the keys of every application, of others those of the caller's application. */
export function keysOf({ consumer, roles }: Principal): string {
  return roles.some(role => role === TENANT_ADMIN || role === PLATFORM_ADMIN) ? EVERY_APPLICATION : consumer
}

/** @throws Problem validation_error for an address that no delivery can reach */
export function requireReachable(url: string | undefined, { webhookFault }: Services): void {
  const fault = url === undefined ? undefined : webhookFault(url)
  if (fault !== undefined) throw invalidField('url', fault)
}

/** @throws Problem conflict when the tenant has the maximum number */
export async function createWebhook(
  tx: Transaction,
  tenantId: string,
  { name, secretNames = {}, ...fields }: NewWebhook,
  secret: string | undefined,
): Promise<Webhook> {
  if ((await tx.webhooks.count()) >= MAX_WEBHOOKS_PER_TENANT) {
    throw conflict(
      `A tenant has at most ${MAX_WEBHOOKS_PER_TENANT} webhooks. Delete a webhook that is not needed.`,
    )
  }
  const record = newRecord(tx, 'webhook')
  const webhook: Webhook = {
    ...fields,
    ...record,
    tenantId,
    name: name ?? record.id.replace('_', '-'),
    secretNames,
    hasSecret: secret !== undefined,
  }
  await tx.webhooks.insert(webhook, secret)
  announce(tx, 'webhook.created', webhook)
  return webhook
}

/** @throws Problem not_found */
export async function findWebhook(tx: Transaction, id: string, locking?: Locking): Promise<Webhook> {
  return requireFound(await tx.webhooks.find(id, locking), 'webhook')
}

/**
 * A new secret signs at once; the previous one signs too until the overlap ends. A webhook that another application changes receives
 * the keys of that application only, and with another address none of the headers before, or those of its owner would be sent to an address
 * that the owner did not choose.
 * @param secret null: deliveries are no longer signed
 * @param keysOf of the caller
 * @throws Problem not_found, precondition_failed
 */
export async function patchWebhook(
  tx: Transaction,
  id: string,
  patch: Patch<WebhookFields & Pick<Webhook, 'secretNames'>>,
  secret: string | null | undefined,
  keysOf: string,
  ifMatch: string,
): Promise<Webhook> {
  // deliveries that are being written may contain keys that the change withholds
  const webhook = await findWebhook(tx, id, 'exclusive')
  checkIfMatch(ifMatch, webhook.revision)
  const previousUntil = new Date(tx.now.getTime() + SECRET_OVERLAP_MS)
  const change = secret === undefined ? undefined : secret === null ? 'none' : { secret, previousUntil }
  const keeps = keysOf === EVERY_APPLICATION || keysOf === webhook.keysOf
  if (!keeps) await tx.webhooks.withholdKeys(id)
  const changed = { ...applyPatch(webhook, patch), keysOf: keeps ? webhook.keysOf : keysOf }
  const isMoved = changed.url !== webhook.url
  const headers = patch.customHeaders ?? (isMoved && !keeps ? {} : undefined)
  const updated = await tx.webhooks.update(changed, change, headers)
  announce(tx, 'webhook.updated', updated)
  return updated
}

/** Deletes its deliveries too, including pending ones. @throws Problem not_found, precondition_failed */
export async function deleteWebhook(tx: Transaction, id: string, ifMatch = ''): Promise<void> {
  const webhook = await findWebhook(tx, id, 'exclusive')
  checkIfMatch(ifMatch, webhook.revision)
  await tx.webhooks.remove(webhook.id)
  announce(tx, 'webhook.deleted', webhook)
}

/** @throws Problem not_found */
export async function findDelivery(
  tx: Transaction,
  webhookId: string,
  id: string,
  locking?: Locking,
): Promise<Delivery> {
  const webhook = await findWebhook(tx, webhookId)
  return requireFound(await tx.deliveries.find(webhook.id, id, locking), 'delivery')
}

/** Queues one more attempt of a failed delivery. @throws Problem not_found, conflict */
export async function retryFailed(tx: Transaction, webhookId: string, id: string): Promise<Delivery> {
  const delivery = await findDelivery(tx, webhookId, id, 'lock')
  const move = retryDelivery(delivery, tx.now)
  if (!move.ok) throw conflict(move.reason)
  requireEnabled(await findWebhook(tx, webhookId))
  return tx.deliveries.retry(move.value)
}

/** Queues a delivery with sample values, of any event kind. @throws Problem not_found, conflict */
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
  if (!webhook.enabled) throw conflict('The webhook is disabled. Enable it first.')
}

function announce(
  tx: Transaction,
  kind: 'webhook.created' | 'webhook.updated' | 'webhook.deleted',
  { id, tenantId }: Webhook,
): void {
  tx.events.append({ kind, tenantId, resourceId: id, data: { webhook_id: id } })
}

/** Routes of webhooks and their deliveries. `services/webhooks.ts` writes the changes. */
import { WEBHOOK_EVENT_KINDS } from '../../../model/event.ts'
import { word } from '../../../model/schema/fields.ts'
import { camelCased } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import type { Webhook } from '../../../model/webhook.ts'
import { DELIVERY_STATUSES } from '../../../model/webhook-delivery.ts'
import { type Endpoint, endpointsTagged, type Subject, type SubjectQuestion } from '../http/endpoint.ts'
import {
  booleanQuery,
  envelope,
  fieldNames,
  listOf,
  pageQuery,
  q,
  sortQuery,
  wordQuery,
} from '../schemas/fields.ts'
import {
  newWebhook,
  showDelivery,
  shownDelivery,
  shownWebhook,
  showWebhook,
  webhookPatch,
} from '../schemas/webhook.ts'
import {
  createWebhook,
  deleteWebhook,
  findDelivery,
  findWebhook,
  keysOf,
  patchWebhook,
  requireReachable,
  retryFailed,
  sendTest,
} from '../services/webhooks.ts'

const endpoint = endpointsTagged('webhook')
const ALL = '/tenants/{tenant_id}/webhooks'
const ONE = `${ALL}/{webhook_id}`
const DELIVERIES = `${ONE}/deliveries`

const testRequest = z.strictObject({ event_type: word(WEBHOOK_EVENT_KINDS) }).openapi('WebhookTest')

function respond(webhook: Webhook) {
  return { body: showWebhook(webhook), revision: webhook.revision }
}

/** A webhook belongs to the application whose keys it may receive; one of an administrator belongs to none. */
async function ownedBy({ tx, params, principal }: SubjectQuestion): Promise<Subject> {
  return { own: (await tx.webhooks.find(params.webhook_id!))?.keysOf === principal.consumer }
}

export const webhookEndpoints: readonly Endpoint[] = [
  endpoint('createWebhook', 'post', ALL, {
    summary: 'Create a webhook, which sends events to an address',
    action: 'control.webhooks.create',
    body: newWebhook,
    readOnly: fieldNames(shownWebhook),
    success: { description: 'The webhook, without its secret', schema: shownWebhook },
    async run({ tx, tenant, body, principal, services }) {
      requireReachable(body.url, services)
      const { secret, ...fields } = camelCased(body)
      const webhook = await createWebhook(tx, tenant!.id, { ...fields, keysOf: keysOf(principal) }, secret)
      return { ...respond(webhook), location: `/tenants/${tenant!.id}/webhooks/${webhook.id}` }
    },
  }),
  endpoint('listWebhooks', 'get', ALL, {
    summary: 'List the webhooks of a tenant',
    action: 'control.webhooks.list',
    query: z.object({
      ...pageQuery,
      sort: sortQuery('name', 'url', 'updated_at'),
      q,
      enabled: booleanQuery.optional(),
    }),
    success: { description: 'A page of webhooks', schema: listOf(shownWebhook, 'WebhookList') },
    async run({ tx, query }) {
      const found = await tx.webhooks.list({ q: query.q, enabled: query.enabled }, query)
      return { body: envelope(found, query, showWebhook) }
    },
  }),
  endpoint('readWebhook', 'get', ONE, {
    summary: 'Read a webhook',
    action: 'control.webhooks.read',
    success: { description: 'The webhook, without its secret', schema: shownWebhook },
    run: async ({ tx, params }) => respond(await findWebhook(tx, params.webhook_id!)),
  }),
  endpoint('updateWebhook', 'patch', ONE, {
    summary:
      'Change a webhook; for 24 hours after a change of the secret, deliveries are also signed with the previous secret',
    action: 'control.webhooks.update',
    body: webhookPatch,
    subject: ownedBy,
    readOnly: fieldNames(shownWebhook),
    preconditions: true,
    success: { description: 'The changed webhook', schema: shownWebhook },
    async run({ tx, params, body, ifMatch, principal, services }) {
      requireReachable(body.url, services)
      const { secret, ...patch } = camelCased(body)
      const id = params.webhook_id!
      return respond(await patchWebhook(tx, id, patch, secret, keysOf(principal), ifMatch))
    },
  }),
  endpoint('deleteWebhook', 'delete', ONE, {
    summary: 'Delete a webhook with its deliveries',
    action: 'control.webhooks.delete',
    subject: ownedBy,
    success: { description: 'The webhook is deleted' },
    preconditions: true,
    run: ({ tx, params, ifMatch }) => deleteWebhook(tx, params.webhook_id!, ifMatch),
  }),
  endpoint('testWebhook', 'post', `${ONE}/test`, {
    summary: 'Send a test delivery with sample values to a webhook',
    action: 'control.webhooks.test',
    body: testRequest,
    subject: ownedBy,
    success: { status: 202, description: 'The pending test delivery', schema: shownDelivery },
    async run({ tx, params, body }) {
      return { body: showDelivery(await sendTest(tx, params.webhook_id!, body.event_type)) }
    },
  }),
  endpoint('listDeliveries', 'get', DELIVERIES, {
    summary: 'List the deliveries of a webhook, the newest first; q searches the event type and the error',
    action: 'control.deliveries.list',
    query: z.object({
      ...pageQuery,
      sort: sortQuery('updated_at', 'event', 'status', 'attempt'),
      q,
      status: wordQuery(DELIVERY_STATUSES),
      event: wordQuery(WEBHOOK_EVENT_KINDS),
    }),
    success: {
      description: 'A page of deliveries',
      schema: listOf(shownDelivery, 'WebhookDeliveryList'),
    },
    async run({ tx, params, query }) {
      const webhook = await findWebhook(tx, params.webhook_id!)
      return { body: envelope(await tx.deliveries.list(webhook.id, query, query), query, showDelivery) }
    },
  }),
  endpoint('readDelivery', 'get', `${DELIVERIES}/{delivery_id}`, {
    summary: 'Read a delivery',
    action: 'control.deliveries.read',
    success: { description: 'The delivery', schema: shownDelivery },
    async run({ tx, params }) {
      const delivery = await findDelivery(tx, params.webhook_id!, params.delivery_id!)
      return { body: showDelivery(delivery) }
    },
  }),
  endpoint('retryDelivery', 'post', `${DELIVERIES}/{delivery_id}/retry`, {
    summary: 'Retry a failed delivery',
    action: 'control.deliveries.retry',
    subject: ownedBy,
    success: { status: 202, description: 'The delivery; its status is `pending`', schema: shownDelivery },
    async run({ tx, params }) {
      return { body: showDelivery(await retryFailed(tx, params.webhook_id!, params.delivery_id!)) }
    },
  }),
]

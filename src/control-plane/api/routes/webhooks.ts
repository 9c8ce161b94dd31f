/** Routes of webhooks and their deliveries. The rules are in `service/webhooks.ts`, the fields in `schema/webhook.ts`. */
import { WEBHOOK_EVENT_KINDS } from '../../../model/event.ts'
import type { Webhook } from '../../../model/webhook.ts'
import { DELIVERY_STATUSES } from '../../../model/webhook-delivery.ts'
import { type Endpoint, endpoint } from '../http/endpoint.ts'
import { invalid } from '../http/problem.ts'
import { booleanQuery, envelope, listOf, pageQuery, q, word, wordQuery } from '../schemas/fields.ts'
import {
  newWebhook,
  READ_ONLY,
  showDelivery,
  shownDelivery,
  shownWebhook,
  showWebhook,
  webhookPatch,
} from '../schemas/webhook.ts'
import { z } from '../schemas/zod.ts'
import { requireWritable } from '../services/tenants.ts'
import {
  createWebhook,
  deleteWebhook,
  findDelivery,
  findWebhook,
  patchWebhook,
  retry,
  sendTest,
} from '../services/webhooks.ts'
import type { Services } from '../services.ts'

const TAG = 'webhook'
const ALL = '/tenants/{tenant_id}/webhooks'
const ONE = `${ALL}/{webhook_id}`
const DELIVERIES = `${ONE}/deliveries`

const testRequest = z.strictObject({ event_type: word(WEBHOOK_EVENT_KINDS) }).openapi('WebhookTest')

function shown(status: 200 | 201, webhook: Webhook) {
  return { status, body: showWebhook(webhook), revision: webhook.revision }
}

/** @throws Problem validation_error for plain HTTP where only HTTPS is called */
function requireSafe(url: string | undefined, { httpsOnly }: Services): void {
  if (url === undefined || !httpsOnly || url.startsWith('https:')) return
  throw invalid([{ field: 'url', message: 'must be an https address in production.' }])
}

export const webhookEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'post',
    path: ALL,
    tag: TAG,
    id: 'createWebhook',
    summary: 'Have events sent to an address',
    action: 'control.webhooks.create',
    reach: 'path',
    body: newWebhook,
    readOnly: READ_ONLY,
    success: { status: 201, description: 'The webhook, without its secret', schema: shownWebhook },
    async run({ tx, tenant, body, services }) {
      requireWritable(tenant!)
      requireSafe(body.url, services)
      const { url, events, enabled, custom_headers: customHeaders } = body
      const fields = { url, events, enabled, customHeaders }
      const webhook = await createWebhook(tx, tenant!.id, fields, body.secret)
      return { ...shown(201, webhook), location: `/tenants/${tenant!.id}/webhooks/${webhook.id}` }
    },
  }),
  endpoint({
    method: 'get',
    path: ALL,
    tag: TAG,
    id: 'listWebhooks',
    summary: 'List the webhooks of a tenant',
    action: 'control.webhooks.list',
    reach: 'path',
    query: z.object({ ...pageQuery, q, enabled: booleanQuery.optional() }),
    success: { status: 200, description: 'A page of webhooks', schema: listOf(shownWebhook, 'WebhookList') },
    async run({ tx, query }) {
      const { items, total } = await tx.webhooks.list({ q: query.q, enabled: query.enabled }, query)
      return { status: 200, body: envelope({ items: items.map(showWebhook), total }, query) }
    },
  }),
  endpoint({
    method: 'get',
    path: ONE,
    tag: TAG,
    id: 'readWebhook',
    summary: 'Read a webhook',
    action: 'control.webhooks.read',
    reach: 'path',
    success: { status: 200, description: 'The webhook, without its secret', schema: shownWebhook },
    run: async ({ tx, params }) => shown(200, await findWebhook(tx, params.webhook_id!)),
  }),
  endpoint({
    method: 'patch',
    path: ONE,
    tag: TAG,
    id: 'updateWebhook',
    summary: 'Change a webhook; a secret that is replaced signs beside the new one for 24 hours',
    action: 'control.webhooks.update',
    reach: 'path',
    body: webhookPatch,
    readOnly: READ_ONLY,
    preconditions: true,
    success: { status: 200, description: 'The webhook as it now is', schema: shownWebhook },
    async run({ tx, tenant, params, body, ifMatch, services }) {
      requireWritable(tenant!)
      requireSafe(body.url, services)
      const { url, events, enabled, custom_headers: customHeaders } = body
      const patch = { url, events, enabled, customHeaders }
      return shown(200, await patchWebhook(tx, params.webhook_id!, patch, body.secret, ifMatch))
    },
  }),
  endpoint({
    method: 'delete',
    path: ONE,
    tag: TAG,
    id: 'deleteWebhook',
    summary: 'Delete a webhook with its deliveries',
    action: 'control.webhooks.delete',
    reach: 'path',
    success: { status: 204, description: 'The webhook is gone' },
    async run({ tx, params }) {
      await deleteWebhook(tx, params.webhook_id!)
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'post',
    path: `${ONE}/test`,
    tag: TAG,
    id: 'testWebhook',
    summary: 'Send a delivery with sample values',
    action: 'control.webhooks.test',
    reach: 'path',
    body: testRequest,
    success: { status: 202, description: 'The delivery, about to be sent', schema: shownDelivery },
    async run({ tx, tenant, params, body }) {
      requireWritable(tenant!)
      return { status: 202, body: showDelivery(await sendTest(tx, params.webhook_id!, body.event_type)) }
    },
  }),
  endpoint({
    method: 'get',
    path: DELIVERIES,
    tag: TAG,
    id: 'listDeliveries',
    summary: 'List the deliveries of a webhook, the newest first',
    action: 'control.deliveries.list',
    reach: 'path',
    query: z.object({
      ...pageQuery,
      status: wordQuery(DELIVERY_STATUSES),
      event: wordQuery(WEBHOOK_EVENT_KINDS),
    }),
    success: {
      status: 200,
      description: 'A page of deliveries',
      schema: listOf(shownDelivery, 'WebhookDeliveryList'),
    },
    async run({ tx, params, query }) {
      const webhook = await findWebhook(tx, params.webhook_id!)
      const { items, total } = await tx.deliveries.list(webhook.id, query, query)
      return { status: 200, body: envelope({ items: items.map(showDelivery), total }, query) }
    },
  }),
  endpoint({
    method: 'get',
    path: `${DELIVERIES}/{delivery_id}`,
    tag: TAG,
    id: 'readDelivery',
    summary: 'Read a delivery',
    action: 'control.deliveries.read',
    reach: 'path',
    success: { status: 200, description: 'The delivery', schema: shownDelivery },
    async run({ tx, params }) {
      const delivery = await findDelivery(tx, params.webhook_id!, params.delivery_id!)
      return { status: 200, body: showDelivery(delivery) }
    },
  }),
  endpoint({
    method: 'post',
    path: `${DELIVERIES}/{delivery_id}/retry`,
    tag: TAG,
    id: 'retryDelivery',
    summary: 'Try a failed delivery once more',
    action: 'control.deliveries.retry',
    reach: 'path',
    success: { status: 202, description: 'The delivery, about to be sent again', schema: shownDelivery },
    async run({ tx, tenant, params }) {
      requireWritable(tenant!)
      return { status: 202, body: showDelivery(await retry(tx, params.webhook_id!, params.delivery_id!)) }
    },
  }),
]

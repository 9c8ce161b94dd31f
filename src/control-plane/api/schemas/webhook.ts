/** Schemas of webhooks and deliveries in requests and responses. */
import { WEBHOOK_EVENT_KINDS } from '../../../model/event.ts'
import { changedBy } from '../../../model/schema/authority.ts'
import { toWire } from '../../../model/schema/names.ts'
import {
  customHeaders,
  newWebhookFields,
  webhookAuthorities,
  webhookFields,
  webhookName,
  webhookSecret,
} from '../../../model/schema/webhook.ts'
import { z } from '../../../model/schema/zod.ts'
import { EVERY_APPLICATION, maskedHeaders, type Webhook } from '../../../model/webhook.ts'
import { DELIVERY_STATUSES, type Delivery } from '../../../model/webhook-delivery.ts'
import { shownId, shownMoment } from './fields.ts'

export const newWebhook = z
  .strictObject({
    name: webhookName.optional(),
    ...newWebhookFields,
    secret: webhookSecret.optional(),
    custom_headers: customHeaders.default({}),
  })
  .openapi('NewWebhook', changedBy(webhookAuthorities))

export const webhookPatch = z
  .strictObject({ ...webhookFields, secret: webhookSecret, custom_headers: customHeaders })
  .partial()
  .openapi('WebhookPatch', changedBy(webhookAuthorities))

export const shownWebhook = z
  .object({
    id: shownId('whk'),
    tenant_id: shownId('ten'),
    name: z.string(),
    ...webhookFields,
    custom_headers: z
      .record(z.string(), z.string())
      .openapi({ description: 'Names of the custom headers; every value is `[masked]`.' }),
    has_secret: z.boolean(),
    application: z.string().nullable().openapi({
      description: 'Application that owns the webhook; null: administrators of the tenant own it.',
    }),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Webhook')

export function showWebhook(webhook: Webhook) {
  const application = webhook.keysOf === EVERY_APPLICATION ? null : webhook.keysOf
  return toWire(shownWebhook, {
    ...webhook,
    application,
    customHeaders: maskedHeaders(webhook.customHeaders),
  })
}

export const shownDelivery = z
  .object({
    id: shownId('dlv'),
    event: z.enum(WEBHOOK_EVENT_KINDS),
    status: z.enum(DELIVERY_STATUSES),
    status_code: z
      .int()
      .nullable()
      .openapi({ description: 'HTTP status of the response to the last attempt; null: no response.' }),
    response_body: z.string().nullable().openapi({
      description: 'The first 1 KB of the response body from the last attempt; null: no response.',
    }),
    attempt: z
      .int()
      .min(1)
      .max(5)
      .openapi({ description: 'Number of the last attempt; also 1 before the first attempt.' }),
    next_attempt_at: shownMoment.nullable(),
    delivered_at: shownMoment.nullable(),
    duration_ms: z.int().nullable().openapi({ description: 'Duration of the last attempt.' }),
    error: z.string().nullable().openapi({ description: 'Why the last attempt failed.' }),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('WebhookDelivery')

export function showDelivery(delivery: Delivery) {
  return toWire(shownDelivery, { ...delivery, attempt: Math.max(1, delivery.attempt) })
}

/** Fields of webhooks and deliveries: what callers may send, and what they are shown. A secret is only ever sent. */
import { WEBHOOK_EVENT_KINDS } from '../../../model/event.ts'
import { EVERY_EVENT, type Webhook } from '../../../model/webhook.ts'
import { DELIVERY_STATUSES, type Delivery } from '../../../model/webhook-delivery.ts'
import { httpUrl, shownId, shownMoment, shownOrNull, text, word } from './fields.ts'
import { z } from './zod.ts'

const SUBSCRIBABLE = [...WEBHOOK_EVENT_KINDS, EVERY_EVENT] as const
const MAX_HEADERS = 20
const MAX_HEADER_VALUE = 1024

/** RFC 9110 §5.1 */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
/** RFC 9110 §5.5, without bytes above ASCII and without outer blanks. */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/
/** Ours, or the connection's: whoever could set these could forge a delivery or break the framing of the request. */
const RESERVED_HEADER =
  /^(x-platform-.*|webhook-.*|host|content-.*|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|accept-encoding|user-agent)$/i

const events = z
  .array(word(SUBSCRIBABLE), 'must be a list of event kinds.')
  .min(1, 'must name at least one event kind, or "*".')
  .max(SUBSCRIBABLE.length, 'names a kind more than once.')
  .refine(kinds => new Set(kinds).size === kinds.length, 'names a kind more than once.')
  .openapi({ example: ['subscription.approved', 'subscription.revoked'] })

/** `whsec_` announces base64 (Standard Webhooks, "Signature scheme"). */
const secret = text(256, 32)
  .refine(
    value => !value.startsWith('whsec_') || /^whsec_[A-Za-z0-9+/]{28,}={0,2}$/.test(value),
    'must go on with at least 28 characters of base64 after whsec_.',
  )
  .openapi({
    writeOnly: true,
    description:
      'Key of the signatures, at least 32 characters; with the prefix whsec_ the rest is base64 for Standard Webhooks. Never returned.',
  })

const customHeaders = z
  .record(z.string(), z.string(), 'must be an object of header names and values.')
  .superRefine((headers, context) => {
    const names = Object.keys(headers)
    const fault = (name: string | undefined, message: string) =>
      context.addIssue({ code: 'custom', message, path: name === undefined ? [] : [name] })
    if (names.length > MAX_HEADERS) fault(undefined, `must have at most ${MAX_HEADERS} headers.`)
    if (new Set(names.map(name => name.toLowerCase())).size < names.length) {
      fault(undefined, 'names a header more than once.')
    }
    for (const [name, value] of Object.entries(headers)) {
      if (!HEADER_NAME.test(name)) fault(name, 'is no header name.')
      else if (RESERVED_HEADER.test(name)) fault(name, 'is set by the platform and cannot be replaced.')
      if (!HEADER_VALUE.test(value) || value.length > MAX_HEADER_VALUE) {
        fault(name, `must be 1 to ${MAX_HEADER_VALUE} visible ASCII characters.`)
      }
    }
  })
  .openapi({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { 'X-Environment': 'production' },
    description: `Sent with each delivery; at most ${MAX_HEADERS}, none of the platform's own.`,
  })

const enabled = z.boolean('must be true or false.')
const url = httpUrl().openapi({
  example: 'https://hooks.example.com/toolgate',
  description: 'In production HTTPS only.',
})

export const newWebhook = z
  .strictObject({
    url,
    events,
    secret: secret.optional(),
    enabled: enabled.default(true),
    custom_headers: customHeaders.default({}),
  })
  .openapi('NewWebhook')

export const webhookPatch = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    secret: secret.optional(),
    enabled: enabled.optional(),
    custom_headers: customHeaders.optional(),
  })
  .openapi('WebhookPatch')

export const READ_ONLY = ['id', 'tenant_id', 'has_secret', 'created_at', 'updated_at']

export const shownWebhook = z
  .object({
    id: shownId('whk'),
    tenant_id: shownId('ten'),
    url: z.string(),
    events: z.array(z.enum(SUBSCRIBABLE)),
    enabled: z.boolean(),
    custom_headers: z.record(z.string(), z.string()),
    has_secret: z.boolean(),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Webhook')

export function showWebhook(webhook: Webhook) {
  return {
    id: webhook.id,
    tenant_id: webhook.tenantId,
    url: webhook.url,
    events: webhook.events,
    enabled: webhook.enabled,
    custom_headers: webhook.customHeaders,
    has_secret: webhook.hasSecret,
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
  }
}

export const shownDelivery = z
  .object({
    id: shownId('dlv'),
    event: z.enum(WEBHOOK_EVENT_KINDS),
    status: z.enum(DELIVERY_STATUSES),
    status_code: z.int().nullable().openapi({ description: 'Of the last answer; null when there was none.' }),
    response_body: z.string().nullable().openapi({ description: 'The first 1 KB of the last answer.' }),
    attempt: z.int().min(1).max(5).openapi({ description: 'The last attempt, or the first to come.' }),
    next_attempt_at: shownMoment.nullable(),
    delivered_at: shownMoment.nullable(),
    duration_ms: z.int().nullable().openapi({ description: 'Of the last attempt.' }),
    error: z.string().nullable().openapi({ description: 'Why the last attempt failed.' }),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('WebhookDelivery')

export function showDelivery(delivery: Delivery) {
  return {
    id: delivery.id,
    event: delivery.event,
    status: delivery.status,
    status_code: delivery.statusCode,
    response_body: delivery.responseBody,
    attempt: Math.max(1, delivery.attempt),
    next_attempt_at: shownOrNull(delivery.nextAttemptAt),
    delivered_at: shownOrNull(delivery.deliveredAt),
    duration_ms: delivery.durationMs,
    error: delivery.error,
    created_at: delivery.createdAt.toISOString(),
    updated_at: delivery.updatedAt.toISOString(),
  }
}

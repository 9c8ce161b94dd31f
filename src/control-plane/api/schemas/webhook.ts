/** Schemas of webhooks and deliveries in requests, responses and configuration, and their conversion. */
import { WEBHOOK_EVENT_KINDS } from '../../../model/event.ts'
import { EVERY_EVENT, MASKED_HEADER, maskedHeaders, type Webhook } from '../../../model/webhook.ts'
import { DELIVERY_STATUSES, type Delivery } from '../../../model/webhook-delivery.ts'
import { httpUrl, shaped, shownId, shownMoment, textField, word } from './fields.ts'
import { present } from './present.ts'
import { z } from './zod.ts'

const SUBSCRIBABLE = [...WEBHOOK_EVENT_KINDS, EVERY_EVENT] as const
const MAX_HEADERS = 20
const MAX_HEADER_VALUE = 1024

/** RFC 9110 §5.1 */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
/** RFC 9110 §5.5, ASCII only, without leading and trailing whitespace. */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/
/** Set by the platform or by HTTP itself: a custom value could forge a delivery or break the framing of the request. */
const RESERVED_HEADER =
  /^(x-platform-.*|webhook-.*|host|content-.*|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|accept-encoding|user-agent)$/i

const events = z
  .array(word(SUBSCRIBABLE), 'must be a list of event types.')
  .min(1, 'must name at least one event type, or "*".')
  .max(SUBSCRIBABLE.length, 'must not name an event type more than once.')
  .refine(kinds => new Set(kinds).size === kinds.length, 'must not name an event type more than once.')
  .openapi({ example: ['subscription.approved', 'subscription.revoked'] })

/** After the prefix `whsec_` the secret is base64 (Standard Webhooks, "Signature scheme"). */
export const webhookSecret = textField(256, 32)
  .refine(
    value => !value.startsWith('whsec_') || /^whsec_[A-Za-z0-9+/]{28,}={0,2}$/.test(value),
    'must have at least 28 base64 characters after "whsec_".',
  )
  .openapi({
    writeOnly: true,
    example: 'replace this example with a random text',
    description:
      'Secret that signs the deliveries, 32 to 256 characters. If the secret begins with `whsec_`, the rest must be base64 (Standard Webhooks). No response contains the secret.',
  })

export const customHeaders = z
  .record(z.string(), z.string(), 'must be an object that maps header names to values.')
  .superRefine((headers, context) => {
    const names = Object.keys(headers)
    const fault = (name: string | undefined, message: string) =>
      context.addIssue({ code: 'custom', message, path: name === undefined ? [] : [name] })
    if (names.length > MAX_HEADERS) fault(undefined, `must have at most ${MAX_HEADERS} headers.`)
    if (new Set(names.map(name => name.toLowerCase())).size < names.length) {
      fault(undefined, 'must not name a header more than once.')
    }
    for (const [name, value] of Object.entries(headers)) {
      if (!HEADER_NAME.test(name)) fault(name, 'is not a valid header name.')
      else if (RESERVED_HEADER.test(name)) fault(name, 'is set by the platform and cannot be replaced.')
      if (!HEADER_VALUE.test(value) || value.length > MAX_HEADER_VALUE) {
        fault(
          name,
          `must be 1 to ${MAX_HEADER_VALUE} printable ASCII characters, without spaces at either end.`,
        )
      }
      if (value === MASKED_HEADER)
        fault(
          name,
          'has the masked value "[masked]". Send the real value, or omit custom_headers to keep all headers.',
        )
    }
  })
  .openapi({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { 'X-Environment': 'production' },
    description: `Headers that are sent with each delivery; at most ${MAX_HEADERS}. Headers that the platform sets are not allowed. The values are encrypted in the database, and no response contains them.`,
  })

const enabled = z.boolean('must be true or false.')
const url = httpUrl().openapi({
  example: 'https://hooks.example.com/toolgate',
  description: 'Address of the receiver; in production, https only.',
})

/** The fields of a webhook in configuration as code, except its secret and headers. */
export const webhookShape = { url, events, enabled: enabled.default(true) }

export const webhookName = shaped(
  /^[a-z0-9][a-z0-9-]*$/,
  100,
  'must consist of a-z, 0-9 and "-", and must not begin with "-".',
).openapi({
  example: 'billing',
  description: 'Unique in the tenant. Absent: the control plane derives the name from the id of the webhook.',
})

export const newWebhook = z
  .strictObject({
    name: webhookName.optional(),
    url,
    events,
    secret: webhookSecret.optional(),
    enabled: enabled.default(true),
    custom_headers: customHeaders.default({}),
  })
  .openapi('NewWebhook')

export const webhookPatch = z
  .strictObject({ url, events, secret: webhookSecret, enabled, custom_headers: customHeaders })
  .partial()
  .openapi('WebhookPatch')

export const shownWebhook = z
  .object({
    id: shownId('whk'),
    tenant_id: shownId('ten'),
    name: z.string(),
    url: z.string(),
    events: z.array(z.enum(SUBSCRIBABLE)),
    enabled: z.boolean(),
    custom_headers: z
      .record(z.string(), z.string())
      .openapi({ description: 'Names of the custom headers; every value is `[masked]`.' }),
    has_secret: z.boolean(),
    created_at: shownMoment,
    updated_at: shownMoment,
  })
  .openapi('Webhook')

export function showWebhook(webhook: Webhook) {
  return present(shownWebhook, { ...webhook, customHeaders: maskedHeaders(webhook.customHeaders) })
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
  return present(shownDelivery, { ...delivery, attempt: Math.max(1, delivery.attempt) })
}

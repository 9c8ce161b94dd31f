/** The fields of a webhook that its owner declares. */
import { WEBHOOK_EVENT_KINDS } from '../event.ts'
import type { Authorities } from './authority.ts'
import { httpUrl, shaped, textField, withDefaults, word } from './fields.ts'
import type { ModelOf } from './names.ts'
import { z } from './zod.ts'

/** Subscribes to all kinds (docs/reference/events.md, Kinds). */
export const EVERY_EVENT = '*'
/** Stands for the value of a custom header outside the sealed column. */
export const MASKED_HEADER = '[masked]'

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

/** Without its secret and headers, which configuration as code has under the names of variables. */
export const webhookFields = {
  url: httpUrl().openapi({
    example: 'https://hooks.example.com/toolgate',
    description: 'Address of the receiver; in production, https only.',
  }),
  events: z
    .array(word(SUBSCRIBABLE), 'must be a list of event types.')
    .min(1, 'must name at least one event type, or "*".')
    .max(SUBSCRIBABLE.length, 'must not name an event type more than once.')
    .refine(kinds => new Set(kinds).size === kinds.length, 'must not name an event type more than once.')
    .openapi({
      description: 'Types of the events that are sent; `*`: all.',
      example: ['subscription.approved', 'subscription.revoked'],
    }),
  enabled: z.boolean('must be true or false.').openapi({ description: 'false: no event is sent.' }),
}

/** Deliveries carry headers and a signature of the owner's. */
export const webhookAuthorities: Authorities<
  typeof webhookFields & {
    readonly name: unknown
    readonly secret: unknown
    readonly custom_headers: unknown
  }
> = {
  name: 'owner',
  url: 'owner',
  events: 'owner',
  enabled: 'owner',
  secret: 'owner',
  custom_headers: 'owner',
}

/** The same in a new webhook. */
export const newWebhookFields = withDefaults(webhookFields, { enabled: true })

export type DeclaredWebhook = ModelOf<z.ZodObject<typeof webhookFields>>

export const webhookName = shaped(
  /^[a-z0-9][a-z0-9-]*$/,
  100,
  'must consist of a-z, 0-9 and "-", and must not begin with "-".',
).openapi({
  example: 'billing',
  description: 'Unique in the tenant. Absent: the control plane derives the name from the id of the webhook.',
})

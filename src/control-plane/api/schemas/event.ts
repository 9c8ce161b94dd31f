/** Schemas and summaries of the messages that webhooks deliver, by kind of event. */
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from '../../../model/event.ts'
import { QUOTA_WINDOWS } from '../../../model/quota-notice.ts'
import { z } from '../../../model/schema/zod.ts'
import { SUBSCRIPTION_STATUSES } from '../../../model/subscription.ts'
import { specHash } from './definitions.ts'
import { shownId, shownMoment } from './fields.ts'

const reason = z.string().nullable().openapi({ example: 'The contract has ended.' })
const keyPrefix = z.string().openapi({ example: 'tgk_LOndzU3M', description: 'Public part of the key.' })
const apiKey = z.string().optional().openapi({
  description:
    'The full key. Present only if the webhook is permitted to receive it: a webhook of an administrator receives the keys of all applications, any other webhook only those of the application that manages it.',
})

const quota: z.ZodRawShape = {
  window: z.enum(QUOTA_WINDOWS),
  threshold: z.int().openapi({
    example: 80,
    description: 'Percentage of `limit` at which this event is sent.',
  }),
  used: z.int().openapi({ example: 8_000, description: 'Number of requests in the current quota window.' }),
  limit: z.int().openapi({ example: 10_000 }),
  resets_at: shownMoment,
}

interface Described {
  readonly summary: string
  /** Absent: `data` describes a subscription. */
  readonly about?: 'webhook' | 'api'
  /** For `data`, beside those that every event has. */
  readonly fields: z.ZodRawShape
}

const EVENTS: { readonly [kind in WebhookEventKind]: Described } = {
  'subscription.created': { summary: 'A subscription was requested', fields: {} },
  'subscription.approved': {
    summary: 'A subscription was approved',
    fields: { key_prefix: keyPrefix.optional(), api_key: apiKey },
  },
  'subscription.revoked': {
    summary: 'A subscription was revoked, directly or together with its API, product or tenant',
    fields: { reason },
  },
  'subscription.key_rotated': {
    summary: 'A key was rotated',
    fields: { key_prefix: keyPrefix, api_key: apiKey },
  },
  'subscription.expired': { summary: 'A subscription has expired', fields: { expires_at: shownMoment } },
  'subscription.updated': {
    summary: 'A subscription was changed',
    fields: {
      changed: z.array(z.string()).openapi({
        example: ['plan'],
        description: 'Names of the changed fields.',
      }),
    },
  },
  'subscription.rejected': {
    summary: 'A requested subscription, or a requested plan, was rejected',
    fields: { reason, requested_plan: z.string().nullable().optional() },
  },
  'subscription.suspended': { summary: 'A subscription was suspended', fields: { reason } },
  'subscription.resumed': { summary: 'A suspended subscription was resumed', fields: {} },
  'subscription.expiring': {
    summary: 'A subscription expires soon; sent once for each expiry date',
    fields: { expires_at: shownMoment },
  },
  'subscription.migrated': {
    summary: 'A subscription, including its keys, was moved to another API, version or product',
    fields: {
      from_api_id: shownId('api').optional().openapi({
        description: 'Id of the previous API; present for a subscription to an API.',
      }),
      from_version: z.string().optional().openapi({ example: 'v1' }),
      to_version: z.string().optional().openapi({ example: 'v2' }),
      from_product_id: shownId('prd').optional().openapi({
        description: 'Id of the previous product; present for a subscription to a product.',
      }),
      reason,
    },
  },
  'subscription.key_expiring': {
    summary: 'A key expires soon; sent once for each key, and again if its expiry date changes',
    fields: { key_prefix: keyPrefix, expires_at: shownMoment },
  },
  'subscription.quota_warning': {
    summary: 'A subscription has used 80 % of its quota; sent once for each window',
    fields: quota,
  },
  'subscription.quota_exhausted': {
    summary: 'A subscription has used all of its quota; sent once for each window',
    fields: quota,
  },
  'api.definitions_changed': {
    summary:
      'A change of tools by the MCP server of an API waits until an administrator of the tenant accepts it',
    about: 'api',
    fields: {
      api_id: shownId('api'),
      api_name: z.string().openapi({ example: 'CRM' }),
      spec_hash: specHash,
      tools: z.array(z.string()).openapi({ description: 'Names of changed tools on their server.' }),
      changes: z.int(),
    },
  },
  'webhook.failing': {
    summary:
      'A webhook has had three failed deliveries in a row; the event is sent again only after a delivery has succeeded',
    about: 'webhook',
    fields: {
      webhook_id: shownId('whk'),
      webhook_name: z.string().openapi({ example: 'billing' }),
      host: z.string().openapi({ example: 'hooks.example.com' }),
      failed_deliveries: z.int().openapi({ example: 3 }),
      status_code: z.int().nullable().openapi({
        description: 'HTTP status of the response to the last attempt; null: no response.',
      }),
      error: z.string().nullable(),
    },
  },
}

const OF_SUBSCRIPTION: z.ZodRawShape = {
  subscription_id: shownId('sub'),
  api_id: shownId('api').nullable().openapi({ description: 'null for a subscription to a product.' }),
  api_name: z.string().openapi({ example: 'Orders' }),
  product_id: shownId('prd').optional().openapi({ description: 'Present for a subscription to a product.' }),
  product_name: z.string().optional(),
  consumer_id: shownId('con'),
  plan: z.string().openapi({ example: 'silver' }),
  status: z.enum(SUBSCRIPTION_STATUSES),
}

export interface DescribedEvent {
  readonly kind: WebhookEventKind
  readonly summary: string
  readonly message: z.ZodType
}

/** The body of a delivery (docs/reference/events.md, Payload). Further fields of `data` may follow in later versions. */
export const DESCRIBED_EVENTS: readonly DescribedEvent[] = WEBHOOK_EVENT_KINDS.map(kind => {
  const { summary, fields, about } = EVENTS[kind]
  const data = z.object({ ...(about === undefined ? OF_SUBSCRIPTION : {}), ...fields })
  const message = z.object({
    event: z.literal(kind),
    timestamp: z.string().openapi({ format: 'date-time', example: '2026-01-31T12:00:00.000001Z' }),
    webhook_id: shownId('whk'),
    data,
    test: z.boolean().openapi({ example: false, description: 'True for a test delivery with sample data.' }),
  })
  return { kind, summary, message }
})

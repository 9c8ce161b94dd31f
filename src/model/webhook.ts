/** A webhook, the messages sent to it, their sample data, masked headers, and names for its secrets. */

import type { Json } from '../base/json/json-schema.ts'
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from './event.ts'
import { type DeclaredWebhook, MASKED_HEADER } from './schema/webhook.ts'

/** In `keysOf`: the keys of every application of the tenant. */
export const EVERY_APPLICATION = '*'

/** The names with masked values. */
export function maskedHeaders(headers: Webhook['customHeaders']): Webhook['customHeaders'] {
  return Object.fromEntries(Object.keys(headers).map(name => [name, MASKED_HEADER]))
}

/** How long the secret before the last change still signs beside the new one (docs/reference/events.md, Signatures). */
export const SECRET_OVERLAP_MS = 24 * 3_600_000

/** Bounds the deliveries that one change can cause. */
export const MAX_WEBHOOKS_PER_TENANT = 100

export interface Webhook extends DeclaredWebhook {
  readonly id: string
  readonly tenantId: string
  /** Unique in the tenant, never changed. */
  readonly name: string
  /** To be written: the values. As read: each value masked. */
  readonly customHeaders: { readonly [name: string]: string }
  /** The application whose keys its deliveries may hold; `EVERY_APPLICATION`: any; null: none. */
  readonly keysOf: string | null
  /** Without one, deliveries are not signed. */
  readonly hasSecret: boolean
  /** `secret`, or `custom_headers.` and a header → name of the variable that holds the value outside of the database. */
  readonly secretNames: { readonly [field: string]: string }
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

export function isWebhookEvent(kind: string): kind is WebhookEventKind {
  return (WEBHOOK_EVENT_KINDS as readonly string[]).includes(kind)
}

export interface Message {
  readonly event: WebhookEventKind
  /** ISO 8601 with microseconds. With `webhookId` it is unique for each event, and the same in every attempt. */
  readonly timestamp: string
  readonly webhookId: string
  readonly data: { readonly [field: string]: Json }
  readonly test: boolean
}

/** The body of a delivery (docs/reference/events.md, Payload): the exact text that is signed and sent. */
export function messageBody({ event, timestamp, webhookId, data, test }: Message): string {
  return JSON.stringify({ event, timestamp, webhook_id: webhookId, data, test })
}

/** Microseconds since 1970 as ISO 8601, six digits of fraction. */
export function isoMicroseconds(microseconds: number): string {
  const seconds = new Date(Math.floor(microseconds / 1_000_000) * 1000).toISOString().slice(0, 19)
  return `${seconds}.${String(microseconds % 1_000_000).padStart(6, '0')}Z`
}

const SAMPLE = {
  subscription_id: 'sub_00000000000000000000000000',
  api_id: 'api_00000000000000000000000000',
  api_name: 'Sample API',
  consumer_id: 'con_00000000000000000000000000',
  plan: 'community',
} as const

const SAMPLE_MIGRATION = {
  from_api_id: 'api_00000000000000000000000001',
  from_version: 'v1',
  to_version: 'v2',
  reason: 'This is a test.',
} as const

const SAMPLE_QUOTA = { window: 'day', limit: 10_000 } as const

const SAMPLE_FAILING = {
  webhook_id: 'whk_00000000000000000000000000',
  webhook_name: 'sample',
  host: 'hooks.example.com',
  failed_deliveries: 3,
  status_code: 500,
  error: 'the receiver responded with status 500',
} as const

const SAMPLE_CHANGED = {
  api_id: 'api_00000000000000000000000000',
  api_name: 'Sample',
  spec_hash: '0'.repeat(64),
  tools: ['sample'],
  changes: 1,
} as const

/** The data of a test delivery: the shape of the real thing, with values that name nothing. It holds no key. */
export function sampleData(kind: WebhookEventKind, now: Date): Message['data'] {
  switch (kind) {
    case 'subscription.created':
      return { ...SAMPLE, status: 'pending_approval' }
    case 'subscription.approved':
      return { ...SAMPLE, status: 'approved', key_prefix: 'tgk_00000000' }
    case 'subscription.revoked':
      return { ...SAMPLE, status: 'revoked', reason: 'This is a test.' }
    case 'subscription.key_rotated':
      return { ...SAMPLE, status: 'approved', key_prefix: 'tgk_00000000' }
    case 'subscription.expired':
      return { ...SAMPLE, status: 'expired', expires_at: now.toISOString() }
    case 'subscription.updated':
      return { ...SAMPLE, status: 'approved', changed: ['plan'] }
    case 'subscription.rejected':
      return { ...SAMPLE, status: 'rejected', reason: 'This is a test.' }
    case 'subscription.suspended':
      return { ...SAMPLE, status: 'suspended', reason: 'This is a test.' }
    case 'subscription.resumed':
      return { ...SAMPLE, status: 'approved' }
    case 'subscription.expiring':
      return { ...SAMPLE, status: 'approved', expires_at: now.toISOString() }
    case 'subscription.migrated':
      return { ...SAMPLE, status: 'approved', ...SAMPLE_MIGRATION }
    case 'subscription.key_expiring':
      return { ...SAMPLE, status: 'approved', key_prefix: 'tgk_00000000', expires_at: now.toISOString() }
    case 'subscription.quota_warning':
      return {
        ...SAMPLE,
        status: 'approved',
        ...SAMPLE_QUOTA,
        threshold: 80,
        used: 8_000,
        resets_at: now.toISOString(),
      }
    case 'subscription.quota_exhausted':
      return {
        ...SAMPLE,
        status: 'approved',
        ...SAMPLE_QUOTA,
        threshold: 100,
        used: 10_000,
        resets_at: now.toISOString(),
      }
    case 'api.definitions_changed':
      return { ...SAMPLE_CHANGED }
    case 'webhook.failing':
      return { ...SAMPLE_FAILING }
  }
}

/** Name of the variable for a value of a webhook whose owner has named none: `ACME__BILLING__SECRET`. */
export function secretNameOf(tenant: string, webhook: string, field: string): string {
  const words = [tenant, webhook, field.replace('custom_headers.', 'header_')]
  const name = words.map(word => word.toUpperCase().replace(/[^A-Z0-9]/g, '_')).join('__')
  return /^[A-Z]/.test(name) ? name : `T_${name}`
}

/** Domain events: their kinds and fields. */
import type { Json } from '../base/json/json-schema.ts'

/** Kinds that webhooks can subscribe to (docs/reference/events.md, Kinds). */
export const WEBHOOK_EVENT_KINDS = [
  'subscription.created',
  'subscription.approved',
  'subscription.revoked',
  'subscription.key_rotated',
  'subscription.expired',
  'subscription.updated',
  'subscription.rejected',
  'subscription.suspended',
  'subscription.resumed',
  'subscription.expiring',
  'subscription.migrated',
  'subscription.key_expiring',
  'subscription.quota_warning',
  'subscription.quota_exhausted',
  'api.definitions_changed',
  'webhook.failing',
] as const
export type WebhookEventKind = (typeof WEBHOOK_EVENT_KINDS)[number]

/** Webhook events that an administrator or a subscriber should act on; they are also sent by mail. */
export const NOTICE_KINDS = [
  'subscription.expiring',
  'subscription.key_expiring',
  'subscription.quota_warning',
  'subscription.quota_exhausted',
  'api.definitions_changed',
  'webhook.failing',
] as const satisfies readonly WebhookEventKind[]
export type NoticeKind = (typeof NOTICE_KINDS)[number]

/** Changes that only the publisher and the audit trail care about. */
export type ChangeKind =
  | `tenant.${'created' | 'updated' | 'activated' | 'deleted' | 'purged'}`
  | `api.${'created' | 'updated' | 'deleted'}`
  | `plan.${'created' | 'updated' | 'deleted'}`
  | `product.${'created' | 'updated' | 'deleted'}`
  | `api_key.${'created' | 'revoked'}`
  | `consumer.${'created' | 'updated'}`
  | `webhook.${'created' | 'updated' | 'deleted'}`

export type EventKind = WebhookEventKind | ChangeKind

export interface NewEvent {
  readonly kind: EventKind
  /** null = concerns every tenant (a global plan). */
  readonly tenantId: string | null
  /** Id of the thing that changed. */
  readonly resourceId: string
  /** Body of the event; of a `subscription.*` event the `data` of a webhook payload. Holds no key and no secret. */
  readonly data: { readonly [field: string]: Json }
  /** Further `data` for receivers of webhooks only, such as a key that is shown once: the log never holds it, a delivery only sealed. */
  readonly once?: {
    /** Only its webhooks, and those of tenant admins, receive the values. */
    readonly application: string
    readonly data: { readonly [field: string]: string }
  }
}

export interface DomainEvent extends Omit<NewEvent, 'once'> {
  /** Unique; receivers deduplicate by it. */
  readonly id: string
  /** Position in the order of commits, without gaps: a reader that has seen n has seen everything up to n. */
  readonly seq: number
  readonly occurredAt: Date
}

/** The repositories of webhooks and their deliveries. No query lives here. */
import type { Webhook } from '../../model/webhook.ts'
import type { AfterAttempt, Delivery, DeliveryStatus } from '../../model/webhook-delivery.ts'
import type { Locking, Page, PageRequest } from './repositories.ts'

export interface WebhookFilter {
  /** Found anywhere in the address; `%` and `_` stand for themselves. */
  readonly q?: string | undefined
  readonly enabled?: boolean | undefined
}

/** A new secret; while `previousUntil` has not come the one before it signs too. */
export interface NewSecret {
  readonly secret: string
  readonly previousUntil: Date
}

/** Secrets go in and never come out here: only a claimed delivery carries them. */
export interface WebhookRepository {
  /** @param secret undefined: deliveries are not signed */
  insert(webhook: Webhook, secret: string | undefined): Promise<void>
  find(id: string, locking?: Locking): Promise<Webhook | undefined>
  list(filter: WebhookFilter, page: PageRequest): Promise<Page<Webhook>>
  count(): Promise<number>
  /** Counts `revision` up, stamps `updatedAt` and returns the row as it now is. */
  update(webhook: Webhook, change?: NewSecret): Promise<Webhook>
  /** With all its deliveries. */
  remove(id: string): Promise<void>
  /** Ids of enabled ones whose address is plain HTTP, at most `limit`. */
  overPlainHttp(limit: number): Promise<readonly string[]>
  /** How many have a secret that was sealed under another key than this instance has. */
  sealedElsewhere(): Promise<number>
  /** Forgets secrets whose overlap has ended. */
  dropOldSecrets(): Promise<void>
}

/** A message for one webhook. `body` is never changed, so that every attempt sends the same bytes. */
export type NewDelivery = Pick<Delivery, 'id' | 'tenantId' | 'webhookId' | 'event' | 'test'> & {
  readonly body: string
}

/** Ours to send until the lease ends. */
export interface ClaimedDelivery {
  readonly id: string
  /** Attempts made before this one. */
  readonly attempt: number
  readonly event: string
  readonly webhookId: string
  readonly tenantId: string
  readonly url: string
  readonly customHeaders: { readonly [name: string]: string }
  readonly body: string
  /** Parts of `body` that must not be kept, wherever they turn up. */
  readonly confidential: readonly string[]
  /** The current secret first; empty when there is none. */
  readonly secrets: readonly string[]
  /** Set when body or secret cannot be opened: it must not be sent, and says why. */
  readonly unreadable: string | undefined
}

export interface ClaimBounds {
  /** Deliveries claimed at most. */
  readonly slots: number
  /** Of one webhook and of one tenant at once, all instances together. */
  readonly perWebhook: number
  readonly perTenant: number
  readonly leaseMs: number
  /** Names this claim; only who shows it may settle. */
  readonly lease: string
}

export interface QueueDepth {
  /** Pending, due or not. */
  readonly waiting: number
  /** Being sent now, by whichever instance. */
  readonly leased: number
  /** Milliseconds since the oldest one became due; 0 when none is due. */
  readonly oldestDueMs: number
}

export interface DeliveryRepository {
  /** Moment in microseconds that no other message has; taken from the clock that also numbers events. */
  uniqueMoment(): Promise<number>
  /** Due at once; every instance is told at commit. */
  insert(delivery: NewDelivery): Promise<Delivery>
  find(webhookId: string, id: string, locking?: Locking): Promise<Delivery | undefined>
  /** The newest first. */
  list(
    webhookId: string,
    filter: { readonly status?: DeliveryStatus | undefined; readonly event?: string | undefined },
    page: PageRequest,
  ): Promise<Page<Delivery>>
  /** Due at once again; every instance is told at commit. */
  retry(delivery: Delivery): Promise<Delivery>
  /**
   * Takes due deliveries of enabled webhooks. Never more than `perWebhook` of one webhook are leased at once, whoever claims;
   * `perTenant` may be passed for a moment when instances claim at the very same time. Tenants with the fewest leases go first.
   */
  claim(bounds: ClaimBounds): Promise<readonly ClaimedDelivery[]>
  /** Writes the outcome and ends the lease. Returns false when the lease is no longer ours. */
  settle(id: string, lease: string, after: AfterAttempt): Promise<boolean>
  depth(): Promise<QueueDepth>
  /** Drops deliveries made before `before`, and sealed bodies made before `sealedBefore` that were not delivered. */
  sweep(before: Date, sealedBefore: Date): Promise<void>
}

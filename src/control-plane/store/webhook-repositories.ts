/** The repositories of webhooks and their deliveries. */
import type { Webhook } from '../../model/webhook.ts'
import type { AfterAttempt, Delivery, DeliveryStatus } from '../../model/webhook-delivery.ts'
import type { ListPage, Locking, PageRequest } from './repositories.ts'

interface WebhookFilter {
  /** Matches anywhere in the address; `%` and `_` are literal. */
  readonly q?: string | undefined
  readonly enabled?: boolean | undefined
}

/** A new secret; until `previousUntil` the previous one signs too. */
interface NewSecret {
  readonly secret: string
  readonly previousUntil: Date
}

/** Values to compare with the sealed ones. */
export interface SecretValues {
  readonly secret?: string | undefined
  readonly headers?: Webhook['customHeaders'] | undefined
}

/** No method returns a secret or the value of a header: only claimed deliveries contain them. */
export interface WebhookRepository {
  /** @param secret undefined: deliveries are not signed */
  insert(webhook: Webhook, secret: string | undefined): Promise<void>
  find(id: string, locking?: Locking): Promise<Webhook | undefined>
  list(filter: WebhookFilter, page: PageRequest): Promise<ListPage<Webhook>>
  count(): Promise<number>
  /**
   * Increments `revision`, sets `updatedAt` and returns the changed row.
   * @param change `none`: deliveries are no longer signed; absent: the secret stays
   * @param headers new values; absent: they stay
   */
  update(webhook: Webhook, change?: NewSecret | 'none', headers?: Webhook['customHeaders']): Promise<Webhook>
  /** Whether the webhook has these values; absent ones count as held. */
  holds(id: string, values: SecretValues): Promise<{ readonly secret: boolean; readonly headers: boolean }>
  /** Seals headers that an earlier version has stored in the clear, of at most `limit` webhooks. Returns of how many. */
  sealHeaders(limit: number): Promise<number>
  /** Deletes the confidential bodies of the webhook's deliveries: they are sent with their keys masked. */
  withholdKeys(id: string): Promise<void>
  /** With all its deliveries. */
  remove(id: string): Promise<void>
  /** Adds a failed delivery. Returns how many failed since the last one that arrived; undefined when the webhook is gone. */
  countFailed(
    id: string,
  ): Promise<(Pick<Webhook, 'name' | 'url'> & { readonly failedDeliveries: number }) | undefined>
  /** Whether the last attempt took long: such a webhook has places apart. */
  setSlow(id: string, slow: boolean): Promise<void>
  /** A delivery has arrived: the count begins again. */
  recover(id: string): Promise<void>
  /** Ids of enabled webhooks over plain HTTP, at most `limit`. */
  overPlainHttp(limit: number): Promise<readonly string[]>
  /** Number of webhooks whose secret or headers are sealed with another key than this instance has. */
  sealedElsewhere(): Promise<number>
  /** Deletes previous secrets whose overlap has ended. */
  dropOldSecrets(): Promise<void>
}

/** A message for one webhook. Every attempt sends the same `body`. */
type NewDelivery = Pick<Delivery, 'id' | 'tenantId' | 'webhookId' | 'event' | 'test'> & {
  readonly body: string
}

/** A delivery that this instance may send until the lease ends. */
export interface ClaimedDelivery {
  readonly id: string
  /** Attempts made before this one. */
  readonly attempt: number
  readonly event: string
  readonly test: boolean
  readonly webhookId: string
  readonly tenantId: string
  readonly url: string
  readonly customHeaders: { readonly [name: string]: string }
  readonly body: string
  /** Values in `body` that must not be stored, not even as part of a response. */
  readonly confidential: readonly string[]
  /** The current secret first; empty when there is none. */
  readonly secrets: readonly string[]
  /** The reason when body, headers or secret cannot be decrypted: the delivery must not be sent. */
  readonly unreadable: string | undefined
}

export interface ClaimBounds {
  /** Maximum number of deliveries. */
  readonly slots: number
  /** Concurrent deliveries of one webhook and of one tenant, over all instances. One to a slow receiver is the only one of its webhook. */
  readonly perWebhook: number
  readonly perTenant: number
  /** Deliveries of a tenant to receivers that are not slow, as long as they take less than `slowAfterMs`; and to slow ones. */
  readonly quickPerTenant: number
  readonly slowPerTenant: number
  readonly slowAfterMs: number
  readonly leaseMs: number
  /** Identifies this claim; required to settle its deliveries. */
  readonly lease: string
}

export interface QueueDepth {
  /** Pending deliveries of tenants that are not suspended, due or not. */
  readonly waiting: number
  /** Being sent now, by any instance. */
  readonly leased: number
  /** Milliseconds since the oldest pending delivery became due; 0 when none is due. */
  readonly oldestDueMs: number
}

export interface DeliveryRepository {
  /** A unique timestamp in microseconds, from the clock that also numbers events. */
  uniqueMoment(): Promise<number>
  /** Due at once; every instance is notified at commit. */
  insert(delivery: NewDelivery): Promise<Delivery>
  find(webhookId: string, id: string, locking?: Locking): Promise<Delivery | undefined>
  /** Newest first. */
  list(
    webhookId: string,
    filter: {
      /** Matches anywhere in event and error; `%` and `_` are literal. */
      readonly q?: string | undefined
      readonly status?: DeliveryStatus | undefined
      readonly event?: string | undefined
    },
    page: PageRequest,
  ): Promise<ListPage<Delivery>>
  /** Due at once again; every instance is notified at commit. */
  retry(delivery: Delivery): Promise<Delivery>
  /**
   * Claims due deliveries of enabled webhooks. Over all instances, at most `perWebhook` of one webhook are leased at once; `perTenant` may
   * be exceeded briefly when instances claim at the same time. Tenants with the fewest leases come first.
   */
  claim(bounds: ClaimBounds): Promise<readonly ClaimedDelivery[]>
  /** Writes the outcome and ends the lease. Returns false when the delivery has another lease, or is settled. */
  settle(id: string, lease: string, after: AfterAttempt): Promise<boolean>
  /** Whether an enabled webhook of the tenant is still to receive something. */
  anyPending(tenantId: string): Promise<boolean>
  depth(): Promise<QueueDepth>
  /** Deletes deliveries created before `before`, and sealed bodies of undelivered ones created before `sealedBefore`. */
  sweep(before: Date, sealedBefore: Date): Promise<void>
}

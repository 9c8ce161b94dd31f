/** A consumer of a tenant and its status, as plain data. */

export const CONSUMER_STATUSES = ['active', 'blocked'] as const
export type ConsumerStatus = (typeof CONSUMER_STATUSES)[number]

export interface Consumer {
  readonly id: string
  readonly tenantId: string
  /** What tokens and subscriptions call it: `azp`, `client_id` or the application. Unique in the tenant. */
  readonly subject: string
  readonly name: string
  readonly status: ConsumerStatus
  /** Slug of the consumer's plan, used where no subscription applies; null = the defaults. */
  readonly plan: string | null
  /** Free text of the administrators. */
  readonly notes: string
  readonly lastSeenAt: Date | null
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

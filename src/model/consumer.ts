/** A consumer of a tenant and its status, as plain data. */
import type { DeclaredConsumer } from './schema/consumer.ts'

export const CONSUMER_STATUSES = ['active', 'blocked'] as const
export type ConsumerStatus = (typeof CONSUMER_STATUSES)[number]

export interface Consumer extends DeclaredConsumer {
  readonly id: string
  readonly tenantId: string
  /** What tokens and subscriptions call it: `azp`, `client_id` or the application. Unique in the tenant. */
  readonly subject: string
  readonly status: ConsumerStatus
  readonly lastSeenAt: Date | null
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

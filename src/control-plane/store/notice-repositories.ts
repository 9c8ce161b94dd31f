/** The interfaces of the repositories of announced quotas and of mails. */
import type { AfterSending, Mail } from '../../model/mail.ts'
import type { ReachedQuota } from '../../model/quota-notice.ts'

export interface NoticeRepository {
  /**
   * Shares of the quotas of these subscriptions that are reached in the current day and month, each once: the same call of another
   * instance returns it no more. Of several shares of one window, the highest is returned.
   */
  takeReached(subscriptionIds: readonly string[]): Promise<readonly ReachedQuota[]>
  /** Deletes rows of announcements made before. */
  sweep(before: Date): Promise<void>
}

/** A mail that this instance may send until the lease ends. */
export type ClaimedMail = Pick<
  Mail,
  'id' | 'tenantId' | 'recipient' | 'subject' | 'body' | 'attempt' | 'createdAt'
>

export interface MailRepository {
  /** Due mails, those of each tenant in turn. @param lease required to settle them */
  claim(bounds: {
    readonly slots: number
    readonly leaseMs: number
    readonly lease: string
  }): Promise<readonly ClaimedMail[]>
  /** Writes the outcome and ends the lease. Returns false when the lease has ended before. */
  settle(id: string, lease: string, after: AfterSending): Promise<boolean>
  /** Number of mails that are to be sent. */
  pending(): Promise<number>
  sweep(before: Date): Promise<void>
}

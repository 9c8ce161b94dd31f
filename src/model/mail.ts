/** A notice as a mail, its states, the form of an address, and the limit of mails per day. */
import { RETRY_DELAYS_MS } from './webhook-delivery.ts'

/** Mails of one tenant in 24 hours: a subscriber chooses an address, and every notice is one mail to each. */
export const MAX_MAILS_PER_DAY = 200

export const MAIL_STATUSES = ['pending', 'sent', 'failed'] as const
export type MailStatus = (typeof MAIL_STATUSES)[number]

export interface Mail {
  readonly id: string
  readonly tenantId: string
  readonly event: string
  readonly recipient: string
  readonly subject: string
  readonly body: string
  readonly status: MailStatus
  /** Attempts made whose outcome is known. */
  readonly attempt: number
  /** Why the last attempt failed; null when it succeeded. */
  readonly error: string | null
  /** null when no attempt is to come. */
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What became of one attempt. */
export type MailOutcome =
  | { readonly sent: true }
  | {
      readonly sent: false
      /** The server refuses this mail for good. */
      readonly permanent: boolean
      readonly error: string
    }

export type AfterSending = Pick<Mail, 'status' | 'attempt' | 'error' | 'nextAttemptAt'>

/** The state after an attempt. @param attempts made before this one */
export function afterSending(attempts: number, outcome: MailOutcome, at: Date): AfterSending {
  const attempt = attempts + 1
  if (outcome.sent) return { status: 'sent', attempt, error: null, nextAttemptAt: null }
  const delayMs = outcome.permanent ? undefined : RETRY_DELAYS_MS[attempts]
  if (delayMs === undefined) return { status: 'failed', attempt, error: outcome.error, nextAttemptAt: null }
  const nextAttemptAt = new Date(at.getTime() + delayMs)
  return { status: 'pending', attempt, error: outcome.error, nextAttemptAt }
}

const ADDRESS = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/

/** True for an address that a header and a command of SMTP can hold as it is (RFC 5321 §4.1.2 without quoted parts). */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text)
}

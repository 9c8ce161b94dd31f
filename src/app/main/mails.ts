/** Starts the delivery of notices by mail for the control plane, and registers its metrics. */
import { type Mails, startMails } from '../../control-plane/mail/dispatcher.ts'
import type { MailOptions } from '../../control-plane/store/opened-store.ts'
import type { Store } from '../../control-plane/store/store.ts'
import type { AppContext } from './app-context.ts'

/** What the store needs to write mails; undefined without a mail server. */
export function mailOptions({ settings, metrics, log }: AppContext): MailOptions | undefined {
  if (settings.smtp === undefined) return undefined
  let omitted = 0
  metrics.read('platform_mail_omitted_total', () => omitted)
  return {
    onOmitted(mails) {
      omitted += mails
      log.warn(
        { mails },
        'some notices were not sent by mail, because their tenant has reached its daily limit of mails',
      )
    },
  }
}

/** undefined without a mail server. The library is loaded here. */
export async function sendMails(context: AppContext, store: Store): Promise<Mails | undefined> {
  const { settings, metrics, log, clock, closers } = context
  const { smtp } = settings
  if (smtp === undefined) return undefined
  const { sendMail } = await import('../../control-plane/mail/smtp.ts')
  const outcomes = { sent: 0, retry: 0, failed: 0 }
  const mails = startMails({
    store,
    send: mail => sendMail(mail, smtp),
    now: clock.now,
    onOutcome(outcome) {
      outcomes[outcome]++
    },
    onFault: (message, error) => log.error({ err: error }, message),
  })
  closers.add('mails', () => mails.close())
  metrics.read('platform_mail_sent_total', () => outcomes.sent)
  metrics.read('platform_mail_retries_total', () => outcomes.retry)
  metrics.read('platform_mail_failed_total', () => outcomes.failed)
  metrics.read('platform_mail_queue_depth', () => mails.pending)
  return mails
}

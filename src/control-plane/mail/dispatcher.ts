/** Claims due mails, sends them, stores the outcomes and deletes old mails. The queue is in the database, and the retry rules are in the model. */
import { randomUUID } from 'node:crypto'
import { CoalescedRun } from '../../base/async/coalesced-run.ts'
import { afterSending, type MailOutcome } from '../../model/mail.ts'
import type { ClaimedMail } from '../store/notice-repositories.ts'
import { before, EVERY_TENANT, type Store } from '../store/store.ts'

/** Another instance may claim the mails of a dead one after this; longer than an attempt. */
const LEASE_MS = 60_000
/** Mails that this instance sends at once. */
const SLOTS = 4
const DEFAULT_POLL_MS = 2_000
const DROP_EVERY_MS = 3_600_000
const KEEP_MS = 30 * 86_400_000

type Sent = 'sent' | 'retry' | 'failed'

export interface MailOptions {
  readonly store: Store
  readonly send: (mail: ClaimedMail) => Promise<MailOutcome>
  readonly onOutcome: (outcome: Sent) => void
  readonly onFault: (message: string, error: unknown) => void
  /** Unix ms. */
  readonly now: () => number
  /** Default 2 s. */
  readonly pollMs?: number
}

export interface Mails {
  /** Claims due mails at once. */
  nudge(): void
  /** Mails that are to be sent, as of the last claim. */
  readonly pending: number
  /** Stops claiming; resolves when the outcomes of running attempts are stored. */
  close(): Promise<void>
}

export function startMails(options: MailOptions): Mails {
  const { store, send, onOutcome, onFault, now } = options
  let pending = 0
  let droppedAtMs = Number.NEGATIVE_INFINITY

  async function settle(mail: ClaimedMail, lease: string): Promise<void> {
    const outcome = await send(mail)
    const after = await store.write(EVERY_TENANT, async tx => {
      const state = afterSending(mail.attempt, outcome, tx.now)
      return (await tx.mails.settle(mail.id, lease, state)) ? state : undefined
    })
    if (after === undefined) return
    onOutcome(after.status === 'pending' ? 'retry' : after.status)
    if (after.status === 'failed')
      onFault(
        `the control plane could not send mail ${mail.id} and does not retry`,
        new Error(after.error ?? ''),
      )
  }

  async function round(): Promise<void> {
    const lease = randomUUID()
    try {
      const claimed = await store.write(EVERY_TENANT, async tx => {
        const mails = await tx.mails.claim({ slots: SLOTS, leaseMs: LEASE_MS, lease })
        pending = await tx.mails.pending()
        return mails
      })
      await Promise.all(claimed.map(mail => settle(mail, lease)))
      if (claimed.length === SLOTS) rounds.request()
      if (now() - droppedAtMs < DROP_EVERY_MS) return
      await store.write(EVERY_TENANT, tx => tx.mails.sweep(before(tx, KEEP_MS)))
      droppedAtMs = now()
    } catch (error) {
      onFault(
        'the control plane could not claim due mails, store the outcome of a mail or delete old mails; it retries at a later poll',
        error,
      )
    }
  }

  const rounds = new CoalescedRun(round)
  const nudge = (): void => rounds.request()
  const timer = setInterval(nudge, options.pollMs ?? DEFAULT_POLL_MS)
  timer.unref()
  nudge()

  return {
    nudge,
    get pending() {
      return pending
    },
    async close() {
      clearInterval(timer)
      await rounds.stop()
    },
  }
}

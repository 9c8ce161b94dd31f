/** Claims due deliveries, has them sent, stores the outcomes and reports failing webhooks. `attempt.ts` sends them, and the retry rules are in the model. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoalescedRun } from '../../base/async/coalesced-run.ts'
import { hostOf } from '../../base/bare-host.ts'
import type { AfterAttempt } from '../../model/webhook-delivery.ts'
import { type AttemptOutcome, afterAttempt } from '../../model/webhook-delivery.ts'
import type { Transaction } from '../store/store.ts'
import { EVERY_TENANT, type Store } from '../store/store.ts'
import type { ClaimedDelivery } from '../store/webhook-repositories.ts'
import { type AttemptParts, attempt } from './attempt.ts'

/** Another instance may claim the deliveries of a dead one after this. */
const DEFAULT_LEASE_MS = 15_000
/** Concurrent deliveries of one webhook, over all instances. */
const PER_WEBHOOK = 4
/** Concurrent deliveries of this instance. A tenant may have as many as are free, half of which to quick receivers and an eighth to slow ones (dynamic thresholds, see `base/fair-shares.ts`). */
const SLOTS = 1_024
/** One tenant may have so many in any case. */
const MIN_PER_TENANT = 8
/** A receiver that takes longer is slow until an attempt takes less. */
const SLOW_AFTER_MS = 1_000
/** Between two claims, so that one claim covers several changes. */
const MIN_PAUSE_MS = 20
/** Attempts to store an outcome, within the lease. */
const SETTLE_TRIES = 4
const SETTLE_PAUSE_MS = 500

type DeliveryOutcome = 'success' | 'retry' | 'failed'

export interface DispatcherOptions extends AttemptParts {
  readonly store: Store
  /** Interval of claims without a signal. */
  readonly pollMs: number
  readonly onOutcome: (outcome: DeliveryOutcome) => void
  readonly onFault: (message: string, error: unknown) => void
  /** Must be longer than an attempt and storing its outcome; default 15 s. */
  readonly leaseMs?: number
  /** 0 to 1; spreads retries. */
  readonly random?: () => number
}

export class DeliveryDispatcher {
  readonly #options: DispatcherOptions
  readonly #running = new Set<Promise<void>>()
  readonly #claims = new CoalescedRun(() => this.#claim())
  #timer: NodeJS.Timeout | undefined
  #unsubscribe: (() => void) | undefined

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  get inFlight(): number {
    return this.#running.size
  }

  start(): void {
    this.#unsubscribe = this.#options.store.onSignal(() => this.nudge())
    this.#timer = setInterval(() => this.nudge(), this.#options.pollMs)
    this.#timer.unref()
    this.nudge()
  }

  /** Claims due deliveries now; during a claim, once more afterwards. */
  nudge(): void {
    this.#claims.request()
  }

  /** Stops claiming, and resolves when the outcomes of running deliveries are stored. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#unsubscribe?.()
    await this.#claims.stop()
    await Promise.all(this.#running)
  }

  async #claim(): Promise<void> {
    const { store, onFault, leaseMs = DEFAULT_LEASE_MS } = this.#options
    const slots = SLOTS - this.#running.size
    // the end of a delivery requests a claim
    if (slots <= 0) return
    const lease = randomUUID()
    const bounds = {
      slots,
      perWebhook: PER_WEBHOOK,
      perTenant: Math.max(MIN_PER_TENANT, slots),
      quickPerTenant: Math.max(MIN_PER_TENANT, slots >> 1),
      slowPerTenant: Math.max(MIN_PER_TENANT, slots >> 3),
      slowAfterMs: SLOW_AFTER_MS,
      leaseMs,
      lease,
    }
    try {
      for (const delivery of await store.write(EVERY_TENANT, tx => tx.deliveries.claim(bounds))) {
        this.#start(delivery, lease)
      }
    } catch (error) {
      onFault('due webhook deliveries could not be claimed; the next poll retries', error)
    }
    await sleep(MIN_PAUSE_MS)
  }

  #start(delivery: ClaimedDelivery, lease: string): void {
    const run = this.#deliver(delivery, lease).finally(() => {
      this.#running.delete(run)
      // The webhook has a free slot now.
      this.nudge()
    })
    this.#running.add(run)
  }

  async #deliver(delivery: ClaimedDelivery, lease: string): Promise<void> {
    const outcome = await attempt(delivery, this.#options)
    for (let tried = 1; ; tried++) {
      try {
        return await this.#settle(delivery, lease, outcome)
      } catch (error) {
        if (tried < SETTLE_TRIES) {
          await sleep(SETTLE_PAUSE_MS * tried)
          continue
        }
        const message = `the outcome of webhook delivery ${delivery.id} could not be stored; the control plane sends the delivery again`
        return this.#options.onFault(message, error)
      }
    }
  }

  async #settle(delivery: ClaimedDelivery, lease: string, outcome: AttemptOutcome): Promise<void> {
    const { store, onOutcome, random = Math.random } = this.#options
    const jitter = random()
    const after = await store.write(EVERY_TENANT, async tx => {
      const state = afterAttempt(delivery.attempt, outcome, tx.now, jitter)
      if (!(await tx.deliveries.settle(delivery.id, lease, state))) return undefined
      await tx.webhooks.setSlow(delivery.webhookId, outcome.durationMs > SLOW_AFTER_MS)
      await noteOutcome(tx, delivery, state)
      return state
    })
    // When the lease has ended, another instance sends the delivery and counts its outcome.
    if (after !== undefined) onOutcome(after.status === 'pending' ? 'retry' : after.status)
  }
}

/** One after the other, each after all of its attempts. */
const ANNOUNCED_AT = 3

/** Within the transaction that stores the outcome. Test deliveries do not count. */
export async function noteOutcome(
  tx: Transaction,
  { test, webhookId, tenantId }: ClaimedDelivery,
  { status, statusCode, error }: AfterAttempt,
): Promise<void> {
  if (test) return
  if (status === 'success') await tx.webhooks.recover(webhookId)
  if (status !== 'failed') return
  const counted = await tx.webhooks.countFailed(webhookId)
  if (counted?.failedDeliveries !== ANNOUNCED_AT) return
  tx.events.append({
    kind: 'webhook.failing',
    tenantId,
    resourceId: webhookId,
    data: {
      webhook_id: webhookId,
      webhook_name: counted.name,
      // paths and queries of such addresses hold tokens
      host: hostOf(counted.url),
      failed_deliveries: counted.failedDeliveries,
      status_code: statusCode,
      error,
    },
  })
}

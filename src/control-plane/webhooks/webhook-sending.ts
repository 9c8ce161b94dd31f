/** Starts and stops the sending of webhooks, with checks at the start, maintenance of stored rows and the depth of the queue. */
import { before, EVERY_TENANT, type Store } from '../store/store.ts'
import type { QueueDepth } from '../store/webhook-repositories.ts'
import { DeliveryDispatcher, type DispatcherOptions } from './dispatcher.ts'

const DEFAULT_POLL_MS = 1_000
const MEASURE_EVERY_MS = 10_000
const DROP_EVERY_MS = 3_600_000
/** As long as the event log. */
const KEEP_DELIVERIES_MS = 30 * 86_400_000
/** Undelivered API keys; a later retry sends a masked value. */
const KEEP_SEALED_MS = 7 * 86_400_000
const MAX_NAMED = 20

interface WebhooksOptions extends Omit<DispatcherOptions, 'pollMs'> {
  /** Default 1 s. */
  readonly pollMs?: number
}

export interface Webhooks {
  /** Claims due deliveries at once; for test clocks. */
  nudge(): void
  /** As of the last measurement, some seconds ago. */
  readonly depth: QueueDepth
  /** Deliveries that this instance is sending now. */
  readonly inFlight: number
  /** Stops claiming; resolves when the outcomes of running deliveries are stored. */
  close(): Promise<void>
}

/** Headers of an earlier version that are sealed in one transaction. */
const SEALED_AT_ONCE = 100

/**
 * Starts sending.
 * @throws Error in production when an enabled webhook uses plain HTTP
 */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { store, now, onFault } = options
  if (options.httpsOnly) await refusePlainHttp(store)
  while ((await store.write(EVERY_TENANT, tx => tx.webhooks.sealHeaders(SEALED_AT_ONCE))) === SEALED_AT_ONCE);
  const foreign = await store.read(EVERY_TENANT, tx => tx.webhooks.sealedElsewhere())
  if (foreign > 0) {
    onFault(
      `this control-plane instance sends no deliveries to webhooks whose secrets or headers were encrypted with another key (number of these webhooks: ${foreign})`,
      new Error(
        'set the same SECRETS_KEY on every control-plane instance, or set the secrets and headers of these webhooks again',
      ),
    )
  }
  const dispatcher = new DeliveryDispatcher({ pollMs: DEFAULT_POLL_MS, ...options })
  let depth: QueueDepth = { waiting: 0, leased: 0, oldestDueMs: 0 }
  let droppedAtMs = Number.NEGATIVE_INFINITY
  let maintenance: Promise<void> | undefined

  async function maintain(): Promise<void> {
    try {
      depth = await store.read(EVERY_TENANT, tx => tx.deliveries.depth())
      const at = now()
      if (at - droppedAtMs < DROP_EVERY_MS) return
      await store.write(EVERY_TENANT, async tx => {
        await tx.deliveries.sweep(before(tx, KEEP_DELIVERIES_MS), before(tx, KEEP_SEALED_MS))
        await tx.webhooks.dropOldSecrets()
      })
      droppedAtMs = at
    } catch (error) {
      onFault(
        'the control plane could not count pending webhook deliveries, or delete old deliveries and secrets; it retries',
        error,
      )
    }
  }
  const measure = (): void => {
    maintenance ??= maintain().finally(() => {
      maintenance = undefined
    })
  }
  const timer = setInterval(measure, MEASURE_EVERY_MS)
  timer.unref()
  measure()
  dispatcher.start()

  return {
    nudge: () => dispatcher.nudge(),
    get depth() {
      return depth
    },
    get inFlight() {
      return dispatcher.inFlight
    },
    async close() {
      clearInterval(timer)
      await dispatcher.stop()
      await maintenance
    },
  }
}

async function refusePlainHttp(store: Store): Promise<void> {
  const ids = await store.read(EVERY_TENANT, tx => tx.webhooks.overPlainHttp(MAX_NAMED))
  if (ids.length === 0) return
  throw new Error(
    `NODE_ENV is production, but enabled webhooks use plain HTTP: ${ids.join(', ')}. Start with NODE_ENV=development, change these webhooks to https or disable them, and start with NODE_ENV=production again.`,
  )
}

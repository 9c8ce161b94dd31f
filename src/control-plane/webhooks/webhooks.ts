/** The sending side of webhooks as one part: starts the dispatcher, keeps the tables small, tells how long the queue is. No delivery is made here. */
import { EVERY_TENANT, type Store } from '../store/store.ts'
import type { QueueDepth } from '../store/webhook-repositories.ts'
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts'

const DEFAULT_POLL_MS = 1_000
const MEASURE_EVERY_MS = 10_000
const DROP_EVERY_MS = 3_600_000
/** Records of deliveries, as long as the log of events. */
const KEEP_DELIVERIES_MS = 30 * 86_400_000
/** A key that could not be delivered: a retry after that tells only its public part. */
const KEEP_SEALED_MS = 7 * 86_400_000
const MAX_NAMED = 20

export interface WebhooksOptions extends Omit<DispatcherOptions, 'pollMs'> {
  /** 1 s. */
  readonly pollMs?: number
}

export interface Webhooks {
  /** Looks for due deliveries at once; for clocks that jump. */
  nudge(): void
  /** As it was when it was last measured, some seconds ago. */
  readonly depth: QueueDepth
  /** Deliveries that this instance is sending. */
  readonly inFlight: number
  /** Claims no more; resolves when what is being sent has been written down. */
  close(): Promise<void>
}

/**
 * Starts sending.
 * @throws Error in production when an enabled webhook is over plain HTTP (contract §1)
 */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { store, now, onFault } = options
  if (options.httpsOnly) await refusePlainHttp(store)
  const foreign = await store.read(EVERY_TENANT, tx => tx.webhooks.sealedElsewhere())
  if (foreign > 0) {
    onFault(
      `${foreign} webhooks have secrets under another key and are not delivered from here`,
      new Error('give every control plane the same SECRETS_KEY, or set those secrets anew'),
    )
  }
  const dispatcher = new Dispatcher({ pollMs: DEFAULT_POLL_MS, ...options })
  let depth: QueueDepth = { waiting: 0, leased: 0, oldestDueMs: 0 }
  let droppedAtMs = Number.NEGATIVE_INFINITY
  let upkeep: Promise<void> | undefined

  async function keepUp(): Promise<void> {
    try {
      depth = await store.read(EVERY_TENANT, tx => tx.deliveries.depth())
      const at = now()
      if (at - droppedAtMs < DROP_EVERY_MS) return
      await store.write(EVERY_TENANT, async tx => {
        await tx.deliveries.sweep(new Date(at - KEEP_DELIVERIES_MS), new Date(at - KEEP_SEALED_MS))
        await tx.webhooks.dropOldSecrets()
      })
      droppedAtMs = at
    } catch (error) {
      onFault('the upkeep of webhook deliveries failed', error)
    }
  }
  const measure = (): void => {
    upkeep ??= keepUp().finally(() => {
      upkeep = undefined
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
      await upkeep
    },
  }
}

async function refusePlainHttp(store: Store): Promise<void> {
  const ids = await store.read(EVERY_TENANT, tx => tx.webhooks.overPlainHttp(MAX_NAMED))
  if (ids.length === 0) return
  throw new Error(
    `NODE_ENV is production, but webhooks are enabled over plain HTTP: ${ids.join(', ')}. Change them to https or disable them, with NODE_ENV=development, then start again.`,
  )
}

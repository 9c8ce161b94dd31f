/** Maintenance of the control plane: expiry, tenants, publication and the deletion of old rows. */

import { systemOrigin } from '../model/audit.ts'
import { announceExpiring, announceExpiringKeys } from './api/services/notices.ts'
import { expireDue } from './api/services/subscriptions.ts'
import type { Fleet } from './publisher/fleet.ts'
import type { Publisher } from './publisher/publisher.ts'
import { recordAction } from './store/audited.ts'
import { before, EVERY_TENANT, type Store } from './store/store.ts'

const EXPIRE_AT_ONCE = 200
const SWEEP_AT_ONCE = 5_000
const NUDGE_MS = 20
const DROP_EVERY_MS = 3_600_000
/** The event log; by then, deliveries of webhooks have succeeded or failed. */
const KEEP_EVENTS_MS = 30 * 86_400_000
/** Longer than the longest window of a quota. */
const KEEP_QUOTA_NOTICES_MS = 62 * 86_400_000
const KEEP_TIER_USAGE_MS = 48 * 3_600_000
const KEEP_METERING_MS = 800 * 86_400_000
/** Longer than a broker keeps events or a disconnected gateway its spool. */
const KEEP_METERING_MARKS_MS = 90 * 86_400_000

interface MaintenanceOptions {
  readonly store: Store
  readonly publisher: Publisher
  readonly fleet: Fleet
  readonly now: () => number
  readonly intervalMs: number
  /** For audit records; 0: they are kept. */
  readonly auditRetentionMs: number
  readonly onFault: (message: string, error: unknown) => void
}

export class Maintenance {
  readonly #options: MaintenanceOptions
  #nudge: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #droppedAtMs = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = setTimeout(() => {
      void this.run().then(() => {
        if (!this.#stopped) this.start()
      })
    }, this.#options.intervalMs)
    this.#timer.unref()
  }

  /** Runs one round, or joins the running one. Never rejects: errors are reported, and the next round retries. */
  run(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Runs a round soon, after the running transaction has committed. */
  nudge(): void {
    if (this.#stopped || this.#nudge !== undefined) return
    this.#nudge = setTimeout(() => {
      this.#nudge = undefined
      void this.run()
    }, NUDGE_MS)
    this.#nudge.unref()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    clearTimeout(this.#nudge)
    await this.#running
  }

  /** The chain then begins after the last record that was deleted, which a new record at its end names. */
  async #sweepAudit(): Promise<void> {
    const { store, auditRetentionMs } = this.#options
    if (auditRetentionMs === 0) return
    const sweep = (): Promise<boolean> =>
      store.write(EVERY_TENANT, async tx => {
        const anchor = await tx.audit.sweep(before(tx, auditRetentionMs), SWEEP_AT_ONCE)
        if (anchor === undefined) return false
        const resource = { type: 'audit_record', id: String(anchor.seq), tenantId: null }
        recordAction(tx, systemOrigin('system.audit.sweep'), resource, { after: anchor })
        return true
      })
    while (!this.#stopped && (await sweep())) {}
  }

  async #round(): Promise<void> {
    const { store, publisher, fleet, now, onFault } = this.#options
    try {
      while ((await expireDue(store, EXPIRE_AT_ONCE)) === EXPIRE_AT_ONCE && !this.#stopped) {}
      while ((await announceExpiring(store, EXPIRE_AT_ONCE)) === EXPIRE_AT_ONCE && !this.#stopped) {}
      while ((await announceExpiringKeys(store, EXPIRE_AT_ONCE)) === EXPIRE_AT_ONCE && !this.#stopped) {}
      await publisher.refresh()
      await fleet
        .settleTenants()
        .catch(error =>
          onFault('some tenants could not be activated or purged; the next maintenance round retries', error),
        )
      if (now() - this.#droppedAtMs < DROP_EVERY_MS) return
      await store.write(EVERY_TENANT, async tx => {
        await tx.events.sweep(before(tx, KEEP_EVENTS_MS))
        await tx.tierUsage.sweep(before(tx, KEEP_TIER_USAGE_MS))
        await tx.idempotency.sweep()
        await tx.notices.sweep(before(tx, KEEP_QUOTA_NOTICES_MS))
        await tx.metering.sweep({
          rowsBefore: before(tx, KEEP_METERING_MS),
          marksBefore: before(tx, KEEP_METERING_MARKS_MS),
        })
      })
      await this.#sweepAudit()
      this.#droppedAtMs = now()
    } catch (error) {
      onFault('a maintenance round of the control plane failed; the next round retries', error)
    }
  }
}

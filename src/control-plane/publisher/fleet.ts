/** What gateway instances report, and what follows from it: acknowledgements, usage, tenants that come and go. It sends no snapshot. */
import type { Hello, Report } from '../../link/report.ts'
import type { GatewayInstance } from '../../model/gateway-instance.ts'
import { newId } from '../../model/id.ts'
import { notFound } from '../api/http/problem.ts'
import { activateTenant, purgeTenant } from '../api/services/tenants.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../store/store.ts'
import type { Publisher } from './publisher.ts'

export class Fleet {
  readonly #store: Store
  readonly #publisher: Publisher

  readonly #onAcknowledged: () => void

  /** @param onAcknowledged called within a transaction that may yet fail: it should have `settleTenants` called soon after */
  constructor(store: Store, publisher: Publisher, onAcknowledged: () => void) {
    this.#store = store
    this.#publisher = publisher
    this.#onAcknowledged = onAcknowledged
  }

  async register(hello: Hello): Promise<GatewayInstance> {
    return this.#store.write(EVERY_TENANT, async tx => {
      const id = newId('gateway', tx.now.getTime())
      const { name, url, version, workers, authConfig } = hello
      const report = { name, url, version, workers, authConfig, reportedStatus: 'online' as const }
      const gateway = await tx.gateways.register(id, report)
      await tx.deployments.complete({ gatewayId: gateway.id })
      return gateway
    })
  }

  /** Within the caller's transaction. @throws Problem not_found when the instance has to register first */
  async report(tx: Transaction, gatewayId: string, report: Report): Promise<void> {
    const gateway = await tx.gateways.find(gatewayId, 'lock')
    if (gateway === undefined) throw notFound('gateway')
    if (report.sequence > gateway.reportSequence) {
      await tx.usage.add(report.usage)
      await tx.keys.touch(report.keysUsed)
      await tx.consumers.touch(report.consumersSeen)
    }
    const took = report.error === null && report.snapshotVersion !== null
    const resynced = report.resync !== null && report.resync === gateway.resyncRequestedAt?.toISOString()
    const news = took && (resynced || report.snapshotVersion !== gateway.snapshotVersion)
    await tx.gateways.update({
      ...gateway,
      reportedStatus: report.status,
      workers: report.workers,
      snapshotVersion: report.snapshotVersion,
      lastError: report.error,
      lastSeenAt: tx.now,
      lastAckAt: news ? tx.now : gateway.lastAckAt,
      resyncRequestedAt: resynced ? null : gateway.resyncRequestedAt,
      reportSequence: Math.max(report.sequence, gateway.reportSequence),
    })
    if (news) this.#onAcknowledged()
  }

  /**
   * Tenants whose address a gateway now answers become active; those that no live gateway serves any more are removed for good.
   * Without any gateway nothing becomes active, and what is to be removed is removed.
   */
  async settleTenants(): Promise<void> {
    // Which tenants gateways serve cannot be concluded from a share that has not been read yet.
    if (!this.#publisher.isPublished) return
    const { share, provisioning } = this.#publisher
    const { live, deleting } = await this.#store.read(EVERY_TENANT, async tx => ({
      live: await tx.gateways.live(),
      deleting: await tx.tenants.ids('deleting'),
    }))
    const current = live.filter(gateway => gateway.snapshotVersion === share.version)
    if (current.length > 0) {
      for (const id of provisioning) {
        if (share.tenants.has(id)) await this.#store.write(id, tx => activateTenant(tx, id))
      }
    }
    if (current.length < live.length) return
    for (const id of deleting) {
      if (!share.tenants.has(id)) await this.#store.write(EVERY_TENANT, tx => purgeTenant(tx, id))
    }
  }
}

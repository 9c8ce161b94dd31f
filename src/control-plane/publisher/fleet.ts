/** The control plane's side of the link: connections, polls and reports of gateways, and the activation and purge of tenants. */
import type { ShareUpdate } from '../../link/control-share.ts'
import type { AdminAction, Hello, Report } from '../../link/report.ts'
import type { StreamEvent } from '../../link/update-events.ts'
import { systemOrigin } from '../../model/audit.ts'
import type { GatewayInstance } from '../../model/gateway-instance.ts'
import { newId } from '../../model/id.ts'
import { notFound, unavailable } from '../api/http/problem.ts'
import { takeDefinitions } from '../api/services/definitions.ts'
import { announceReachedQuotas } from '../api/services/notices.ts'
import { activateTenant, purgeHistory, purgeTenant } from '../api/services/tenants.ts'
import { recordActions } from '../store/audited.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../store/store.ts'
import { type FeedOptions, feed } from './feed.ts'
import { FleetQuestions } from './fleet-questions.ts'
import type { Publisher } from './publisher.ts'

const PUBLICATION_RETRY_SECS = 1

type ConnectOptions = Pick<FeedOptions, 'from' | 'endsAfterMs' | 'signal'>

interface FleetParts {
  readonly store: Store
  /** For what a gateway waits for. */
  readonly requestStore: Store
  readonly publisher: Publisher
  /** Called within a transaction that may still fail; it should schedule `settleTenants`. */
  readonly onAcknowledged: () => void
}

export class Fleet {
  readonly #store: Store
  readonly #requestStore: Store
  readonly #publisher: Publisher
  readonly #onAcknowledged: () => void
  readonly questions: FleetQuestions

  constructor({ store, requestStore, publisher, onAcknowledged }: FleetParts) {
    this.#store = store
    this.#requestStore = requestStore
    this.#publisher = publisher
    this.#onAcknowledged = onAcknowledged
    this.questions = new FleetQuestions(store)
  }

  /** Registers an instance. @returns the events of its stream. @throws Problem unavailable until the first publication */
  async connect(hello: Hello, options: ConnectOptions): Promise<AsyncGenerator<StreamEvent, void, void>> {
    this.#requirePublished()
    const gateway = await this.#register(hello)
    return feed({
      ...options,
      store: this.#store,
      publisher: this.#publisher,
      questions: this.questions,
      gatewayId: gateway.id,
      sequence: gateway.reportSequence,
      resync: gateway.resyncRequestedAt?.toISOString() ?? null,
    })
  }

  /** The update from a version to the newest; null: there is none. @throws as `connect` */
  poll(from: string | null): ShareUpdate | null {
    this.#requirePublished()
    return this.#publisher.updateFrom(from) ?? null
  }

  #requirePublished(): void {
    if (!this.#publisher.isPublished)
      throw unavailable(
        'The control plane has not published a snapshot yet. Retry later.',
        PUBLICATION_RETRY_SECS,
      )
  }

  #register({ name, url, version, workers, authConfig }: Hello): Promise<GatewayInstance> {
    return this.#requestStore.write(EVERY_TENANT, async tx => {
      const id = newId('gateway', tx.now.getTime())
      const report = { name, url, version, workers, authConfig, reportedStatus: 'online' as const }
      const gateway = await tx.gateways.register(id, report)
      await tx.deployments.complete({ gatewayId: gateway.id })
      return gateway
    })
  }

  /** Within the caller's transaction. @throws Problem not_found when the instance has to connect first */
  async report(tx: Transaction, gatewayId: string, report: Report): Promise<void> {
    const gateway = await tx.gateways.find(gatewayId, 'lock')
    if (gateway === undefined) throw notFound('gateway')
    if (report.sequence > gateway.reportSequence) {
      await tx.usage.add(report.usage)
      await announceReachedQuotas(tx, report.usage)
      await tx.keys.touch(report.keysUsed)
      await tx.consumers.touch(report.consumersSeen)
    }
    await recordAdminActions(tx, gateway.name, report.adminActions)
    await takeDefinitions(tx, gateway.name, report.definitions ?? [])
    const isServed = report.error === null && report.snapshotVersion !== null
    const resynced = report.resync !== null && report.resync === gateway.resyncRequestedAt?.toISOString()
    const isNewAck = isServed && (resynced || report.snapshotVersion !== gateway.snapshotVersion)
    await tx.gateways.update({
      ...gateway,
      reportedStatus: report.status,
      workers: report.workers,
      snapshotVersion: report.snapshotVersion,
      lastError: report.error,
      lastSeenAt: tx.now,
      lastAckAt: isNewAck ? tx.now : gateway.lastAckAt,
      resyncRequestedAt: resynced ? null : gateway.resyncRequestedAt,
      reportSequence: Math.max(report.sequence, gateway.reportSequence),
    })
    if (isNewAck) this.#onAcknowledged()
  }

  /**
   * Activates the tenants that a gateway now serves, and purges the deleted ones that no live gateway serves any longer.
   * Without a live gateway nothing is activated, and deleted tenants are purged.
   * @throws AggregateError with the failures of tenants, after all others are settled
   */
  async settleTenants(): Promise<void> {
    // an unread share does not show which tenants gateways serve
    if (!this.#publisher.isPublished) return
    const { share, provisioning } = this.#publisher
    const { live, deleting } = await this.#store.read(EVERY_TENANT, async tx => ({
      live: await tx.gateways.live(),
      deleting: await tx.tenants.ids('deleting'),
    }))
    const failures: unknown[] = []
    const attempt = (work: Promise<unknown>): Promise<unknown> => work.catch(error => failures.push(error))
    const current = live.filter(gateway => gateway.snapshotVersion === share.version)
    if (current.length > 0) {
      for (const id of provisioning) {
        if (share.tenants.has(id))
          await attempt(
            this.#store.write(id, tx =>
              activateTenant(recordActions(tx, systemOrigin('system.tenants.activate')), id),
            ),
          )
      }
    }
    if (current.length === live.length)
      for (const id of deleting) if (!share.tenants.has(id)) await attempt(this.#purge(id))
    if (failures.length > 0)
      throw new AggregateError(
        failures,
        `tenants that could not be activated or purged: ${failures.length}; first error: ${failures[0]}`,
      )
  }

  async #purge(id: string): Promise<void> {
    if (!(await purgeHistory(this.#store, id))) return
    await this.#store.write(EVERY_TENANT, tx =>
      purgeTenant(recordActions(tx, systemOrigin('system.tenants.purge')), id),
    )
  }
}

/** The gateway repeats actions until a report was taken: those that are known are left out. */
async function recordAdminActions(
  tx: Transaction,
  gateway: string,
  actions: readonly AdminAction[],
): Promise<void> {
  const known = await tx.audit.known(actions.map(({ id }) => id))
  for (const { id, at, actor, action, tenant, resource, requestId, before } of actions) {
    if (known.has(id)) continue
    tx.audit.append({
      id,
      at,
      actor,
      action,
      requestId,
      gateway,
      tenantId: tenant === null ? null : ((await tx.tenants.resolve(tenant))?.id ?? null),
      resourceType: resource.type,
      resourceId: resource.id,
      before: before === null ? null : JSON.stringify(before),
      after: null,
    })
  }
}

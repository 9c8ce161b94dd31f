/** Publishes the share: reads it from the database, has documents compiled, and derives updates and differences between versions. */

import { Backoff } from '../../base/async/backoff.ts'
import {
  applyUpdate,
  type ControlShare,
  EMPTY_SHARE,
  type ShareUpdate,
  wholeShare,
} from '../../link/control-share.ts'
import type { TenantShare } from '../../link/share-schema.ts'
import { isSamePart, versionOf } from '../../link/share-version.ts'
import type { Api } from '../../model/api.ts'
import type { Plan } from '../../model/plan.ts'
import type { CompiledApi, ControlPlaneOptions } from '../api/options.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../store/store.ts'
import { DocumentCompilations, type SpecStatus } from './document-compilations.ts'
import { ExchangeReview } from './exchange-review.ts'
import { planShare, tenantShares } from './share.ts'
import { NO_CHANGES, type SnapshotChanges, VersionSteps } from './version-steps.ts'

const EVENTS_AT_ONCE = 1_000
const DAY_MS = 86_400_000
const BACKOFF = { firstMs: 100, maxMs: 1_000 }
interface PublisherOptions
  extends Pick<ControlPlaneOptions, 'toolsOf' | 'mayExchangeAt' | 'onFault' | 'now'> {
  readonly store: Store
}

export class Publisher {
  readonly #options: PublisherOptions
  readonly #listeners = new Set<() => void>()
  readonly #provisioning = new Set<string>()
  readonly #compilations: DocumentCompilations
  readonly #review: ExchangeReview
  /** Tenants whose APIs have other tools than those of the share. */
  readonly #compiled = new Set<string>()
  readonly #steps = new VersionSteps()
  #share: ControlShare = EMPTY_SHARE
  #seq = -1
  /** For the last whole read, in days. */
  #readDay = 0
  #publishedAt = new Date(0)
  #running: Promise<void> | undefined
  #again = false
  #retry: NodeJS.Timeout | undefined
  readonly #backoff = new Backoff(BACKOFF)
  #isClosed = false

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#review = new ExchangeReview(options)
    this.#compilations = new DocumentCompilations({
      ...options,
      onCompiled: tenantId => {
        this.#compiled.add(tenantId)
        void this.refresh()
      },
    })
  }

  /** What became of the OpenAPI document of an API, or why the API is not published. */
  specStatusOf(api: Pick<Api, 'id' | 'revision' | 'spec' | 'mcp'>): SpecStatus {
    const fault = this.#review.faultOf(api)
    if (fault !== undefined) return { state: 'error', tools: 0, message: fault, degraded: null }
    return this.#compilations.statusOf(api)
  }

  /** Tools of the revision of an API that was compiled last. */
  toolsOf(apiId: string): CompiledApi['tools'] {
    return this.#compilations.toolsOf(apiId)
  }

  /** The newest share; EMPTY_SHARE until it is published. */
  get share(): ControlShare {
    return this.#share
  }

  /** False until the database has been read once. Until then no gateway may be sent a share: it would apply an empty one. */
  get isPublished(): boolean {
    return this.#share.version !== ''
  }

  get publishedAt(): Date {
    return this.#publishedAt
  }

  /** Tenants of the share that become active once a gateway serves them. */
  get provisioning(): readonly string[] {
    return [...this.#provisioning]
  }

  /** The listener is called after each new version. @returns a function that removes it */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** What has changed since a version; undefined when it is too old to be known. */
  changesSince(version: string): SnapshotChanges | undefined {
    return version === this.#share.version ? NO_CHANGES : this.#steps.changesSince(version)
  }

  /** The update from `version` (null: none) to the newest share; undefined when there is none, or nothing is published. */
  updateFrom(version: string | null): ShareUpdate | undefined {
    const { version: newest, plans, tenants } = this.#share
    if (version === newest || !this.isPublished) return undefined
    const steps = version === null ? undefined : this.#steps.since(version)
    if (steps === undefined) return wholeShare(this.#share)
    const touched = new Set(steps.flatMap(step => [...step.tenants]))
    const changed: TenantShare[] = []
    const removed: string[] = []
    for (const id of touched) {
      const tenant = tenants.get(id)
      if (tenant === undefined) removed.push(id)
      else changed.push(tenant)
    }
    const update = { version: newest, base: version, tenants: changed, removed }
    return steps.some(step => step.plans) ? { ...update, plans } : update
  }

  /**
   * Reads what has been committed and publishes it; calls during a run share one more run.
   * Resolves when everything committed before the call is published; the tools of a document follow when it is compiled. Never rejects: a failure is reported and retried.
   */
  async refresh(): Promise<void> {
    if (this.#running !== undefined) {
      this.#again = true
      return this.#running
    }
    this.#running = this.#drain()
    try {
      await this.#running
    } finally {
      this.#running = undefined
    }
  }

  async #drain(): Promise<void> {
    do {
      this.#again = false
      try {
        while (await this.#step()) {}
        this.#backoff.reset()
      } catch (error) {
        this.#options.onFault(
          'the control plane could not refresh the snapshot; the previous snapshot stays published until a retry succeeds',
          error,
        )
        this.#retryLater()
        return
      }
    } while (this.#again)
  }

  /** The signal that caused the failed run is not repeated. */
  #retryLater(): void {
    clearTimeout(this.#retry)
    if (this.#isClosed) return
    this.#retry = setTimeout(() => void this.refresh(), this.#backoff.nextMs())
    this.#retry.unref()
  }

  /** No retry runs after it. */
  close(): void {
    this.#isClosed = true
    this.#compilations.close()
    clearTimeout(this.#retry)
  }

  /** Publishes one batch of events. @returns whether there may be more */
  async #step(): Promise<boolean> {
    const { store } = this.#options
    if (this.#review.takeDue()) this.#seq = -1
    const first = this.#seq < 0
    const compiled = [...this.#compiled]
    const read = await store.read(EVERY_TENANT, async tx => {
      const lastSeq = await tx.events.lastSeq()
      const day = Math.floor(tx.now.getTime() / DAY_MS)
      // no event reports that an expired subscription is not shared any more, and every instance must have the same version
      if (first || day !== this.#readDay) {
        const rows = await tx.share.load()
        return { seq: lastSeq, tenants: undefined, rows, plans: await plansOf(tx), day }
      }
      const events = await tx.events.after(this.#seq, EVENTS_AT_ONCE)
      if (events.length === 0 && lastSeq <= this.#seq && compiled.length > 0) {
        const rows = await tx.share.load(compiled)
        return { seq: this.#seq, tenants: new Set(compiled), rows, plans: undefined }
      }
      if (events.length === 0) {
        // events are deleted after a while; when they are missing, everything is read again
        return lastSeq > this.#seq ? ('lost' as const) : undefined
      }
      const tenants = new Set(compiled)
      let plansTouched = false
      for (const event of events) {
        if (event.tenantId === null) plansTouched = true
        else tenants.add(event.tenantId)
      }
      const seq = events.at(-1)!.seq
      if (events[0]!.seq !== this.#seq + 1) return 'lost' as const
      const rows = await tx.share.load([...tenants])
      return { seq, tenants, rows, plans: plansTouched ? await plansOf(tx) : undefined }
    })
    if (read === undefined) return false
    if (read === 'lost') {
      this.#seq = -1
      return true
    }
    this.#compilations.want(read.rows.apis, read.tenants)
    if (!this.isPublished) await this.#compilations.compileFirst()
    for (const tenantId of compiled) this.#compiled.delete(tenantId)
    const rows = { ...read.rows, apis: this.#review.permittedApis(read.rows.apis) }
    const shares = tenantShares(rows, id => this.#compilations.toolsOf(id))
    this.#trackProvisioning(read.rows.tenants, read.tenants)
    this.#publish(shares, read.tenants, read.plans)
    this.#seq = read.seq
    if ('day' in read) this.#readDay = read.day
    this.#compilations.start()
    return true
  }

  /** @param scope the tenants that were read; undefined = all */
  #publish(
    shares: readonly TenantShare[],
    scope: ReadonlySet<string> | undefined,
    plans: readonly Plan[] | undefined,
  ): void {
    const { version: from, plans: plansBefore, tenants: before } = this.#share
    const present = new Set(shares.map(share => share.id))
    const changed = shares.filter(share => !isSamePart(before.get(share.id), share))
    const removed = [...(scope ?? before.keys())].filter(id => before.has(id) && !present.has(id))
    const plansChanged = plans !== undefined && !isSamePart(plansBefore, plans)
    // the first share is published even when it is empty
    if (this.isPublished && changed.length === 0 && removed.length === 0 && !plansChanged) return
    const update = { version: '', base: from, tenants: changed, removed }
    const next = applyUpdate(this.#share, plansChanged ? { ...update, plans } : update)
    this.#share = Object.freeze({ ...next, version: versionOf(next) })
    this.#publishedAt = new Date(this.#options.now())
    const touched = new Set([...changed.map(share => share.id), ...removed])
    this.#steps.add({ from, tenants: touched, plans: plansChanged }, before, this.#share.tenants)
    for (const listener of this.#listeners) listener()
  }

  #trackProvisioning(
    tenants: readonly { readonly id: string; readonly status: string }[],
    scope: ReadonlySet<string> | undefined,
  ): void {
    if (scope === undefined) this.#provisioning.clear()
    else for (const id of scope) this.#provisioning.delete(id)
    for (const { id, status } of tenants) if (status === 'provisioning') this.#provisioning.add(id)
  }
}

async function plansOf(tx: Transaction): Promise<readonly Plan[]> {
  return (await tx.share.globalPlans()).map(planShare)
}

/** Owns the share: reads what is committed, derives the next version and notifies subscribers. It knows neither gateways nor HTTP. */

import {
  applyUpdate,
  type ControlShare,
  EMPTY_SHARE,
  type ShareUpdate,
  type TenantShare,
  wholeShare,
} from '../../link/control-share.ts'
import { isSamePart, versionOf } from '../../link/share-version.ts'
import type { Api } from '../../model/api.ts'
import type { Plan } from '../../model/plan.ts'
import { Backoff } from '../../shared/async/backoff.ts'
import type { CompiledApi, ControlPlaneOptions } from '../api/options.ts'
import type { ShareRows } from '../store/repositories.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../store/store.ts'
import { planShare, tenantShares } from './share.ts'
import { NO_CHANGES, type SnapshotChanges, VersionSteps } from './version-steps.ts'

const EVENTS_AT_ONCE = 1_000
const BACKOFF = { firstMs: 100, maxMs: 1_000 }
/** A document whose compilation failed, for example because the compiler ran out of memory beside another one. */
const RECOMPILE = { firstMs: 1_000, maxMs: 60_000 }
/** Before the first publication there are no previous tools, and gateways would drop those that they serve. */
const FIRST_ATTEMPTS = 3

interface ApiTools extends CompiledApi {
  readonly tenantId: string
  readonly revision: number
}

/** `pending`: this instance has not compiled the revision yet. With `error`, the tools of the document before it stay in service. */
export const SPEC_STATES = ['none', 'pending', 'ready', 'error'] as const

export interface SpecStatus {
  readonly state: (typeof SPEC_STATES)[number]
  /** Number of tools. */
  readonly tools: number
  /** Why there are none of this revision. */
  readonly message: string | null
  /** What is missing from the tools; null when they are complete. */
  readonly degraded: string | null
}

interface PublisherOptions extends Pick<ControlPlaneOptions, 'toolsOf' | 'onFault' | 'now'> {
  readonly store: Store
}

export class Publisher {
  readonly #options: PublisherOptions
  readonly #listeners = new Set<() => void>()
  readonly #provisioning = new Set<string>()
  /** API → its tools and the revision they were compiled from. */
  readonly #tools = new Map<string, ApiTools>()
  readonly #steps = new VersionSteps()
  #share: ControlShare = EMPTY_SHARE
  #seq = -1
  #publishedAt = new Date(0)
  #running: Promise<void> | undefined
  #again = false
  #retry: NodeJS.Timeout | undefined
  readonly #backoff = new Backoff(BACKOFF)
  /** APIs whose document could not be compiled, their tenants, and why. */
  readonly #uncompiled = new Map<string, { readonly tenantId: string; readonly reason: string }>()
  readonly #recompileBackoff = new Backoff(RECOMPILE)
  #recompile: NodeJS.Timeout | undefined
  #isRecompileDue = false
  #isClosed = false

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** What became of the OpenAPI document of an API. */
  specStatusOf({ id, revision, spec }: Pick<Api, 'id' | 'revision' | 'spec'>): SpecStatus {
    const known = this.#tools.get(id)
    if (spec === null) return { state: 'none', tools: 0, message: null, degraded: null }
    const shown = { tools: known?.tools.length ?? 0, message: null, degraded: known?.degraded ?? null }
    if (known?.revision !== revision) return { ...shown, state: 'pending' }
    const reason = this.#uncompiled.get(id)?.reason
    return reason === undefined ? { ...shown, state: 'ready' } : { ...shown, state: 'error', message: reason }
  }

  /** Of the revision of an API that was compiled last. */
  toolsOf(apiId: string): CompiledApi['tools'] {
    return this.#tools.get(apiId)?.tools ?? []
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
   * Resolves when everything committed before the call is published. Never rejects: a failure is reported and retried.
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
        this.#options.onFault('the snapshot could not be refreshed; the last one stays published', error)
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
    clearTimeout(this.#recompile)
    clearTimeout(this.#retry)
  }

  /** Publishes one batch of events. @returns whether there may be more */
  async #step(): Promise<boolean> {
    const { store } = this.#options
    const first = this.#seq < 0
    const read = await store.read(EVERY_TENANT, async tx => {
      const lastSeq = await tx.events.lastSeq()
      if (first)
        return { seq: lastSeq, tenants: undefined, rows: await tx.share.load(), plans: await plansOf(tx) }
      const events = await tx.events.after(this.#seq, EVENTS_AT_ONCE)
      if (events.length === 0 && lastSeq <= this.#seq && this.#isRecompileDue) {
        const tenants = new Set([...this.#uncompiled.values()].map(({ tenantId }) => tenantId))
        return { seq: this.#seq, tenants, rows: await tx.share.load([...tenants]), plans: undefined }
      }
      if (events.length === 0) {
        // events are deleted after a while; when they are missing, everything is read again
        return lastSeq > this.#seq ? ('lost' as const) : undefined
      }
      const tenants = new Set<string>()
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
    this.#isRecompileDue = false
    await this.#compileTools(read.rows, read.tenants)
    this.#recompileLater()
    const shares = tenantShares(read.rows, id => this.#tools.get(id)?.tools ?? [])
    this.#trackProvisioning(read.rows.tenants, read.tenants)
    this.#publish(shares, read.tenants, read.plans)
    this.#seq = read.seq
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

  async #compileTools(rows: ShareRows, scope: ReadonlySet<string> | undefined): Promise<void> {
    const { toolsOf, store, onFault } = this.#options
    if (toolsOf === undefined) return
    const serving = new Set(rows.apis.filter(api => api.hasSpec).map(api => api.id))
    for (const [id, { tenantId }] of this.#tools) {
      if ((scope?.has(tenantId) ?? true) && !serving.has(id)) {
        this.#tools.delete(id)
        this.#uncompiled.delete(id)
      }
    }
    for (const { id, tenantId, revision, hasSpec } of rows.apis) {
      if (!hasSpec || (this.#tools.get(id)?.revision === revision && !this.#uncompiled.has(id))) continue
      const found = await store.read(tenantId, async tx => ({
        api: await tx.apis.find(id),
        tenant: await tx.tenants.find(tenantId),
      }))
      if (found.api === undefined || found.tenant === undefined) continue
      const { api, tenant } = found
      const previous = this.#tools.get(id)
      try {
        const compiled = await attempt(this.isPublished ? 1 : FIRST_ATTEMPTS, () => toolsOf(api, tenant))
        this.#tools.set(id, { tenantId, revision, ...compiled })
        this.#uncompiled.delete(id)
      } catch (error) {
        const { tools = [], degraded = null } = previous ?? {}
        this.#tools.set(id, { tenantId, revision, tools, degraded })
        // the retries of the same document report nothing new
        if (previous?.revision !== revision || !this.#uncompiled.has(id))
          onFault(
            `the OpenAPI document of API ${id} could not be compiled into tools; its previous tools stay in service, and it is retried`,
            error,
          )
        const reason = error instanceof Error ? error.message : String(error)
        this.#uncompiled.set(id, { tenantId, reason })
      }
    }
  }

  #recompileLater(): void {
    if (this.#uncompiled.size === 0) this.#recompileBackoff.reset()
    if (this.#uncompiled.size === 0 || this.#recompile !== undefined || this.#isClosed) return
    this.#recompile = setTimeout(() => {
      this.#recompile = undefined
      this.#isRecompileDue = true
      void this.refresh()
    }, this.#recompileBackoff.nextMs())
    this.#recompile.unref()
  }
}

async function attempt<T>(times: number, work: () => Promise<T>): Promise<T> {
  for (let left = times; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (left <= 1) throw error
    }
  }
}

async function plansOf(tx: Transaction): Promise<readonly Plan[]> {
  return (await tx.share.globalPlans()).map(planShare)
}

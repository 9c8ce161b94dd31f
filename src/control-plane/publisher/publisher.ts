/** Keeps the control plane's share up to date with the database and tells subscribers. It knows no gateway and speaks no HTTP. */

import {
  applyUpdate,
  type ControlShare,
  EMPTY_SHARE,
  type ShareUpdate,
  type TenantShare,
} from '../../link/control-share.ts'
import { partDigest, versionOf } from '../../link/share-version.ts'
import type { Plan } from '../../model/plan.ts'
import type { Tool } from '../../model/tool.ts'
import type { ControlPlaneOptions } from '../api/options.ts'
import type { ShareRows } from '../store/repositories.ts'
import { EVERY_TENANT, type Store, type Transaction } from '../store/store.ts'
import { planShare, tenantShares } from './share.ts'

/** Steps that a gateway may be behind and still be sent only what changed. */
const KEPT_STEPS = 256
const EVENTS_AT_ONCE = 1_000
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

interface Step {
  readonly from: string
  readonly tenants: ReadonlySet<string>
  readonly plans: boolean
}

interface ApiTools {
  readonly tenantId: string
  readonly revision: number
  readonly tools: readonly Tool[]
}

export interface PublisherOptions extends Pick<ControlPlaneOptions, 'toolsOf' | 'onFault' | 'now'> {
  readonly store: Store
}

export class Publisher {
  readonly #options: PublisherOptions
  readonly #listeners = new Set<() => void>()
  readonly #digests = new Map<string, string>()
  readonly #provisioning = new Set<string>()
  /** API → its tools and the revision they were made from. */
  readonly #tools = new Map<string, ApiTools>()
  /** Oldest first. */
  #steps: Step[] = []
  #share: ControlShare = EMPTY_SHARE
  #plansDigest = ''
  #seq = -1
  #publishedAt = new Date(0)
  #running: Promise<void> | undefined
  #again = false
  #retry: NodeJS.Timeout | undefined
  #retryMs = FIRST_RETRY_MS
  #isClosed = false

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** The newest share; EMPTY_SHARE until it is published. */
  get share(): ControlShare {
    return this.#share
  }

  /** False until the database has been read once: there is nothing yet that a gateway may be given. */
  get isPublished(): boolean {
    return this.#share.version !== ''
  }

  get publishedAt(): Date {
    return this.#publishedAt
  }

  /** Tenants of the share that wait for their gateway address to answer. */
  get provisioning(): readonly string[] {
    return [...this.#provisioning]
  }

  /** Called after each new version; returns a function that stops it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** What leads a gateway from `version` to the newest share; undefined when it is there already, or nothing is published. */
  updateFrom(version: string | null): ShareUpdate | undefined {
    const { version: newest, plans, tenants } = this.#share
    if (version === newest || !this.isPublished) return undefined
    const first = version === null ? -1 : this.#steps.findIndex(step => step.from === version)
    if (first < 0) return { version: newest, base: null, plans, tenants: [...tenants.values()], removed: [] }
    const steps = this.#steps.slice(first)
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
   * Reads what has been committed and publishes it; calls that come while one runs are folded into one more.
   * Resolves when everything committed before the call is published. Never rejects: a failure is reported, and tried again soon.
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
        this.#retryMs = FIRST_RETRY_MS
      } catch (error) {
        this.#options.onFault('the snapshot could not be refreshed; the last one stays published', error)
        this.#retryLater()
        return
      }
    } while (this.#again)
  }

  /** The signal that led here does not come again. */
  #retryLater(): void {
    clearTimeout(this.#retry)
    if (this.#isClosed) return
    this.#retry = setTimeout(() => void this.refresh(), this.#retryMs)
    this.#retry.unref()
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS)
  }

  /** Nothing is tried again after it. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
  }

  /** One batch of events; true when there may be more. */
  async #step(): Promise<boolean> {
    const { store } = this.#options
    const first = this.#seq < 0
    const read = await store.read(EVERY_TENANT, async tx => {
      const lastSeq = await tx.events.lastSeq()
      if (first)
        return { seq: lastSeq, tenants: undefined, rows: await tx.share.load(), plans: await plansOf(tx) }
      const events = await tx.events.after(this.#seq, EVENTS_AT_ONCE)
      if (events.length === 0) {
        // Events are kept for a while only: when they are gone, everything is read again.
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
    await this.#makeTools(read.rows, read.tenants)
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
    const present = new Set(shares.map(share => share.id))
    const looked = scope ?? new Set([...this.#share.tenants.keys(), ...present])
    const changed: TenantShare[] = []
    const removed: string[] = []
    for (const share of shares) {
      const digest = partDigest(share)
      if (this.#digests.get(share.id) === digest) continue
      this.#digests.set(share.id, digest)
      changed.push(share)
    }
    for (const id of looked) if (!present.has(id) && this.#digests.delete(id)) removed.push(id)
    const plansDigest = plans === undefined ? this.#plansDigest : partDigest(plans)
    const plansChanged = plansDigest !== this.#plansDigest
    this.#plansDigest = plansDigest
    if (changed.length === 0 && removed.length === 0 && !plansChanged) return
    const from = this.#share.version
    const version = versionOf(plansDigest, this.#digests)
    const update = { version, base: from, tenants: changed, removed }
    this.#share = applyUpdate(this.#share, plansChanged ? { ...update, plans: plans! } : update)
    this.#publishedAt = new Date(this.#options.now())
    const touched = new Set([...changed.map(share => share.id), ...removed])
    this.#steps.push({ from, tenants: touched, plans: plansChanged })
    if (this.#steps.length > KEPT_STEPS) this.#steps = this.#steps.slice(-KEPT_STEPS)
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

  async #makeTools(rows: ShareRows, scope: ReadonlySet<string> | undefined): Promise<void> {
    const { toolsOf, store, onFault } = this.#options
    if (toolsOf === undefined) return
    const serving = new Set(rows.apis.filter(api => api.hasSpec).map(api => api.id))
    for (const [id, { tenantId }] of this.#tools) {
      if ((scope?.has(tenantId) ?? true) && !serving.has(id)) this.#tools.delete(id)
    }
    for (const { id, tenantId, revision, hasSpec } of rows.apis) {
      if (!hasSpec || this.#tools.get(id)?.revision === revision) continue
      const found = await store.read(tenantId, async tx => ({
        api: await tx.apis.find(id),
        tenant: await tx.tenants.find(tenantId),
      }))
      if (found.api === undefined || found.tenant === undefined) continue
      try {
        const tools = await toolsOf(found.api, found.tenant)
        this.#tools.set(id, { tenantId, revision, tools })
      } catch (error) {
        // The tools of the document before go on serving.
        const tools = this.#tools.get(id)?.tools ?? []
        this.#tools.set(id, { tenantId, revision, tools })
        onFault(`the OpenAPI document of API ${id} could not be made into tools`, error)
      }
    }
  }
}

async function plansOf(tx: Transaction): Promise<readonly Plan[]> {
  return (await tx.share.globalPlans()).map(planShare)
}

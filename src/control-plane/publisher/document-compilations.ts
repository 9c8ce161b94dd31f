/** Schedules the compilation of the OpenAPI documents of APIs, and keeps the tools and the state of each. `publisher.ts` publishes the tools. */

import { Backoff } from '../../base/async/backoff.ts'
import type { Api } from '../../model/api.ts'
import type { CompiledApi, ControlPlaneOptions } from '../api/options.ts'
import type { ShareRows } from '../store/repositories.ts'
import type { Store } from '../store/store.ts'

/** A document whose compilation failed, for example because the compiler ran out of memory beside another one. */
const RECOMPILE = { firstMs: 1_000, maxMs: 60_000 }
/** Before the first publication there are no previous tools, and gateways would drop those that they serve. */
const FIRST_ATTEMPTS = 3
/** First budget of the compiler, for one tenant before the first publication: a tenant with slow documents does not delay the others for longer. */
const FIRST_BUDGET_MS = 60_000
/** Tools that a status names; the others are counted. */
const MAX_NAMED = 20

interface ApiTools extends CompiledApi {
  readonly revision: number
}

interface Wanted {
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

interface DocumentCompilationsOptions extends Pick<ControlPlaneOptions, 'toolsOf' | 'onFault'> {
  readonly store: Store
  /** Called when an API of the tenant has other tools, after `compileFirst`. */
  readonly onCompiled: (tenantId: string) => void
}

export class DocumentCompilations {
  readonly #options: DocumentCompilationsOptions
  /** API → its tools and the revision they were compiled from. */
  readonly #tools = new Map<string, ApiTools>()
  /** The APIs with a document. */
  readonly #wanted = new Map<string, Wanted>()
  /** Tenant → its APIs that are to be compiled; the first tenant is the next one. */
  readonly #due = new Map<string, Set<string>>()
  /** APIs whose document could not be compiled, and why. */
  readonly #uncompiled = new Map<string, string>()
  readonly #backoff = new Backoff(RECOMPILE)
  #retry: NodeJS.Timeout | undefined
  #isRunning = false
  #isClosed = false

  constructor(options: DocumentCompilationsOptions) {
    this.#options = options
  }

  /** What became of the OpenAPI document of an API. */
  statusOf({ id, revision, spec }: Pick<Api, 'id' | 'revision' | 'spec'>): SpecStatus {
    const known = this.#tools.get(id)
    if (spec === null) return { state: 'none', tools: 0, message: null, degraded: null }
    const faults = [known?.degraded, this.#replacedTools(id)].filter(fault => typeof fault === 'string')
    const degraded = faults.length === 0 ? null : faults.join('; ')
    const shown = { tools: known?.tools.length ?? 0, message: null, degraded }
    if (known?.revision !== revision) return { ...shown, state: 'pending' }
    const reason = this.#uncompiled.get(id)
    return reason === undefined ? { ...shown, state: 'ready' } : { ...shown, state: 'error', message: reason }
  }

  /** Replaced tools of two tools of one name in a tenant, gateways serve that of the first API of the share: ids are in the order of creation. */
  #replacedTools(id: string): string | undefined {
    const tenantId = this.#wanted.get(id)?.tenantId
    const own = new Set(this.toolsOf(id).map(({ name }) => name))
    const replaced: string[] = []
    for (const [other, wanted] of this.#wanted) {
      if (wanted.tenantId !== tenantId || other >= id) continue
      for (const { name } of this.toolsOf(other)) if (own.delete(name)) replaced.push(`${name} of ${other}`)
    }
    if (replaced.length === 0) return undefined
    const more = replaced.length > MAX_NAMED ? ' …' : ''
    const named = `${replaced.slice(0, MAX_NAMED).join(', ')}${more}`
    return `gateways do not serve ${replaced.length} of this API's tools, because older APIs of the tenant have tools with the same names (${named}); change the operationIds of these tools in the OpenAPI document of this API, or change the path of this API`
  }

  /** Tools of the revision of an API that was compiled last. */
  toolsOf(apiId: string): CompiledApi['tools'] {
    return this.#tools.get(apiId)?.tools ?? []
  }

  /** @param scope the tenants whose APIs these are; undefined = all */
  want(apis: ShareRows['apis'], scope: ReadonlySet<string> | undefined): void {
    if (this.#options.toolsOf === undefined) return
    const serving = new Set(apis.filter(api => api.hasSpec).map(api => api.id))
    for (const [id, { tenantId }] of this.#wanted) {
      if ((scope?.has(tenantId) ?? true) && !serving.has(id)) this.#drop(id)
    }
    for (const { id, tenantId, revision, hasSpec } of apis) {
      if (!hasSpec) continue
      this.#wanted.set(id, { tenantId, revision })
      if (this.#tools.get(id)?.revision !== revision || this.#uncompiled.has(id)) this.#add(tenantId, id)
    }
  }

  /**
   * Compiles what is due before anything is published, except of tenants that have used up their time.
   * @throws when the database cannot be read
   */
  async compileFirst(): Promise<void> {
    const spentMs = new Map<string, number>()
    const mayCompile = (tenantId: string): boolean => (spentMs.get(tenantId) ?? 0) < FIRST_BUDGET_MS
    for (let id = this.#next(mayCompile); id !== undefined; id = this.#next(mayCompile)) {
      const { tenantId } = this.#wanted.get(id)!
      for (let attempts = FIRST_ATTEMPTS; attempts > 0 && mayCompile(tenantId); attempts--) {
        const startedAt = performance.now()
        await this.#compile(id)
        spentMs.set(tenantId, (spentMs.get(tenantId) ?? 0) + performance.now() - startedAt)
        if (!this.#uncompiled.has(id)) break
      }
      this.#finish(id)
    }
  }

  /** Compiles what is due, beside other work. */
  start(): void {
    if (!this.#isRunning) void this.#run()
  }

  /** Starts no further compilation. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    try {
      for (let id = this.#next(); id !== undefined && !this.#isClosed; id = this.#next()) {
        const { tenantId } = this.#wanted.get(id)!
        const before = this.#tools.get(id)?.tools
        await this.#compile(id)
        this.#finish(id)
        const isOther = !this.#uncompiled.has(id) && this.#tools.get(id)?.tools !== before
        if (isOther && !this.#isClosed) this.#options.onCompiled(tenantId)
      }
    } catch (error) {
      if (!this.#isClosed)
        this.#options.onFault(
          'the OpenAPI documents of APIs could not be read from the database; the control plane retries',
          error,
        )
    } finally {
      this.#isRunning = false
    }
    this.#retryLater()
  }

  /** Also after a failure to read the database, which leaves documents due. */
  #retryLater(): void {
    if (this.#uncompiled.size === 0 && this.#due.size === 0) this.#backoff.reset()
    else if (this.#retry === undefined && !this.#isClosed) {
      this.#retry = setTimeout(() => {
        this.#retry = undefined
        for (const id of this.#uncompiled.keys()) this.#add(this.#wanted.get(id)!.tenantId, id)
        this.start()
      }, this.#backoff.nextMs())
      this.#retry.unref()
    }
  }

  /** Keeps the previous tools of a document that cannot be compiled. @throws when the database cannot be read */
  async #compile(id: string): Promise<void> {
    const { toolsOf, store, onFault } = this.#options
    const { tenantId, revision } = this.#wanted.get(id)!
    const found = await store.read(tenantId, async tx => ({
      api: await tx.apis.find(id),
      tenant: await tx.tenants.find(tenantId),
    }))
    if (found.api === undefined || found.tenant === undefined) return
    const previous = this.#tools.get(id)
    try {
      const compiled = await toolsOf!(found.api, found.tenant)
      // deleted meanwhile
      if (!this.#wanted.has(id)) return
      this.#tools.set(id, { revision, ...compiled })
      this.#uncompiled.delete(id)
    } catch (error) {
      if (this.#isClosed || !this.#wanted.has(id)) return
      const { tools = [], degraded = null } = previous ?? {}
      this.#tools.set(id, { revision, tools, degraded })
      // the retries of the same document report nothing new
      if (previous?.revision !== revision || !this.#uncompiled.has(id))
        onFault(
          `the OpenAPI document of API ${id} could not be compiled into tools; while the control plane retries, gateways serve the previous tools of this API, if any`,
          error,
        )
      this.#uncompiled.set(id, error instanceof Error ? error.message : String(error))
    }
  }

  #add(tenantId: string, id: string): void {
    const apis = this.#due.get(tenantId)
    if (apis === undefined) this.#due.set(tenantId, new Set([id]))
    else apis.add(id)
  }

  /** The API stays due until `#done`. */
  #next(mayCompile: (tenantId: string) => boolean = () => true): string | undefined {
    for (const [tenantId, apis] of this.#due) if (mayCompile(tenantId)) return apis.values().next().value
    return undefined
  }

  /** Makes its tenant the last one in turn. A newer revision than the compiled one stays due. */
  #finish(id: string): void {
    const wanted = this.#wanted.get(id)
    if (wanted === undefined) return
    const { tenantId, revision } = wanted
    const apis = this.#due.get(tenantId)
    if (apis === undefined) return
    apis.delete(id)
    const compiled = this.#tools.get(id)
    this.#due.delete(tenantId)
    if (compiled !== undefined && compiled.revision !== revision) apis.add(id)
    if (apis.size > 0) this.#due.set(tenantId, apis)
  }

  #drop(id: string): void {
    const tenantId = this.#wanted.get(id)?.tenantId ?? ''
    const apis = this.#due.get(tenantId)
    apis?.delete(id)
    if (apis?.size === 0) this.#due.delete(tenantId)
    this.#wanted.delete(id)
    this.#tools.delete(id)
    this.#uncompiled.delete(id)
  }
}

/** Turns desired tool sets, tools and views into a published catalog, writes their status, and stores the definitions of tools. */
import { writeJson } from '../base/json/exact-number.ts'
import type { Tool } from '../model/tool.ts'
import type { ToolSetStatus } from '../model/tool-set.ts'
import type { Log } from '../telemetry/log.ts'
import type { Desired, DesiredToolSet } from './desired.ts'
import type { PublishCatalog, ReportedStatus, ReportedView } from './source.ts'
import type { DefinitionStore } from './sync/definition-store.ts'
import { nextRecord } from './sync/definitions.ts'
import { logNewChange, suspiciousIn } from './sync/report-definitions.ts'
import { keyOf, type ResourceName } from './sync/resource-key.ts'
import { NameTable, serveTools } from './sync/served-tools.ts'
import { PENDING, toolSetStatus } from './sync/status.ts'
import { ToolBook } from './sync/tool-book.ts'
import {
  type CompiledTools,
  compiledTools,
  newState,
  phaseOf,
  type ToolSetState,
  takeWaiting,
} from './sync/tool-set-state.ts'
import { type SyncOutcome, type SyncParts, ToolSetSync } from './sync/tool-set-sync.ts'
import { ViewBook, type ViewReview, type ViewStatusWriter } from './views/view-book.ts'

export interface StatusWriter {
  /** Called in order, one write at a time for each tool set. An error is logged only. */
  write(toolSet: ResourceName, status: ToolSetStatus): Promise<void>
  remove(toolSet: ResourceName): Promise<void>
}

interface ReconcilerParts extends SyncParts {
  readonly statuses: StatusWriter
  readonly viewStatuses: ViewStatusWriter
  readonly review: ViewReview
  readonly definitions: Pick<DefinitionStore, 'read' | 'write' | 'remove'>
  readonly log: Log
  /** Unix ms. */
  readonly now: () => number
  /** Each tool set is served as soon as it is synchronized; the names of all are different by their prefixes. */
  readonly servesEach?: boolean
}

/** The tools that a tool set generates. */
interface GeneratedTools extends ResourceName {
  readonly tools: readonly Tool[]
  /** False: it generates none at present, and edited Tool objects must be kept. */
  readonly enabled: boolean
}

export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #publish: PublishCatalog
  readonly #views: ViewBook
  readonly #entries = new Map<string, ToolSetState>()
  readonly #toolResources = new ToolBook()
  #published: string | undefined
  #tools: readonly Tool[] = []
  #ready = false
  #closed = false

  constructor(parts: ReconcilerParts, publish: PublishCatalog) {
    this.#parts = parts
    this.#views = new ViewBook({ ...parts, statuses: parts.viewStatuses })
    this.#publish = publish
    this.#ready = parts.servesEach === true
  }

  /** Resolves when every new or changed tool set has been synchronized once and its status is written. */
  async apply(desired: Desired): Promise<void> {
    await Promise.all(await this.begin(desired))
    // Names are assigned in order after the first round, independent of which document arrives first.
    this.#ready = true
    this.#settle()
    await this.#views.report(this.#tools)
    await Promise.all([...this.#entries.values()].map(entry => entry.writes.drain()))
  }

  /**
   * Resolves when the tool sets that are not wanted any more are removed.
   * @returns the first synchronizations of the new and the changed ones; a slow one does not delay the others
   */
  async begin(desired: Desired): Promise<readonly Promise<void>[]> {
    for (const { resource, message } of desired.faults) {
      this.#parts.log.warn({ resource, reason: message }, 'a resource cannot be used')
    }
    this.#toolResources.want(desired.manualTools, desired.faults)
    this.#views.want(desired.views, desired.toolSets)
    await this.#removeOthers(new Set(desired.toolSets.map(keyOf)))
    if (this.#ready) this.#settle()
    return desired.toolSets.map(wanted => this.#applyOne(wanted))
  }

  /** Synchronizes every tool set whose local document or credential (file, ConfigMap, Secret) has changed. */
  async refreshLocal(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(entry => entry.sync?.syncIfChanged()))
  }

  /** The tools of each tool set without Tool resources, except tool sets that could not generate any yet. */
  generatedTools(): readonly GeneratedTools[] {
    return [...this.#entries.values()].flatMap(({ namespace, name, served, sync, idle }) => {
      if (served === undefined && !idle) return []
      const tools = (served?.tools ?? []).filter(({ feature }) => feature === undefined)
      return { namespace, name, tools, enabled: sync?.toolSet.enabled !== false }
    })
  }

  /** What is served of each MCP server that is not trusted, once its list has been read. */
  definitions(): readonly (ResourceName & NonNullable<ToolSetSync['definitions']>)[] {
    return [...this.#entries.values()].flatMap(({ namespace, name, sync }) =>
      sync?.definitions === undefined ? [] : [{ namespace, name, ...sync.definitions }],
    )
  }

  statuses(): readonly ReportedStatus[] {
    return [...this.#entries.values()].map(({ namespace, name, status }) => ({ namespace, name, status }))
  }

  viewStatuses(): readonly ReportedView[] {
    return this.#views.statuses()
  }

  /** Writes every status again, for a writer that could not write before. */
  reportAll(): void {
    void this.#views.reportAll()
    for (const entry of this.#entries.values()) this.#write(entry)
  }

  async close(): Promise<void> {
    this.#closed = true
    const entries = [...this.#entries.values()]
    await this.#views.close()
    await Promise.all(entries.map(entry => entry.sync?.close()))
    await Promise.all(entries.map(entry => entry.writes.drain()))
  }

  async #removeOthers(wanted: ReadonlySet<string>): Promise<void> {
    for (const [key, entry] of this.#entries) {
      if (wanted.has(key)) continue
      this.#entries.delete(key)
      await entry.sync?.close()
      await entry.writes.drain()
      await this.#removeStored(entry)
    }
  }

  /** What cannot be deleted stays: the other tool sets do not wait for it. */
  async #removeStored(entry: ToolSetState): Promise<void> {
    const { namespace, name } = entry
    const { documents, definitions, statuses, log } = this.#parts
    try {
      await documents.remove(namespace, name)
      await definitions.remove(namespace, name)
    } catch (error) {
      log.error(
        { namespace, tool_set: name, err: error },
        'the stored files of a removed tool set could not be deleted',
      )
    }
    await statuses.remove(entry).catch(error => this.#logFailure(entry, error))
  }

  async #applyOne(wanted: DesiredToolSet): Promise<void> {
    if (this.#closed) return
    const entry = this.#entryOf(wanted)
    entry.resourceFault = wanted.fault
    const { toolSet } = wanted
    if (toolSet === undefined) {
      this.#report(entry)
      return
    }
    const spec = writeJson(toolSet)
    if (entry.sync !== undefined && spec === entry.spec) {
      this.#report(entry)
      return
    }
    entry.spec = spec
    if (entry.sync === undefined) {
      this.#load(entry)
      entry.sync = new ToolSetSync(
        toolSet,
        this.#parts,
        () => this.#handleStart(entry),
        outcome => this.#handleOutcome(entry, outcome),
      )
    } else entry.sync.toolSet = toolSet
    await entry.sync.sync()
  }

  /** Reads the definitions of the last run. An unknown tool set gets status Pending; others keep their last status until it changes. */
  #load(entry: ToolSetState): void {
    const { namespace, name } = entry
    void entry.writes
      .run(async () => {
        entry.record = await this.#parts.definitions.read(namespace, name)
        if (entry.record === undefined) await this.#parts.statuses.write(entry, PENDING)
      })
      .catch(error => this.#logFailure(entry, error))
  }

  #entryOf(wanted: DesiredToolSet): ToolSetState {
    const key = keyOf(wanted)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = newState(wanted.namespace, wanted.name)
      this.#entries.set(key, entry)
    }
    return entry
  }

  #handleStart(entry: ToolSetState): void {
    entry.syncing = true
    this.#report(entry)
  }

  #handleOutcome(entry: ToolSetState, outcome: SyncOutcome): void {
    const nowIso = new Date(this.#parts.now()).toISOString()
    entry.syncing = false
    entry.error = outcome.kind === 'fault' ? outcome.message : undefined
    entry.idle = outcome.kind === 'disabled' || outcome.kind === 'empty'
    if (outcome.kind === 'disabled' || outcome.kind === 'empty') {
      entry.served = undefined
      entry.suspicious = []
      entry.pending = undefined
      entry.conflict = undefined
      if (outcome.kind === 'empty') entry.lastSyncedAt = nowIso
    } else if (outcome.kind === 'compiled' || outcome.kind === 'unchanged') {
      if (outcome.kind === 'compiled') entry.pending = compiledTools(outcome)
      entry.lastSyncedAt = nowIso
    } else if (outcome.fallback?.kind === 'compiled') entry.pending = compiledTools(outcome.fallback)
    else if (outcome.withdraws) entry.served = undefined
    if (entry.error !== undefined) {
      this.#parts.log.warn(
        { namespace: entry.namespace, tool_set: entry.name, reason: entry.error },
        'a tool set could not be synchronized; the synchronization is retried',
      )
    }
    if (this.#ready) this.#settle()
    // Pending tools are reported when they are admitted.
    else if (entry.pending === undefined) this.#report(entry)
    // after the comparison of what is served, so that one status has both
    void entry.writes.run(async () => {
      if (takeWaiting(entry)) this.#report(entry)
    })
  }

  /** Admits pending tools in order, reports every tool set and publishes when the tools have changed. */
  #settle(): void {
    if (this.#closed) return
    for (const entry of this.#entries.values()) if (entry.pending !== undefined) this.#admit(entry)
    for (const entry of this.#entries.values()) this.#report(entry)
    const entries = [...this.#entries.values()]
    const print = writeJson([
      entries.map(entry => [keyOf(entry), entry.served?.toolsHash]),
      this.#toolResources.applied,
      this.#toolResources.print,
      this.#views.served,
    ])
    if (print === this.#published) return
    this.#published = print
    const { tools, faults } = serveTools(
      entries.map(entry => entry.served?.tools ?? []),
      this.#toolResources,
    )
    for (const { resource, message } of faults) {
      const { namespace, name } = resource
      this.#parts.log.warn({ namespace, tool: name, reason: message }, 'a Tool resource cannot be used')
    }
    this.#tools = tools
    this.#publish(tools, this.#views.served)
    void this.#views.report(tools)
  }

  #admit(entry: ToolSetState): void {
    const names = new NameTable()
    for (const other of this.#entries.values()) {
      if (other !== entry) for (const tool of other.served?.tools ?? []) names.add(tool, keyOf(other))
    }
    for (const tool of entry.pending!.tools) {
      const owner = names.conflict(tool)
      if (owner === undefined) continue
      entry.conflict = `tool set ${owner} already has a tool "${tool.name}": set another spec.naming.prefix in this ToolSet`
      return
    }
    const made = entry.pending!
    entry.served = made
    entry.pending = undefined
    entry.conflict = undefined
    entry.suspicious = suspiciousIn(made, entry, this.#entries.values(), this.#parts.log)
    this.#compare(entry, made)
  }

  /** Compares the served tools with the previous ones, stores their definitions, and reports changes in the status. */
  #compare(entry: ToolSetState, served: CompiledTools): void {
    const { namespace, name } = entry
    void entry.writes
      .run(async () => {
        // what an MCP server changes was accepted before it is served
        const { definitions, toolSet } = entry.sync!
        const accepted = definitions !== undefined || toolSet.acceptedSpecHash === served.specHash
        const record = await nextRecord(entry.record, served.definitions, accepted)
        if (record === undefined) return
        entry.record = record
        await this.#parts.definitions.write(namespace, name, record)
        this.#report(entry)
      })
      .catch(error => this.#logFailure(entry, error))
  }

  #report(entry: ToolSetState): void {
    const error = entry.resourceFault ?? entry.error ?? entry.conflict
    const phase = phaseOf(entry, error)
    const toolFaults = this.#toolResources.faultsOf(entry.served?.tools ?? [])
    const withheld = new Set(toolFaults.flatMap(fault => (fault.withheld ? [fault.name] : [])))
    const toolNames = (entry.served?.names ?? []).filter(name => !withheld.has(name))
    const { lastSyncedAt } = entry
    const input = {
      phase,
      toolNames,
      specHash: entry.served?.specHash,
      lastSyncedAt,
      lastError: error,
      result: entry.served?.result,
      toolFaults,
      changed: entry.record?.changed ?? [],
      breaking: entry.record?.breaking ?? [],
      pending: entry.waiting,
      suspicious: entry.suspicious,
    } as const
    const status = toolSetStatus(input, entry.status, this.#parts.now())
    if (JSON.stringify(status) === JSON.stringify(entry.status)) return
    logNewChange(this.#parts.log, entry, status)
    entry.status = status
    this.#write(entry)
  }

  #write(entry: ToolSetState): void {
    const { status } = entry
    void entry.writes
      .run(() => this.#parts.statuses.write(entry, status))
      .catch(error => this.#logFailure(entry, error))
  }

  #logFailure({ namespace, name }: ResourceName, error: unknown): void {
    this.#parts.log.error(
      { namespace, tool_set: name, err: error },
      'the status of a tool set could not be written',
    )
  }
}

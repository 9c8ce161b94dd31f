/** Desired tool-sets and tools → one published set of tools and a status for each tool-set. Shared by all sources; it reads no resource itself. */
import type { Tool } from '../model/tool.ts'
import type { ToolSet, ToolSetStatus } from '../model/tool-set.ts'
import type { Log } from '../shared/telemetry/log.ts'
import type { DefinitionStore } from './sync/definition-store.ts'
import { nextLedger } from './sync/definitions.ts'
import { type Entry, type Made, madeFrom, newEntry, phaseOf } from './sync/entry.ts'
import { type ManualTool, NameTable, serveTools } from './sync/served-tools.ts'
import { PENDING, statusOf } from './sync/status.ts'
import { type SyncOutcome, type SyncParts, ToolSetSync } from './sync/tool-set-sync.ts'

export interface StatusWriter {
  /** Called in order for each tool-set, never twice at once for the same. Its failure is logged, nothing else. */
  write(toolSet: { readonly namespace: string; readonly name: string }, status: ToolSetStatus): Promise<void>
  remove(toolSet: { readonly namespace: string; readonly name: string }): Promise<void>
}

export interface ReconcilerParts extends SyncParts {
  readonly statuses: StatusWriter
  readonly definitions: DefinitionStore
  readonly log: Log
  /** Unix ms. */
  readonly now: () => number
}

/** One tool-set as it should be. `fault`: its resource is wrong; the tool-set is the last one that was right, if any. */
export interface DesiredToolSet {
  readonly namespace: string
  readonly name: string
  readonly toolSet: ToolSet | undefined
  readonly fault: string | undefined
}

export interface Desired {
  /** In the order in which they came to be: of two that clash, the later is refused. */
  readonly toolSets: readonly DesiredToolSet[]
  readonly manualTools: readonly ManualTool[]
}

/** What a tool-set makes. */
export interface Generated {
  readonly namespace: string
  readonly name: string
  readonly tools: readonly Tool[]
  /** false: it makes none for now, which is no reason to forget what was written by hand. */
  readonly enabled: boolean
}

export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #publish: (tools: readonly Tool[]) => void
  readonly #entries = new Map<string, Entry>()
  #manualTools: readonly ManualTool[] = []
  #published: string | undefined
  #ready = false
  #closed = false

  constructor(parts: ReconcilerParts, publish: (tools: readonly Tool[]) => void) {
    this.#parts = parts
    this.#publish = publish
  }

  /** Resolves when every tool-set that is new or changed had its try, and its status is written. */
  async apply(desired: Desired): Promise<void> {
    this.#manualTools = desired.manualTools
    await this.#removeOthers(new Set(desired.toolSets.map(keyOf)))
    const tries = desired.toolSets.map(wanted => this.#applyOne(wanted))
    await Promise.all(tries)
    // Names are admitted in order only after the first round: which document arrives first must not decide.
    this.#ready = true
    this.#settle()
    await Promise.all([...this.#entries.values()].map(entry => entry.writes.drain()))
  }

  /** Synchronizes every tool-set whose document or credential, read from the source itself (files, ConfigMaps, Secrets), changed. */
  async refreshLocal(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(entry => entry.sync?.syncIfChanged()))
  }

  /** The tools each tool-set made, before anything written by hand; none of it for a tool-set that could not make any yet. */
  generated(): readonly Generated[] {
    return [...this.#entries.values()].flatMap(({ namespace, name, served, sync, idle }) => {
      if (served === undefined && !idle) return []
      return { namespace, name, tools: served?.tools ?? [], enabled: sync?.toolSet.enabled !== false }
    })
  }

  /** Writes every status again, for a writer that could not take them before. */
  reportAll(): void {
    for (const entry of this.#entries.values()) this.#write(entry)
  }

  async close(): Promise<void> {
    this.#closed = true
    const entries = [...this.#entries.values()]
    await Promise.all(entries.map(entry => entry.sync?.close()))
    await Promise.all(entries.map(entry => entry.writes.drain()))
  }

  async #removeOthers(wanted: ReadonlySet<string>): Promise<void> {
    for (const [key, entry] of this.#entries) {
      if (wanted.has(key)) continue
      this.#entries.delete(key)
      await entry.sync?.close()
      await entry.writes.drain()
      await this.#parts.documents.remove(entry.namespace, entry.name)
      await this.#parts.definitions.remove(entry.namespace, entry.name)
      await this.#parts.statuses.remove(entry).catch(error => this.#logFailure(entry, error))
    }
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
    const spec = JSON.stringify(toolSet)
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
        () => this.#started(entry),
        outcome => this.#settled(entry, outcome),
      )
    } else entry.sync.toolSet = toolSet
    await entry.sync.sync()
  }

  /** What its tools meant when the process last ended. One never seen is told Pending; of others the last status stands until there is news. */
  #load(entry: Entry): void {
    const { namespace, name } = entry
    void entry.writes
      .run(async () => {
        entry.ledger = await this.#parts.definitions.read(namespace, name)
        if (entry.ledger === undefined) await this.#parts.statuses.write(entry, PENDING)
      })
      .catch(error => this.#logFailure(entry, error))
  }

  #entryOf(wanted: DesiredToolSet): Entry {
    const key = keyOf(wanted)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = newEntry(wanted.namespace, wanted.name)
      this.#entries.set(key, entry)
    }
    return entry
  }

  #started(entry: Entry): void {
    entry.syncing = true
    this.#report(entry)
  }

  #settled(entry: Entry, outcome: SyncOutcome): void {
    entry.syncing = false
    entry.error = outcome.kind === 'fault' ? outcome.message : undefined
    entry.idle = outcome.kind === 'disabled' || outcome.kind === 'empty'
    if (outcome.kind === 'disabled' || outcome.kind === 'empty') {
      entry.served = undefined
      entry.waiting = undefined
      entry.clash = undefined
      if (outcome.kind === 'empty') entry.lastSyncedAt = this.#nowIso()
    } else if (outcome.kind === 'compiled') {
      entry.waiting = madeFrom(outcome)
      entry.lastSyncedAt = this.#nowIso()
    } else if (outcome.kind === 'unchanged') entry.lastSyncedAt = this.#nowIso()
    else if (outcome.fallback?.kind === 'compiled') entry.waiting = madeFrom(outcome.fallback)
    if (entry.error !== undefined) {
      const { namespace, name } = entry
      this.#parts.log.warn(
        { namespace, tool_set: name, reason: entry.error },
        'a tool-set could not be synchronized',
      )
    }
    if (this.#ready) this.#settle()
    // What waits is no news before it is admitted.
    else if (entry.waiting === undefined) this.#report(entry)
  }

  /** Admits what waits, in order, reports every tool-set and publishes when something changed. */
  #settle(): void {
    if (this.#closed) return
    for (const entry of this.#entries.values()) if (entry.waiting !== undefined) this.#admit(entry)
    for (const entry of this.#entries.values()) this.#report(entry)
    const entries = [...this.#entries.values()]
    const print = JSON.stringify([
      entries.map(entry => [keyOf(entry), entry.served?.toolsHash]),
      this.#manualTools,
    ])
    if (print === this.#published) return
    this.#published = print
    const { tools, faults } = serveTools(
      entries.map(entry => entry.served?.tools ?? []),
      this.#manualTools,
    )
    for (const { resource, message } of faults) {
      const { namespace, name } = resource
      this.#parts.log.warn({ namespace, tool: name, reason: message }, 'a Tool resource cannot be used')
    }
    this.#publish(tools)
  }

  #admit(entry: Entry): void {
    const names = new NameTable()
    for (const other of this.#entries.values()) {
      if (other !== entry) for (const tool of other.served?.tools ?? []) names.add(tool, keyOf(other))
    }
    for (const tool of entry.waiting!.tools) {
      const owner = names.clash(tool)
      if (owner === undefined) continue
      entry.clash = `tool "${tool.name}" exists already, from tool-set ${owner}: give this one a naming.prefix of its own`
      return
    }
    const made = entry.waiting!
    entry.served = made
    entry.waiting = undefined
    entry.clash = undefined
    this.#compare(entry, made)
  }

  /** Compares the tools now served with those before, and keeps what they mean; the status tells it afterwards. */
  #compare(entry: Entry, served: Made): void {
    const { namespace, name } = entry
    void entry.writes
      .run(async () => {
        const accepted = entry.sync?.toolSet.acceptedSpecHash === served.specHash
        const ledger = await nextLedger(entry.ledger, served.definitions, accepted)
        if (ledger === undefined) return
        entry.ledger = ledger
        await this.#parts.definitions.write(namespace, name, ledger)
        this.#report(entry)
      })
      .catch(error => this.#logFailure(entry, error))
  }

  #report(entry: Entry): void {
    const error = entry.resourceFault ?? entry.error ?? entry.clash
    const phase = phaseOf(entry, error)
    const toolNames = entry.served?.names ?? []
    const { lastSyncedAt } = entry
    const input = {
      phase,
      toolNames,
      specHash: entry.served?.specHash,
      lastSyncedAt,
      lastError: error,
      result: entry.served?.result,
      changed: entry.ledger?.changed ?? [],
      breaking: entry.ledger?.breaking ?? [],
    } as const
    const status = statusOf(input, entry.status, this.#parts.now())
    if (JSON.stringify(status) === JSON.stringify(entry.status)) return
    entry.status = status
    this.#write(entry)
  }

  #write(entry: Entry): void {
    const { status } = entry
    void entry.writes
      .run(() => this.#parts.statuses.write(entry, status))
      .catch(error_ => this.#logFailure(entry, error_))
  }

  #logFailure({ namespace, name }: { namespace: string; name: string }, error: unknown): void {
    this.#parts.log.error(
      { namespace, tool_set: name, err: error },
      'the status of a tool-set could not be written',
    )
  }

  #nowIso(): string {
    return new Date(this.#parts.now()).toISOString()
  }
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`
}

/** The state of a tool set in the reconciler, and values derived for it. `reconcile.ts` changes the state. */

import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { PendingDefinitions } from '../../model/pending-definitions.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolSetPhase, ToolSetStatus } from '../../model/tool-set.ts'
import type { CompileResult } from '../compile/compile-tool-set.ts'
import type { DefinitionRecord, Definitions } from './definitions.ts'
import { PENDING } from './status.ts'
import type { SyncOutcome, ToolSetSync } from './tool-set-sync.ts'

/** The tools of one compilation. */
export interface CompiledTools {
  readonly tools: readonly Tool[]
  /** Names of the tools, without resources and prompts; sorted. */
  readonly names: readonly string[]
  readonly specHash: string
  readonly toolsHash: string
  readonly result: CompileResult
  readonly definitions: Definitions
}

export interface ToolSetState {
  readonly namespace: string
  readonly name: string
  sync: ToolSetSync | undefined
  /** JSON of the ToolSet; a change starts a synchronization. */
  spec: string
  resourceFault: string | undefined
  served: CompiledTools | undefined
  /** Compiled but not served, because a name conflicts or the first round is not complete. */
  pending: CompiledTools | undefined
  error: string | undefined
  /** What an MCP server announces and its owner has not accepted. */
  waiting: PendingDefinitions | undefined
  /** Texts of the served tools that may instruct models. */
  suspicious: readonly string[]
  /** Why the pending tools are not served. */
  conflict: string | undefined
  syncing: boolean
  /** A tool set that is disabled or has no document generates no tools. */
  idle: boolean
  lastSyncedAt: string | undefined
  /** The previous definitions; undefined = none are stored. */
  record: DefinitionRecord | undefined
  status: ToolSetStatus
  /** Writes of status and definitions, in order. */
  readonly writes: SerialQueue
}

export function newState(namespace: string, name: string): ToolSetState {
  return {
    namespace,
    name,
    sync: undefined,
    spec: '',
    resourceFault: undefined,
    served: undefined,
    pending: undefined,
    waiting: undefined,
    suspicious: [],
    error: undefined,
    conflict: undefined,
    syncing: false,
    idle: false,
    lastSyncedAt: undefined,
    record: undefined,
    status: PENDING,
    writes: new SerialQueue(),
  }
}

/** @param error the reason why it is not Ready */
export function phaseOf(entry: ToolSetState, error: string | undefined): ToolSetPhase {
  if (entry.sync?.toolSet.enabled === false && entry.served === undefined) return 'Disabled'
  if (entry.syncing) return 'Syncing'
  if (error !== undefined) return 'Error'
  return entry.served !== undefined || entry.lastSyncedAt !== undefined ? 'Ready' : 'Pending'
}

export function compiledTools(outcome: Extract<SyncOutcome, { kind: 'compiled' }>): CompiledTools {
  const { specHash, toolsHash, result, definitions } = outcome
  const { tools } = result
  const names = tools.filter(({ feature }) => feature === undefined).map(({ name }) => name)
  return { tools, names: names.sort(), specHash, toolsHash, result, definitions }
}

/** @returns whether other changes wait than before */
export function takeWaiting(entry: ToolSetState): boolean {
  const waiting = entry.sync?.definitions?.pending
  const isChanged = waiting?.specHash !== entry.waiting?.specHash
  entry.waiting = waiting
  return isChanged
}

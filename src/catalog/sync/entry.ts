/** What the reconciler knows of one tool-set. It changes nothing by itself. */

import type { Tool } from '../../model/tool.ts'
import type { ToolSetPhase, ToolSetStatus } from '../../model/tool-set.ts'
import { SerialQueue } from '../../shared/async/serial-queue.ts'
import type { CompileResult } from '../compile/compile-tool-set.ts'
import type { Definitions, Ledger } from './definitions.ts'
import { PENDING } from './status.ts'
import type { SyncOutcome, ToolSetSync } from './tool-set-sync.ts'

/** One set of tools, whole. */
export interface Made {
  readonly tools: readonly Tool[]
  /** Of the tools, sorted. */
  readonly names: readonly string[]
  readonly specHash: string
  readonly toolsHash: string
  readonly result: CompileResult
  readonly definitions: Definitions
}

export interface Entry {
  readonly namespace: string
  readonly name: string
  sync: ToolSetSync | undefined
  /** JSON of the ToolSet; another one asks for a synchronization. */
  spec: string
  resourceFault: string | undefined
  served: Made | undefined
  /** Made, but not admitted: its names clash. */
  waiting: Made | undefined
  error: string | undefined
  /** Why what waits is not admitted. */
  clash: string | undefined
  syncing: boolean
  /** It is known to make no tools: disabled, or without a document. */
  idle: boolean
  lastSyncedAt: string | undefined
  /** What the tools meant before; undefined = never seen. */
  ledger: Ledger | undefined
  status: ToolSetStatus
  /** Writes of its status and definitions, in order. */
  readonly writes: SerialQueue
}

export function newEntry(namespace: string, name: string): Entry {
  return {
    ...{ namespace, name, sync: undefined, spec: '', resourceFault: undefined, served: undefined },
    ...{ waiting: undefined, error: undefined, clash: undefined, syncing: false, idle: false },
    ...{ lastSyncedAt: undefined, ledger: undefined, status: PENDING, writes: new SerialQueue() },
  }
}

/** @param error whatever keeps it from being Ready */
export function phaseOf(entry: Entry, error: string | undefined): ToolSetPhase {
  if (entry.sync?.toolSet.enabled === false && entry.served === undefined) return 'Disabled'
  if (entry.syncing) return 'Syncing'
  if (error !== undefined) return 'Error'
  return entry.served !== undefined || entry.lastSyncedAt !== undefined ? 'Ready' : 'Pending'
}

export function madeFrom(outcome: Extract<SyncOutcome, { kind: 'compiled' }>): Made {
  const { specHash, toolsHash, result, definitions } = outcome
  const { tools } = result
  return { tools, names: tools.map(tool => tool.name).sort(), specHash, toolsHash, result, definitions }
}

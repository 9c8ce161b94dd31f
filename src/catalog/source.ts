/** The interface of a source of tools, implemented in `directory/` and `kubernetes/`; both use `reconcile.ts`. It contains no logic. */
import type { Tool } from '../model/tool.ts'
import type { ToolSetStatus } from '../model/tool-set.ts'
import type { ResourceName } from './sync/resource-key.ts'
import type { ReferenceReader } from './sync/tool-set-sync.ts'

export interface ToolSource {
  /**
   * Starts watching. `publish` is called with all tools each time they have changed.
   * Resolves after the first synchronization of every tool-set (Ready, Error or Disabled).
   */
  start(publish: (tools: readonly Tool[]) => void): Promise<void>
  /** Reads secrets where the source has them. */
  readonly references: ReferenceReader
  /** Of every tool-set, as last reported. */
  statuses(): readonly ReportedStatus[]
  close(): Promise<void>
}

export interface ReportedStatus extends ResourceName {
  readonly status: ToolSetStatus
}

/** The interface of a source of tools, implemented in `directory/` and `kubernetes/`; both use `reconcile.ts`. */
import type { Tool } from '../model/tool.ts'
import type { ToolSetStatus } from '../model/tool-set.ts'
import type { ToolView, ToolViewStatus } from '../model/tool-view.ts'
import type { ResourceName } from './sync/resource-key.ts'
import type { ReferenceReader } from './sync/tool-set-sync.ts'

export interface ToolSource {
  /**
   * Starts watching. `publish` is called with all tools and views each time they have changed.
   * `refreshOthers` reads the secrets of others again, and is called when this source does so.
   * Resolves after the first synchronization of every tool set (Ready, Error or Disabled).
   */
  start(publish: PublishCatalog, refreshOthers?: () => Promise<void>): Promise<void>
  /** Reads secrets where the source has them. */
  readonly references: ReferenceReader
  /** Statuses of every tool set, as last reported. */
  statuses(): readonly ReportedStatus[]
  /** View statuses of every ToolView, as last reported. */
  viewStatuses(): readonly ReportedView[]
  close(): Promise<void>
}

export type PublishCatalog = (tools: readonly Tool[], views: readonly ToolView[]) => void

export interface ReportedView extends ResourceName {
  readonly status: ToolViewStatus
}

export interface ReportedStatus extends ResourceName {
  readonly status: ToolSetStatus
}

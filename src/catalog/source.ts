/** The interface of a source of tools, implemented in `directory/` and `kubernetes/`; both use `reconcile.ts`. It contains no logic. */
import type { Tool } from '../model/tool.ts'

export interface ToolSource {
  /**
   * Starts watching. `publish` is called with all tools each time they have changed.
   * Resolves after the first synchronization of every tool-set (Ready, Error or Disabled).
   */
  start(publish: (tools: readonly Tool[]) => void): Promise<void>
  close(): Promise<void>
}

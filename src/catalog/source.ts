/** The interface of a source of tools. `directory/` and `kubernetes/` implement it; `reconcile.ts` is shared by both. */
import type { Tool } from '../model/tool.ts'

export interface ToolSource {
  /**
   * Starts watching. `publish` gets the whole set of tools each time it has changed, never twice the same.
   * Resolves when every tool-set had its first try (Ready, Error or Disabled).
   */
  start(publish: (tools: readonly Tool[]) => void): Promise<void>
  close(): Promise<void>
}

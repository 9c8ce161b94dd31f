/** Records that an exchange holds. They contain no logic. */
import type { ToolResult } from '../../model/tool.ts'

/** Credentials as they arrived; a stage that keeps one beyond its run is wrong. '' when absent. */
export interface Credentials {
  readonly authorization: string
  readonly apiKey: string
  /** Value of `X-Tenant-ID`. */
  readonly tenant: string
}

export interface StageTiming {
  readonly stage: string
  /** `performance.now()`. */
  readonly startedAt: number
  readonly ms: number
}

export interface OptimizedResult {
  readonly result: ToolResult
  /** Bytes of text that token optimization removed. */
  readonly savedBytes: number
}

/** Records that an exchange holds. */

import type { MaybePromise } from '../../base/and-then.ts'
import type { Principal } from '../../model/principal.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { ToolResult } from '../../model/tool.ts'

/** Credentials as they arrived; a stage that keeps one beyond its run is wrong. '' when absent. */
export interface Credentials {
  readonly authorization: string
  readonly apiKey: string
  /** Value of `X-Tenant-ID`. */
  readonly tenant: string
  /** Set where they were verified before the body was read. */
  readonly verified?: MaybePromise<Principal | Refusal> | undefined
}

/** Who sent the request, and how; what it sent is absent in calls that no request began. */
export interface Peer {
  readonly peerAddress: string
  readonly method?: string
  /** Without query. */
  readonly path?: string
  header?(name: string): string
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
